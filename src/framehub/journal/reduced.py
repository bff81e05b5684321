"""Rows with less in them: of chosen endpoints, functions and services the journal keeps no payload.

``head`` keeps the frame up to its payload, ``off`` nothing of it; all other columns stay. Binary frames do
not say which endpoint they are for, so what reduces their message is remembered until its link is closed.

Where fields are to be left out, payloads are looked into. One that cannot be read, or that nobody knows the
endpoint of, is left out as a whole: what is meant to be secret is never written for want of knowing better.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final
from zlib import crc32

from framehub.journal import redaction
from framehub.journal.record import (
    DIRECTIONS,
    KIND_NUMBER,
    MODES,
    NO_ID,
    PROTOCOLS,
    RECORDED,
    Row,
    place,
    read_number,
)
from framehub.mfp.checksum import xor8_number
from framehub.mfp.layout import CHECKSUM, MAP, SET, STREAM

OTHERS: Final = "*"
"""Stands for every name that has no entry of its own."""
MOST_NAMES: Final = 4_096
MOST_OPEN: Final = 1_024
"""Messages of one link whose binary frames are known to be reduced; beyond it all of the link's are."""

_FULL: Final = RECORDED.index("full")
_HEAD: Final = RECORDED.index("head")
_OFF: Final = RECORDED.index("off")
_REDACTED: Final = RECORDED.index("redacted")
_MFP: Final = PROTOCOLS.index("mfp")
_HUB: Final = PROTOCOLS.index("hub")
_IN: Final = DIRECTIONS.index("in")
_BINARY: Final = KIND_NUMBER["binary"]
_MESSAGE: Final = KIND_NUMBER["message"]
_RESPONSE: Final = KIND_NUMBER["response"]
_SERVICE: Final = KIND_NUMBER["service"]
_REFUSED: Final = KIND_NUMBER["refused"]
_CLOSED: Final = KIND_NUMBER["link_closed"]
_ASKING: Final = frozenset(KIND_NUMBER[kind] for kind in ("message", "request", "query", "first", "last"))
_TEXTS: Final = frozenset(KIND_NUMBER[kind] for kind in ("exception", "service_error", "stream_error"))
"""Kinds whose payload is a text: it may repeat what was sent."""
_TOLD: Final = frozenset((*_ASKING, *_TEXTS, _RESPONSE, KIND_NUMBER["result"]))
"""Kinds whose payload somebody made."""
_LINK, _EXCHANGE = place("link"), place("exchange")
_KIND, _PROTOCOL, _RECORDED = place("kind").start, place("protocol").start, place("recorded").start
_DIRECTION = place("direction").start


