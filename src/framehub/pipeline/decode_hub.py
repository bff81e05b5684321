"""Frames of the hub of a whole batch at once (spec/hub.md), as ``hub.headers`` reads one."""

from typing import Any, Final

import numpy as np

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import MalformedFrame
from framehub.hub import headers
from framehub.hub.headers import SETTINGS_BYTES, VERSIONS, Way
from framehub.journal.record import KIND_NUMBER
from framehub.pipeline.decoded import NONE, Decoded, verdicts
from framehub.pipeline.spans import Numbers, Spans

_WAYS: Final = (
    (Way.CLIENT_TO_HUB, Way.HUB_TO_CLIENT),
    (Way.SERVICE_TO_HUB, Way.HUB_TO_SERVICE),
)
"""By side, a client's or a service's, and by direction, in or out."""
_STATES: Final = 256


def _table(known: dict[int, int]) -> Numbers:
    return np.array([known.get(number, NONE) for number in range(_STATES)], dtype=np.int64)


_KIND: Final = _table({state: KIND_NUMBER[state.name.lower()] for state in HubState})


def _lawful_parameters() -> Any:
    lawful = np.zeros((_STATES, 256), np.bool_)
    for state in HubState:
        lawful[state] = True
    for state, known in ((HubState.COMMAND, HubCommand), (HubState.STREAM_ERROR, HubError)):
        lawful[state] = [number in known.__members__.values() for number in range(256)]
    return lawful


_LAWFUL: Final = _lawful_parameters()


def decode(raw: Spans, version: Numbers, direction: Numbers, at_service: Any) -> Decoded:
    """What the frames say.

    ``direction`` is a position in ``record.DIRECTIONS``; ``at_service`` says which rows are at a service.
    """
    start, size = raw.start, raw.size
    is_v2 = version == VERSIONS[1]
    header = np.where(is_v2, 6, 4)
    word = raw.number(start)
    stream = np.where(is_v2, word, word >> 12)
    state = np.where(is_v2, raw.byte(start + 4), word >> 8 & 15).astype(np.int64)
    parameter = np.where(is_v2, raw.byte(start + 5), word & 255).astype(np.int64)
    came = direction == 0
    is_first = state == HubState.FIRST
    from_client = came & ~at_service
    has_settings = is_first & ((stream == 0) | (from_client & ~is_v2))
    has_number = is_first & ~has_settings & (from_client | (~came & at_service))
    body = header + np.where(has_settings, SETTINGS_BYTES, np.where(has_number, 2, 0))
    good = (size >= body) & _LAWFUL[state, parameter] & np.isin(version, VERSIONS) & (direction >= 0)
    good &= ~has_settings | np.isin(raw.byte(start + header), VERSIONS)
    good &= ~(has_settings & (stream == 0) & (size > body)) | (came & at_service)
    told = (state == HubState.COMMAND) | (state == HubState.STREAM_ERROR)
    has_body = size > body
    return Decoded(
        verdicts(good),
        {
            "kind": _KIND[state],
            "head": state,
            "id": stream,
            "key": parameter,
            "code": np.where(told, parameter, NONE),
            "payload_at": np.where(has_body, body, NONE),
            "payload_bytes": np.where(has_body, size - body, NONE),
        },
    )


def reason(raw: bytes, version: int, direction: int, *, at_service: bool) -> str:
    """Why bytes that ``decode`` calls unlawful are no frame."""
    if version not in VERSIONS or direction not in (0, 1):
        return f"no version {version}" if version not in VERSIONS else "no direction"
    try:
        headers.decode(raw, version, _WAYS[at_service][direction])
    except MalformedFrame as exc:
        return str(exc)
    return "no frame"
