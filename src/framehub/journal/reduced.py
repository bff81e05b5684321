"""Rows with less in them: of chosen endpoints, functions and services the journal keeps no payload.

``head`` keeps the frame up to its payload, ``off`` nothing of it; all other columns stay. Binary frames do
not say which endpoint they are for, so what reduces their message is remembered until its link is closed.
"""

from collections.abc import Mapping
from typing import Final

from framehub.journal.record import KIND_NUMBER, NO_ID, PROTOCOLS, RECORDED, Row, place, read_number
from framehub.mfp.layout import MAP, SET, STREAM

OTHERS: Final = "*"
"""Stands for every name that has no entry of its own."""
MOST_NAMES: Final = 4_096
MOST_OPEN: Final = 1_024
"""Messages of one link whose binary frames are known to be reduced; beyond it all of the link's are."""

_FULL: Final = RECORDED.index("full")
_HEAD: Final = RECORDED.index("head")
_OFF: Final = RECORDED.index("off")
_MFP: Final = PROTOCOLS.index("mfp")
_BINARY: Final = KIND_NUMBER["binary"]
_MESSAGE: Final = KIND_NUMBER["message"]
_RESPONSE: Final = KIND_NUMBER["response"]
_SERVICE: Final = KIND_NUMBER["service"]
_REFUSED: Final = KIND_NUMBER["refused"]
_CLOSED: Final = KIND_NUMBER["link_closed"]
_LINK, _EXCHANGE = place("link"), place("exchange")
_KIND, _PROTOCOL, _RECORDED = place("kind").start, place("protocol").start, place("recorded").start


class Reducer:
    """Decides what is kept of each row."""

    def __init__(self, modes: Mapping[str, str]) -> None:
        """``modes`` are ``full``, ``head`` or ``off`` by name; a name covers those that go on with a dot."""
        self._modes = {name: RECORDED.index(mode) for name, mode in modes.items()}
        self._others = self._modes.get(OTHERS, _FULL)
        self._known: dict[str, int] = {}
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
        return row if mode == _FULL else _cut(row, mode)

    def _mode(self, name: str) -> int:
        mode = self._known.get(name)
        if mode is None:
            covering = name
            while covering and covering not in self._modes:
                covering = covering.rpartition(".")[0]
            mode = self._modes[covering] if covering else self._others
            if len(self._known) >= MOST_NAMES:
                self._known.clear()
            self._known[name] = mode
        return mode

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
    return row._replace(fixed=fixed[:_RECORDED] + bytes((mode,)) + fixed[_RECORDED + 1 :], raw=kept)