class Reducer:
    """Decides what is kept of each row."""

    def __init__(
        self,
        modes: Mapping[str, str] | None = None,
        redact: Mapping[str, Sequence[str]] | None = None,
        *,
        is_known: Callable[[str], bool] | None = None,
    ) -> None:
        """``modes`` are ``full``, ``head`` or ``off`` by name; a name covers those that go on with a dot.

        ``redact`` are the paths of fields to leave out, by name in the same way. ``is_known`` says whether
        anybody is behind a name now: who mistypes one may send there what is secret at another.

        Raises:
            ConfigError: something is no path.
        """
        self._modes = {name: MODES.index(mode) for name, mode in (modes or {}).items()}
        self._others = self._modes.get(OTHERS, _FULL)
        self._paths = {name: list(map(redaction.parse, paths)) for name, paths in (redact or {}).items()}
        leaves_out = bool(self._paths) or any(mode != _FULL for mode in self._modes.values())
        self._is_known = is_known if leaves_out else None
        self._known: dict[str, int] = {}
        self._fields: dict[str, list[redaction.Path]] = {}
        self._open: dict[bytes, dict[bytes, int]] = {}  # by link, then exchange, the oldest first
        self._lost: dict[bytes, int] = {}  # links with too many of them

    def reduce(self, row: Row) -> Row:
        """The row with as much of its frame as is to be kept."""
        fixed = row.fixed
        kind = fixed[_KIND]
        if row.raw is None:
            if kind == _CLOSED:
                self._open.pop(fixed[_LINK], None)
                self._lost.pop(fixed[_LINK], None)
            return row
        is_mfp = fixed[_PROTOCOL] == _MFP
        if row.endpoint is not None:
            mode = self._mode(row.endpoint)
            if mode == _FULL and self._is_mistyped(row, kind):
                mode = _HEAD
            if is_mfp and kind == _MESSAGE and mode != self._others:
                self._remember(fixed, row.raw[0], mode)
        elif is_mfp and kind == _BINARY:
            link = fixed[_LINK]
            known = self._open.get(link, {}).get(fixed[_EXCHANGE])
            mode = self._lost.get(link, self._others) if known is None else known
        elif is_mfp and kind == _SERVICE:
            return row  # nothing but a head
        else:
            mode = self._others
        if mode == _FULL:
            return self._redact(row, kind) if self._paths else row
        return _cut(row, mode)

    def keeps(self, name: str) -> bool:
        """Whether all is kept of what is sent to this name."""
        return self._mode(name) == _FULL and not (self._paths and self._fields_of(name))

    def _redact(self, row: Row, kind: int) -> Row:
        """The row without the fields that are to be left out."""
        if row.endpoint is None:
            return _cut(row, _HEAD) if kind in _TOLD or kind == _REFUSED else row
        paths = self._fields_of(row.endpoint)
        if kind not in _TOLD:
            return row
        if not paths:
            return row
        if kind in _TEXTS:
            return _cut(row, _HEAD)
        payload_at, size = read_number(row.fixed, "payload_at"), read_number(row.fixed, "payload_bytes")
        if payload_at < 0:
            return row
        assert row.raw is not None
        payload = row.raw[payload_at : payload_at + size]
        is_mfp = row.fixed[_PROTOCOL] == _MFP
        try:
            if is_mfp:
                spans = redaction.in_envelope(payload, paths, strict=kind in _ASKING)
            elif row.coder not in (None, "json"):
                return _cut(row, _HEAD)
            else:
                spans = redaction.in_value(payload, paths, strict=kind in _ASKING)
        except redaction.NotJson:
            return _cut(row, _HEAD)
        if not spans:
            return row
        raw = row.raw[:payload_at] + redaction.written_over(payload, spans) + row.raw[payload_at + size :]
        return _marked(row, _REDACTED, _summed(row.raw, raw) if is_mfp and raw[0] & CHECKSUM else raw)

    def _is_mistyped(self, row: Row, kind: int) -> bool:
        """Whether somebody asks for a name that is nobody's; services of the hub are asked for by number."""
        fixed = row.fixed
        if self._is_known is None or kind not in _ASKING or fixed[_DIRECTION] != _IN:
            return False
        return fixed[_PROTOCOL] != _HUB and not self._is_known(row.endpoint or "")

    def _mode(self, name: str) -> int:
        mode = self._known.get(name)
        if mode is None:
            covering = _covering(name, self._modes)
            mode = self._modes[covering] if covering else self._others
            if len(self._known) >= MOST_NAMES:
                self._known.clear()
            self._known[name] = mode
        return mode

    def _fields_of(self, name: str) -> list[redaction.Path]:
        paths = self._fields.get(name)
        if paths is None:
            paths = self._paths.get(_covering(name, self._paths), self._paths.get(OTHERS, []))
            if len(self._fields) >= MOST_NAMES:
                self._fields.clear()
            self._fields[name] = paths
        return paths

    def _remember(self, fixed: bytes, head: int, mode: int) -> None:
        if head & MAP not in (SET, STREAM) or fixed[_EXCHANGE] == NO_ID:
            return
        link = fixed[_LINK]
        opened = self._open.setdefault(link, {})
        if len(opened) >= MOST_OPEN:
            gone = opened.pop(next(iter(opened)))
            self._lost[link] = max(gone, self._lost.get(link, self._others))
        opened[fixed[_EXCHANGE]] = mode


def _cut(row: Row, mode: int) -> Row:
    """Without the payload."""
    fixed, raw = row.fixed, row.raw
    assert raw is not None
    kind = fixed[_KIND]
    if mode == _HEAD and kind != _REFUSED:
        payload_at = read_number(fixed, "payload_at")
        if payload_at >= 0:
            raw = raw[:payload_at]
        elif fixed[_PROTOCOL] == _MFP and kind == _BINARY:
            raw = raw[: 13 if read_number(fixed, "key") >= 0 else 9]
        elif fixed[_PROTOCOL] == _MFP:
            raw = raw[: 9 if kind == _RESPONSE else 5]
        kept: bytes | None = raw
        mode = _HEAD
    else:
        kept, mode = None, _OFF
    return _marked(row, mode, kept)


def _marked(row: Row, mode: int, raw: bytes | None) -> Row:
    fixed = row.fixed
    return row._replace(fixed=fixed[:_RECORDED] + bytes((mode,)) + fixed[_RECORDED + 1 :], raw=raw)


def _covering(name: str, known: Mapping[str, object]) -> str:
    """The entry that this name falls under: its own, or that of what stands before a dot; or nothing."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name


def _summed(before: bytes, after: bytes) -> bytes:
    """The frame with a checksum of what is in it now, of the kind that it had."""
    if crc32(before[:-4]).to_bytes(4, "big") == before[-4:]:
        return after[:-4] + crc32(after[:-4]).to_bytes(4, "big")
    return after[:-1] + bytes((xor8_number(after[:-1]),))
