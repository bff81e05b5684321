"""The table ``files``: what was attached, announced and streamed."""

from hashlib import sha256
from typing import Any

from framehub.journal.record import WHOLE
from tests.spark.oracle import mfp_bytes, rpc_bytes
from tests.spark.oracle.exchanges import ABORT, is_last_binary, is_service, opening_of
from tests.spark.oracle.messages import envelope_of, is_message, named, payload
from tests.spark.oracle.reading import Group, Journal, Row, day, digits, first, is_taken, moment

File = dict[str, Any]


def files(journal: Journal) -> list[File]:
    made = []
    for row in journal.rows:
        made += attached(row)
    for rows in journal.of("mfp"):
        opening = opening_of(rows)
        if opening is None or opening["kind"] != "message":
            continue
        what = opening["head"] & mfp_bytes.TABLE
        sent = [row for row in rows if row["kind"] == "binary" and row["direction"] == opening["direction"]]
        if what == mfp_bytes.ANNOUNCED:
            made += announced(opening, sent)
        elif what == mfp_bytes.STREAM:
            aborted = first(rows, lambda row: is_service(row, ABORT))
            made += streamed(opening, sent, aborted)
    return made


def attached(row: Row) -> list[File]:
    """Files in the frame itself."""
    if not is_taken(row) or row["recorded"] not in WHOLE or row["raw"] is None:
        return []
    if row["protocol"] == "mfp" and row["kind"] in ("message", "request", "response"):
        frame = decoded(row)
        if frame is None:
            return []
        keys, blobs, said = frame["table"], frame["blobs"], envelope_of(row)
    elif row["protocol"] == "rpc" and is_message(row) and row["coder"] == "envelope":
        block = rpc_bytes.block(payload(row) or b"")
        if block is None:
            return []
        said, keys, blobs = block
    else:
        return []
    if len(blobs) != len(keys):
        return []  # announced only
    names = rpc_bytes.filemap(said)
    return [
        about(row, row, "attached", named(key, names, len(blob)))
        | {"frames": 1, "complete": True, "sha256": sha256(blob).hexdigest()}
        for key, blob in zip(keys, blobs, strict=True)
    ]


def announced(opening: Row, sent: Group) -> list[File]:
    """Files of their own frame each; the first of a key is the file."""
    frame = decoded(opening)
    if frame is None:
        return []
    names = rpc_bytes.filemap(envelope_of(opening))
    made = []
    for key in frame["table"]:
        came = first(sent, lambda row: is_of(row, mfp_bytes.ANNOUNCED) and row["key"] == key)  # noqa: B023
        if came is None:
            made.append(
                about(opening, opening, "announced", named(key, names, 0))
                | {"frames": 0, "complete": False, "sha256": None}
            )
            continue
        made.append(
            about(came, came, "announced", named(key, names, size_of(came)))
            | {"endpoint": opening["endpoint"], "frames": 1, "complete": True, "sha256": digest([came])}
        )
    return made


def streamed(opening: Row, sent: Group, aborted: Row | None) -> list[File]:
    """Files in chunks, up to the stream's end."""
    end = first(sent, is_last_binary)
    before = [row for row in sent if end is None or row["seq"] <= end["seq"]]
    complete = end is not None and (aborted is None or aborted["seq"] > end["seq"])
    chunks: dict[int, Group] = {}
    for row in before:
        if is_of(row, mfp_bytes.STREAM):
            chunks.setdefault(row["key"], []).append(row)
    names = rpc_bytes.filemap(envelope_of(opening))
    return [
        about(opening, rows[-1], "streamed", named(key, names, sum(map(size_of, rows))))
        | {"frames": len(rows), "complete": complete, "sha256": digest(rows) if complete else None}
        for key, rows in chunks.items()
    ]


def about(row: Row, latest: Row, how: str, file: File) -> File:
    return {
        **{name: row[name] for name in ("node", "seq", "user", "protocol", "direction", "endpoint")},
        "last_seq": latest["seq"],
        "time": moment(row),
        "date": day(row),
        "link": digits(row["link"]),
        "exchange": digits(row["exchange"]),
        "how": how,
        **file,
    }


def is_of(row: Row, what: int) -> bool:
    return bool(row["head"] & mfp_bytes.TABLE == what)


def decoded(row: Row) -> dict[str, Any] | None:
    """The frame, if its bytes were recorded and are one."""
    if row["recorded"] not in WHOLE or row["raw"] is None:
        return None
    try:
        return mfp_bytes.decode(row["raw"])
    except (mfp_bytes.Unlawful, mfp_bytes.WrongSum):
        return None


def size_of(row: Row) -> int:
    """Bytes of a file in a binary frame; without its own bytes, as if a checksum were the usual one."""
    frame = decoded(row)
    if frame is not None:
        return len(frame["data"])
    size: int = row["bytes"] - 13 - (4 if row["head"] & mfp_bytes.SUM else 0)
    return size


def digest(rows: Group) -> str | None:
    """Of all bytes of these frames; None unless all were recorded."""
    whole = b""
    for row in rows:
        frame = decoded(row)
        if frame is None:
            return None
        whole += frame["data"]
    return sha256(whole).hexdigest()
