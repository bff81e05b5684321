"""Rows of a journal for a terminal or another program."""

import json
from datetime import UTC, datetime
from typing import Any, Final

from framehub.codes import Message, Service
from framehub.errors import MalformedFrame
from framehub.journal.rpc_rows import KIND_OF, PARTS_OF, split
from framehub.rpc.messages import FIELDS, Way, type_of

PREVIEW: Final = 200
"""Characters shown of a payload."""
_ARROWS: Final = {"in": "->", "out": "<-"}
_FROM_CLIENT: Final = frozenset(KIND_OF[type_] for type_ in FIELDS[Way.CLIENT_TO_PROXY])
_TO_CLIENT: Final = frozenset(KIND_OF[type_] for type_ in FIELDS[Way.PROXY_TO_CLIENT])


def as_json(row: dict[str, Any]) -> str:
    """One line of JSON; binary columns in hex, and a message of functions by the names of its parts."""
    plain = {name: value.hex() if isinstance(value, bytes) else value for name, value in row.items()}
    if (message := message_of(row)) is not None:
        plain["message"] = message
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


def as_line(row: dict[str, Any]) -> str:
    """One aligned line for people."""
    seconds, ns = divmod(row["time_ns"], 1_000_000_000)
    when = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    ids = f"{row['id'] if row['id'] is not None else '-'}"
    if row["query"] is not None:
        ids = short_id(row["query"])
    if row["ref"] is not None:
        ids += f" re {row['ref']}"
    head = (
        f"{row['seq']:>10} {when}.{ns // 1000:06d} {row['link'].hex()[:8]} {_ARROWS[row['direction']]} "
        f"{row['kind']:<17} {ids:<14} {row['bytes']:>8} B"
    )
    return " ".join((head, *_details(row))).rstrip()


def _details(row: dict[str, Any]) -> list[str]:
    details = []
    if row["kind"] == "service":
        details.append(_service(row["code"]))
    elif row["code"] is not None:
        details.append(f"code {row['code']}")
    if row["endpoint"] is not None:
        details.append(printable(row["endpoint"]))
    if row["coder"] is not None:
        details.append(printable(row["coder"]))
    if row["files"]:
        details.append(f"{row['files']} files")
    if row["error"] is not None:
        details.append(f"error: {printable(row['error'])}")
    if row["refused"] is not None:
        details.append(f"refused: {printable(row['refused'])}")
    return details


def message_of(row: dict[str, Any]) -> dict[str, Any] | None:
    """A recorded message of functions: its type and each part by its name; None if it is no such row."""
    if row["protocol"] != "rpc" or row["recorded"] != "full" or row["raw"] is None:
        return None
    try:
        identity, *parts = split(row["raw"])
    except (MalformedFrame, ValueError):
        return None
    type_ = type_of(parts)
    names = ("type", *PARTS_OF[type_]) if type_ is not None else ()
    message: dict[str, Any] = {"identity": identity.hex()}
    for name, part in zip(names, parts, strict=False):
        message[name] = part.hex() if name == "id" else _preview(part)
    if type_ == Message.WORKER_REGISTER:
        functions = zip(parts[2::3], parts[3::3], parts[4::3], strict=False)
        message["functions"] = [[_preview(part) for part in function] for function in functions]
    elif extra := parts[len(names) :]:
        message["parts"] = [_preview(part) for part in extra]
    return message


def _preview(part: bytes) -> str:
    """The part as text if it is one, else in hex; cut short."""
    try:
        text = part.decode()
    except UnicodeDecodeError:
        text = ""
    if not text.isprintable() or (part and not text):
        text = part.hex()
    return text if len(text) <= PREVIEW else text[:PREVIEW] + "..."


def peer_of(row: dict[str, Any]) -> str:
    """Which side of the proxy a message of functions was on (spec/journal.md, section 3.4)."""
    way = _TO_CLIENT if row["direction"] == "out" else _FROM_CLIENT
    return "client" if row["kind"] in way else "worker"


def short_id(query: bytes) -> str:
    """The beginning of a query's id: ids of others are often short texts."""
    text = query.decode("ascii", "replace")
    return text[:12] if text.isascii() and text.isprintable() else query.hex()[:12]


def _service(code: int | None) -> str:
    try:
        return Service(code or 0).name.lower()
    except ValueError:
        return f"service {code}"


def printable(text: str) -> str:
    """Peers choose these texts: no control character of theirs may reach a terminal."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)
