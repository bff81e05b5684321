"""Rows of the journal for a page: which of them are wanted, and each as a line. Pure."""

from typing import Annotated, Any, Final

import msgspec
import pyarrow as pa
from msgspec import Meta

from framehub.codes import HubCommand, HubError, Service
from framehub.console import outcomes
from framehub.errors import ConfigError
from framehub.journal.record import DIRECTIONS, KINDS, PROTOCOLS
from framehub.journal.rpc_rows import KIND_OF
from framehub.rpc.messages import FIELDS, Way

PREVIEW: Final = 160
"""Characters shown of a payload in a line."""
_TO_WORKER: Final = frozenset(KIND_OF[type_] for type_ in FIELDS[Way.PROXY_TO_WORKER])
_TO_CLIENT: Final = frozenset(KIND_OF[type_] for type_ in FIELDS[Way.PROXY_TO_CLIENT])
_FROM_CLIENT: Final = frozenset(KIND_OF[type_] for type_ in FIELDS[Way.CLIENT_TO_PROXY])
_FAULTS: Final = ("refused", "exception", "unknown_function", "stream_error", "service_error")


class Filter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which frames somebody wants to see; what is empty leaves none out."""

    protocols: list[str] = []
    directions: list[str] = []
    kinds: list[str] = []
    name: Annotated[str, Meta(max_length=256)] = ""
    """Part of an endpoint's, function's or service's name."""
    link: Annotated[str, Meta(max_length=64)] = ""
    """Hex digits that a link's name begins with."""
    exchange: Annotated[str, Meta(max_length=64)] = ""
    """Hex digits that an exchange's begins with."""
    user: Annotated[int, Meta(ge=0, lt=1 << 16)] | None = None
    calls: bool = False
    """Only what belongs to a conversation: no keep-alive, nobody who comes and goes."""
    problems: bool = False
    """Only what was refused, or tells of an error."""

    def __post_init__(self) -> None:
        for name, allowed in (("protocols", PROTOCOLS), ("directions", DIRECTIONS), ("kinds", KINDS)):
            if unknown := sorted(set(getattr(self, name)) - set(allowed)):
                raise ConfigError(f"{name}: {unknown[0]!r} is none of {', '.join(allowed)}")
        for name in ("link", "exchange"):
            _digits(name, getattr(self, name))


def _digits(name: str, text: str) -> bytes:
    try:
        return bytes.fromhex(text[: len(text) // 2 * 2])
    except ValueError:
        raise ConfigError(f"{name}: {text!r} is no beginning of one: want hex digits") from None


def load() -> None:
    """Load what looking at rows needs; that takes a while, and need not be on the event loop."""
    import pyarrow.compute  # noqa: F401

    pa.array(["rows"])  # the first array loads more, pandas for example


def chosen(batch: pa.RecordBatch, wanted: Filter) -> pa.RecordBatch:
    """The rows that fit."""
    import pyarrow.compute as pc  # it loads much: a gateway that nobody looks at does without

    masks: list[pa.Array] = []
    for column, values in (
        ("protocol", wanted.protocols),
        ("direction", wanted.directions),
        ("kind", wanted.kinds),
    ):
        if values:
            masks.append(pc.is_in(batch.column(column), value_set=pa.array(values)))
    if wanted.name:
        masks.append(pc.match_substring(batch.column("endpoint"), wanted.name, ignore_case=True))
    for column, digits in (("link", wanted.link), ("exchange", wanted.exchange)):
        if len(digits) > 1:
            masks.append(pc.starts_with(batch.column(column), _digits(column, digits)))
    if wanted.user is not None:
        masks.append(pc.equal(batch.column("user"), wanted.user))
    if wanted.calls:
        masks.append(pc.is_valid(batch.column("exchange")))
    if wanted.problems:
        masks.append(_problems(batch))
    if not masks:
        return batch
    fits = pc.fill_null(masks[0], False)
    for mask in masks[1:]:
        fits = pc.and_(fits, pc.fill_null(mask, False))
    return batch.filter(fits)


def _problems(batch: pa.RecordBatch) -> pa.Array:
    import pyarrow.compute as pc

    told = pc.or_(pc.is_valid(batch.column("error")), pc.is_valid(batch.column("refused")))
    gave_up = pc.is_in(batch.column("code"), value_set=pa.array([Service.TIMEOUT, Service.ABORT], pa.int16()))
    gave_up = pc.and_(pc.equal(batch.column("kind"), "service"), pc.fill_null(gave_up, False))
    return pc.or_(pc.or_(told, gave_up), pc.is_in(batch.column("kind"), value_set=pa.array(_FAULTS)))


def line(row: dict[str, Any], *, inside: bool = True) -> dict[str, Any]:
    """One row for a list; with ``inside`` the beginning of what it carries."""
    told = {
        "seq": row["seq"],
        "at": row["time_ns"] / 1e6,
        "link": _hex(row["link"]),
        "protocol": row["protocol"],
        "direction": row["direction"],
        "party": party(row),
        "kind": row["kind"],
        "says": says(row),
        "name": outcomes.called(row),
        "user": row["user"],
        "id": row["id"],
        "bytes": row["bytes"],
        "files": row["files"] or 0,
        "error": row["error"],
        "refused": row["refused"],
        "exchange": _hex(row["exchange"]),
    }
    if inside and (shown := preview(row)):
        told["preview"] = shown
    return told


def party(row: dict[str, Any]) -> str:
    """Who is at the other end: client, worker or service."""
    if row["protocol"] == "hub":
        return "client" if row["ref"] is None else "service"
    if row["protocol"] == "mfp":
        return "client"
    at_client = _TO_CLIENT if row["direction"] == "out" else _FROM_CLIENT
    if row["direction"] == "out" and row["kind"] in _TO_WORKER & _TO_CLIENT:
        return "client"
    return "client" if row["kind"] in at_client else "worker"


def says(row: dict[str, Any]) -> str:
    """A frame in a word or two."""
    kind, code = str(row["kind"]), row["code"]
    if kind == "service" and code in Service.__members__.values():
        return Service(code).name.lower()
    if kind == "command" and code in HubCommand.__members__.values():
        return HubCommand(code).name.lower()
    if kind == "stream_error" and code in HubError.__members__.values():
        return f"stream error {HubError(code).name.lower()}"
    if kind == "link_closed" and code is not None:
        return f"link closed {code}"
    return kind.replace("_", " ")


def preview(row: dict[str, Any], most: int = PREVIEW) -> str:
    """The beginning of a payload: text, or bytes in hex."""
    raw, start, size = row["raw"], row["payload_at"], row["payload_bytes"]
    if raw is None or start is None or not size:
        return ""
    payload = raw[start : start + min(size, most)]
    text: str = payload.decode(errors="ignore")
    if row["coder"] in (None, "json") and text.isprintable() and len(text) >= len(payload) // 4:
        return _inner(row, text, whole=size <= most) + ("…" if size > most else "")
    return str(payload[: most // 4].hex(" ")) + ("…" if size > most // 4 else "")


def _inner(row: dict[str, Any], text: str, *, whole: bool) -> str:
    """Of an envelope as we write it, what follows the name that stands beside it anyway."""
    begins = f'{{"endpoint":"{row["endpoint"]}",'
    if row["protocol"] != "mfp" or not text.startswith(begins):
        return text
    inner = text[len(begins) : -1] if whole else text[len(begins) :]
    return inner.removeprefix('"data":')


def _hex(value: bytes | str | None) -> str | None:
    return value.hex() if isinstance(value, bytes) else value
