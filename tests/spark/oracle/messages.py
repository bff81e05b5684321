"""The table ``messages``: what users sent and got, as far as it can be read."""

import struct
from dataclasses import dataclass, field
from typing import Any

from framehub.journal.record import WHOLE
from tests.spark.oracle import jsontext, mfp_bytes, rpc_bytes
from tests.spark.oracle.reading import Journal, Row, day, digits, is_taken, moment

AS_THEY_ARE = (
    "node",
    "seq",
    "user",
    "protocol",
    "kind",
    "direction",
    "endpoint",
    "service",
    "function",
    "coder",
)
NUMBERS = {"Int": ">i", "Long": ">q", "ULong": ">Q", "Double": ">d"}
HUB_DATA = ("first", "message", "last", "service_error")


@dataclass
class Reading:
    """What could be read of a payload; ``json`` and ``error`` are texts."""

    readable: bool | None = None
    json: str | None = None
    error: str | None = None
    files: list[dict[str, Any]] = field(default_factory=list)


def messages(journal: Journal) -> list[dict[str, Any]]:
    made = []
    for row in journal.rows:
        if not is_message(row):
            continue
        read = reading(row)
        made.append(
            {name: row[name] for name in AS_THEY_ARE}
            | {"time": moment(row), "date": day(row), "link": digits(row["link"])}
            | {"exchange": digits(row["exchange"]), "parent": digits(row["parent"])}
            | {"data": read.json, "json": read.json, "error": read.error}
            | {"files": read.files, "readable": read.readable}
        )
    return made


def is_message(row: Row) -> bool:
    """Whether a user sent or got this: of functions and the hub only as clients see it."""
    if not is_taken(row) or row["payload_at"] is None:
        return False
    if row["protocol"] == "mfp":
        return row["kind"] in ("message", "request", "response")
    if row["protocol"] == "rpc":
        return (row["kind"], row["direction"]) in (("query", "in"), ("result", "out"), ("exception", "out"))
    return row["kind"] in HUB_DATA and row["ref"] is None and row["id"] != 0


def payload(row: Row) -> bytes | None:
    """The payload's bytes; None unless all of it was recorded."""
    if row["recorded"] not in WHOLE or row["raw"] is None or row["payload_at"] is None:
        return None
    raw: bytes = row["raw"]
    begins, ends = row["payload_at"], row["payload_at"] + row["payload_bytes"]
    return raw[begins:ends] if ends <= len(raw) else None


def reading(row: Row) -> Reading:
    found = payload(row)
    if found is None:
        return Reading()
    if row["protocol"] == "mfp":
        return _envelope(row, found)
    if row["protocol"] == "hub":
        return _hub(row, found)
    if row["kind"] == "exception":
        return _exception(found)
    return _value(row["coder"], found)


def envelope_of(row: Row) -> dict[str, Any] | None:
    """The envelope of an MFP frame: only one that names the endpoint which the gateway read in it."""
    found = payload(row)
    said = None if found is None else rpc_bytes.envelope(found)
    return said if said is not None and said["endpoint"] == row["endpoint"] else None


def _envelope(row: Row, found: bytes) -> Reading:
    said = envelope_of(row)
    read = Reading(readable=said is not None)
    if said is not None:
        read.json = jsontext.text(said["data"]) if "data" in said else None
        error = said.get("error")
        read.error = None if error is None else jsontext.text(error)
    names = rpc_bytes.filemap(said)
    what = row["head"] & mfp_bytes.TABLE
    if what == mfp_bytes.STREAM:
        read.files = [named(key_of(entry), names, None) for entry in names]
        return read
    try:
        frame = mfp_bytes.decode(row["raw"])
    except (mfp_bytes.Unlawful, mfp_bytes.WrongSum):
        return read
    sizes: list[int | None] = [len(blob) for blob in frame["blobs"]] or [None] * len(frame["table"])
    read.files = [named(key, names, size) for key, size in zip(frame["table"], sizes, strict=True)]
    return read


def key_of(entry: Any) -> int | None:
    whole = isinstance(entry, list) and entry and isinstance(entry[0], int) and not isinstance(entry[0], bool)
    return entry[0] if whole else None


def named(key: int | None, names: list[Any], size: int | None) -> dict[str, Any]:
    """A file, with its name and type if the envelope has them."""
    for entry in names:
        if key is not None and key_of(entry) == key:
            name, kind = [*entry[1:3], None, None][:2]
            texts = [text if isinstance(text, str) else None for text in (name, kind)]
            return {"key": key, "name": texts[0], "type": texts[1], "bytes": size}
    return {"key": key, "name": None, "type": None, "bytes": size}


def _hub(row: Row, found: bytes) -> Reading:
    try:
        text = jsontext.text(jsontext.parse(found))
    except jsontext.NoJson:
        return Reading(readable=False)
    if row["kind"] == "service_error":
        return Reading(readable=True, error=text)
    return Reading(readable=True, json=text)


def _exception(found: bytes) -> Reading:
    try:
        return Reading(readable=True, error=jsontext.text(found.decode()))
    except UnicodeDecodeError:
        return Reading(readable=False)


def _value(coder: str | None, found: bytes) -> Reading:
    """An argument or a result, by the coders that Spark can read too."""
    if coder == "envelope":
        block = rpc_bytes.block(found)
        if block is None:
            return Reading(readable=False)
        said, keys, blobs = block
        names = rpc_bytes.filemap(said)
        files = [named(key, names, len(blob)) for key, blob in zip(keys, blobs, strict=True)]
        return Reading(
            readable=True, json=jsontext.text(said["data"]) if "data" in said else None, files=files
        )
    try:
        if coder == "json":
            return Reading(readable=True, json=jsontext.text(jsontext.parse(found)))
        if coder == "String":
            (size,) = struct.unpack_from(">i", found)
            if size == len(found) - 4:
                return Reading(readable=True, json=jsontext.text(found[4:].decode()))
        if coder in NUMBERS:
            (number,) = struct.unpack(NUMBERS[coder], found)
            odd = number != number or number in (float("inf"), float("-inf"))
            words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
            return Reading(readable=True, json=jsontext.text(words[repr(number)] if odd else number))
    except (struct.error, ValueError):
        pass
    return Reading(readable=False)
