"""Messages of functions of a whole batch at once (spec/journal.md, 3.5), as ``rpc.messages`` reads one.

Which of a proxy's two sockets a message passed is not recorded: it is lawful if its type may go its direction
at one of them. Registrations are rare and long, and looked at one by one.
"""

from typing import Any, Final

import numpy as np

from framehub.codes import Message
from framehub.errors import MalformedFrame
from framehub.journal.record import DIRECTIONS, KIND_NUMBER
from framehub.journal.rpc_rows import KIND_OF, PARTS_OF, PAYLOADS, split
from framehub.pipeline.decoded import NONE, Decoded, verdicts
from framehub.pipeline.spans import NULL, Flags, Numbers, Spans
from framehub.rpc.messages import FIELDS, MAX_ID, MAX_NAME, Way, fault

_WAYS: Final = {
    "in": (Way.CLIENT_TO_PROXY, Way.WORKER_TO_PROXY),
    "out": (Way.PROXY_TO_CLIENT, Way.PROXY_TO_WORKER),
}
_TYPES: Final = tuple(KIND_OF)
_UNKNOWN: Final = len(_TYPES)
"""The number of no type: the last line of each table below."""
_REGISTER: Final = _TYPES.index(Message.WORKER_REGISTER)
_INCOMPATIBLE: Final = _TYPES.index(Message.INCOMPATIBLE_SPECS_FAILURE)
_FIRST_PART: Final = 2
"""Identity and type come before what a type has."""
_MOST_PARTS: Final = _FIRST_PART + max(len(parts) for parts in PARTS_OF.values())
_BY_SIZE: Final[dict[int, list[tuple[int, bytes]]]] = {}
for _number, _type in enumerate(_TYPES):
    _BY_SIZE.setdefault(len(_type), []).append((_number, _type.encode()))


def _place(type_: Message, *names: str) -> int:
    """Where the first part of one of these names stands; 0 if there is none."""
    found = [place for place, name in enumerate(PARTS_OF[type_], _FIRST_PART) if name in names]
    return found[0] if found else 0


def _table(numbers: list[int]) -> Numbers:
    return np.array([*numbers, 0], dtype=np.int64)


_KIND: Final = np.array([*(KIND_NUMBER[KIND_OF[type_]] for type_ in _TYPES), NONE], dtype=np.int64)
_PARTS: Final = _table([_FIRST_PART + len(PARTS_OF[type_]) for type_ in _TYPES])
_PAYLOAD: Final = _table([_place(type_, *PAYLOADS) for type_ in _TYPES])
_FUNCTION: Final = _table([_place(type_, "function") for type_ in _TYPES])
_HAS_ID: Final = np.array([*("id" in PARTS_OF[type_] for type_ in _TYPES), False])
_MAY_GO: Final = np.array(
    [
        [*(any(type_ in FIELDS[way] for way in _WAYS[direction]) for type_ in _TYPES), False]
        for direction in DIRECTIONS
    ]
)
_TEXTS: Final = [
    (_TYPES.index(type_), place, name)
    for type_, parts in PARTS_OF.items()
    for place, name in enumerate(parts, _FIRST_PART)
    if name not in ("id", "argument", "result", "text", "functions")
]
"""Parts that are text, with their types."""


def decode(raw: Spans, direction: Numbers) -> Decoded:
    """What the messages say; ``direction`` is a position in ``record.DIRECTIONS``."""
    starts, sizes, count, whole = _parts(raw)
    type_ = _types(raw.within(starts[1], sizes[1]))
    every = np.arange(len(type_))
    good = whole & (count == _PARTS[type_]) & _MAY_GO[np.clip(direction, 0, 1), type_] & (direction >= 0)
    id_size = np.where(_HAS_ID[type_], sizes[2], NULL)
    good &= ~_HAS_ID[type_] | ((id_size >= 1) & (id_size <= MAX_ID))
    good &= _texts_are_good(raw, type_, starts, sizes)
    for row in np.flatnonzero(type_ == _REGISTER).tolist():
        good[row] = direction[row] == 0 and _fault(raw.bytes(row), Way.WORKER_TO_PROXY) is None
    payload, function = _PAYLOAD[type_], _FUNCTION[type_]
    function_size = np.where(function > 0, sizes[function, every], NULL)
    return Decoded(
        verdicts(good),
        {
            "kind": _KIND[type_],
            "payload_at": np.where(payload > 0, starts[payload, every] - raw.start, NONE),
            "payload_bytes": np.where(payload > 0, sizes[payload, every], NONE),
        },
        {
            "query": raw.within(starts[2], id_size),
            "endpoint": raw.within(starts[function, every], function_size),
        },
    )


def _parts(raw: Spans) -> tuple[Any, Any, Numbers, Flags]:
    """Begin and size of each part by its place, how many there are, and whether they fill the bytes.

    Of messages with more parts than any type has but a registration only the first are looked at: these are
    not whole.
    """
    rows = len(raw.start)
    starts = np.zeros((_MOST_PARTS, rows), np.int64)
    sizes = np.full((_MOST_PARTS, rows), NULL, np.int64)
    count = np.zeros(rows, np.int64)
    at, end = raw.start, raw.start + raw.size
    for place in range(_MOST_PARTS):
        length = raw.number(at)
        behind = at + 4 + length
        there = (at < end) & (behind <= end)
        starts[place] = at + 4
        sizes[place] = np.where(there, length, NULL)
        count += there
        at = np.where(there, behind, at)
    return starts, sizes, count, at == end


def _types(named: Spans) -> Numbers:
    types = np.full(len(named.size), _UNKNOWN, np.int64)
    for size in np.unique(named.size).tolist():
        if size in _BY_SIZE:
            rows = np.flatnonzero(named.size == size)
            texts = named.text(size, rows)
            for number, text in _BY_SIZE[size]:
                types[rows[texts == text]] = number
    return types


def _texts_are_good(raw: Spans, type_: Numbers, starts: Any, sizes: Any) -> Flags:
    good = np.ones(len(type_), np.bool_)
    present = np.bincount(type_, minlength=_UNKNOWN)
    for number, place, name in _TEXTS:
        if not present[number]:
            continue
        rows = np.flatnonzero(type_ == number)
        size = sizes[place, rows]
        sound = raw.within(starts[place, rows], size).are_text()
        if name in ("function", "reason"):
            sound &= size >= 1
        if name != "json":
            sound &= size <= MAX_NAME
        if number == _INCOMPATIBLE:  # of a registration whose first name could not be read
            sound |= sizes[_FIRST_PART, rows] == 0
        good[rows[~sound]] = False
    return good


def _fault(raw: bytes, way: Way) -> str | None:
    try:
        parts = split(raw)
    except MalformedFrame as exc:
        return str(exc)
    return fault(way, parts[1:])


def reason(raw: bytes, direction: int) -> str:
    """Why bytes that ``decode`` calls unlawful are no message."""
    if not 0 <= direction < len(DIRECTIONS):
        return "no direction"
    faults = {way: _fault(raw, way) or "no message" for way in _WAYS[DIRECTIONS[direction]]}
    # The socket at which its type may pass says more than the other.
    return next((text for text in faults.values() if " is not sent by " not in text), min(faults.values()))
