"""Rows of a journal for a terminal or another program."""

import json
from datetime import UTC, datetime
from typing import Any, Final

from framehub.codes import HubCommand, HubState, Message, Service
from framehub.errors import MalformedFrame
from framehub.hub import headers
from framehub.journal.record import WHOLE
from framehub.journal.rpc_rows import KIND_OF, PARTS_OF, split
from framehub.rpc.messages import FIELDS, Way, type_of

PREVIEW: Final = 200
"""Characters shown of a payload."""
_ARROWS: Final = {"in": "->", "out": "<-"}
_FROM_CLIENT: Final = frozenset(KIND_OF[type_] for type_ in FIELDS[Way.CLIENT_TO_PROXY])
_TO_CLIENT: Final = frozenset(KIND_OF[type_] for type_ in FIELDS[Way.PROXY_TO_CLIENT])
_HUB_WAYS: Final = {
    ("in", True): headers.Way.CLIENT_TO_HUB,
    ("out", True): headers.Way.HUB_TO_CLIENT,
    ("in", False): headers.Way.SERVICE_TO_HUB,
    ("out", False): headers.Way.HUB_TO_SERVICE,
}


def as_json(row: dict[str, Any]) -> str:
    """One line of JSON; binary columns in hex, and what ``raw`` says, of functions and the hub, by name."""
    plain = {name: value.hex() if isinstance(value, bytes) else value for name, value in row.items()}
    message = hub_frame_of(row) if row["protocol"] == "hub" else message_of(row)
    if message is not None:
        plain["message"] = message
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


def as_line(row: dict[str, Any]) -> str:
    """One aligned line for people."""
    seconds, ns = divmod(row["time_ns"], 1_000_000_000)
    when = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    ids = f"{row['id'] if row['id'] is not None else '-'}"
    if row["query"] is not None:
        ids = short_id(row["query"])
    if row["protocol"] == "hub":
        if row["ref"]:
            ids += f" of {row['ref']}"
    elif row["ref"] is not None:
        ids += f" re {row['ref']}"
    head = (
        f"{row['seq']:>10} {when}.{ns // 1000:06d} {row['link'].hex()[:8]} {_ARROWS[row['direction']]} "
        f"{row['kind']:<17} {ids:<14} {row['bytes']:>8} B"
    )
    return " ".join((head, *_details(row))).rstrip()


def _details(row: dict[str, Any]) -> list[str]:
    details = []
    if row["protocol"] == "hub":
        details += _hub_details(row)
    elif row["kind"] == "service":
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


def _hub_details(row: dict[str, Any]) -> list[str]:
    """Which side and version; of a command what it says, of a stream what it is about."""
    details = [f"{'client' if row['ref'] is None else 'service'} v{row['version']}"]
    code = row["code"]
    if row["kind"] == "command":
        named = code in HubCommand.__members__.values()
        details.append(HubCommand(code).name if named else f"command {code}")
    elif row["kind"] == "first" and code is not None:
        details.append(f"timeout {code} s")
    elif code is not None:
        details.append(f"code {code}")
    if row["service"] is not None:
        function = row["function"]
        details.append(f"service {row['service']}" + (f".{function}" if function is not None else ""))
    return details


def hub_frame_of(row: dict[str, Any]) -> dict[str, Any] | None:
    """A recorded frame of the hub by the names of its fields; None if it is no such row."""
    if row["protocol"] != "hub" or row["recorded"] not in WHOLE or row["raw"] is None:
        return None
    way = _HUB_WAYS[row["direction"], row["ref"] is None]
    try:
        frame = headers.decode(row["raw"], row["version"], way)
    except MalformedFrame:
        return None
    said: dict[str, Any] = {"stream": frame.stream, "state": frame.state.name, "parameter": frame.parameter}
    if frame.number is not None:
        said["service" if way is headers.Way.CLIENT_TO_HUB else "user"] = frame.number
    if frame.settings is not None:
        said["settings"] = {
            "version": frame.settings.version,
            "timeout_ms": frame.settings.timeout_ms,
            "service": frame.settings.service,
        }
    if frame.state is HubState.COMMAND:
        said["command"] = HubCommand(frame.parameter).name
    said["body"] = _preview(frame.body)
    return said


def message_of(row: dict[str, Any]) -> dict[str, Any] | None:
    """A recorded message of functions: its type and each part by its name; None if it is no such row."""
    if row["protocol"] != "rpc" or row["recorded"] not in WHOLE or row["raw"] is None:
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
