"""The batch decoder of the hub's frames against ``hub.headers``: every header there is, mutated frames."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framehub.errors import MalformedFrame
from framehub.hub import headers
from framehub.hub.headers import HubFrame, Way
from framehub.journal.columns import to_batch
from framehub.journal.hub_rows import HubRows
from framehub.journal.record import DIRECTIONS, KINDS
from framehub.pipeline import decode_hub
from framehub.pipeline.decoded import LAWFUL, NONE, UNLAWFUL
from framehub.pipeline.spans import Spans

IN, OUT = DIRECTIONS.index("in"), DIRECTIONS.index("out")
WAYS = {
    Way.CLIENT_TO_HUB: (IN, False),
    Way.HUB_TO_CLIENT: (OUT, False),
    Way.SERVICE_TO_HUB: (IN, True),
    Way.HUB_TO_SERVICE: (OUT, True),
}
Said = tuple[bytes, int, Way]


def read(raw: bytes, version: int, way: Way) -> tuple[HubFrame | None, str]:
    try:
        return headers.decode(raw, version, way), ""
    except MalformedFrame as exc:
        return None, str(exc)


def agrees(said: list[Said]) -> list[int]:
    """Decode all at once and one by one; the verdicts."""
    told = decode_hub.decode(
        Spans.of(pa.array([raw for raw, _, _ in said], pa.binary())),
        np.array([version for _, version, _ in said]),
        np.array([WAYS[way][0] for _, _, way in said]),
        np.array([WAYS[way][1] for _, _, way in said]),
    )
    for number, (raw, version, way) in enumerate(said):
        direction, at_service = WAYS[way]
        frame, why = read(raw, version, way)
        assert told.verdict[number] == (UNLAWFUL if frame is None else LAWFUL), (raw.hex(), version, way)
        if frame is None:
            assert decode_hub.reason(raw, version, direction, at_service=at_service) == why
            continue
        rows = HubRows(b"\0" * 7 + b"\1", version=version, is_service=at_service)
        (wanted,) = to_batch([rows.frame((0, 0), direction, frame, raw)]).to_pylist()
        numbers = {name: int(values[number]) for name, values in told.numbers.items()}
        assert KINDS[numbers.pop("kind")] == wanted["kind"]
        assert numbers == {name: NONE if wanted[name] is None else wanted[name] for name in numbers}
    return [int(verdict) for verdict in told.verdict]


def test_every_state_on_every_way_is_read_as_the_hub_reads_it() -> None:
    said = []
    for state, stream, parameter, version, way in product(
        range(18), (0, 1, 2**20 - 1), (0, 1, 12, 15, 255), (1, 2), Way
    ):
        if version == 2:
            header = stream.to_bytes(4, "big") + bytes((state, parameter))
        elif state < 16:
            header = (stream << 12 | state << 8 | parameter).to_bytes(4, "big")
        else:
            continue
        said += [(header + b"\2\0\0\0\0\0\7body"[:size], version, way) for size in (0, 1, 2, 6, 7, 9)]
    verdicts = agrees(said)
    assert verdicts.count(LAWFUL) > 1000
    assert verdicts.count(UNLAWFUL) > 1000


@given(
    st.lists(
        st.tuples(st.binary(max_size=18), st.sampled_from((1, 2)), st.sampled_from(Way)),
        min_size=1,
        max_size=10,
    )
)
def test_any_bytes_are_read_as_the_hub_reads_them(said: list[Said]) -> None:
    agrees(said)


@pytest.mark.parametrize(
    ("version", "direction", "why"), [(3, IN, "no version 3"), (2, NONE, "no direction")]
)
def test_rows_that_say_not_enough_are_unlawful(version: int, direction: int, why: str) -> None:
    raw = b"\0\0\0\1\0\0body"
    told = decode_hub.decode(
        Spans.of(pa.array([raw], pa.binary())), np.array([version]), np.array([direction]), np.array([False])
    )
    assert told.verdict.tolist() == [UNLAWFUL]
    assert decode_hub.reason(raw, version, direction, at_service=False) == why
