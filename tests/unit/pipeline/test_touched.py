"""What makes a step look at an old exchange again."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from framehub.pipeline.census import LINK_SCHEMA, Census, NodeCensus
from framehub.pipeline.touched import SECOND_NS, Touched, find_touched, merged

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
NOON_NS = int(NOON.timestamp()) * SECOND_NS
LINK, WORKER = b"link-one", b"worker-1"


def _row(number: int, **fields: Any) -> dict[str, Any]:
    usual = {
        "node": "one",
        "exchange": number.to_bytes(16, "big").hex(),
        "protocol": "mfp",
        "kind": "request",
        "link": LINK.hex(),
        "given_to": None,
        "direction": "in",
        "id": number,
        "endpoint": "chat",
        "opened": NOON,
        "outcome": "ok",
        "timeout_s": None,
        "last": NOON,
        "first_seq": number * 10,
        "last_seq": number * 10 + 5,
    }
    return usual | fields


def _census(*, known: set[int] = frozenset(), closed: bytes | None = None) -> Census:  # type: ignore[assignment]
    ids = {number.to_bytes(16, "big") for number in known}
    census = Census(nodes={"one": NodeCensus(rows=1, known=ids)})
    if closed is not None:
        event = {"node": "one", "link": closed, "protocol": "mfp", "kind": "link_closed", "seq": 99}
        census.link_events += pa.Table.from_pylist([event], LINK_SCHEMA).to_batches()
    return census


def _find(
    census: Census, hot: list[dict[str, Any]], before: float, after: float, closed_at: float | None = None
) -> Touched:
    """With the horizon so many seconds after noon, before the new rows and with them."""
    event = {"node": "one", "link": LINK, "protocol": "hub", "kind": "link_closed", "seq": 9}
    closings = [] if closed_at is None else [event | {"time_ns": NOON_NS + int(closed_at * SECOND_NS)}]
    return find_touched(
        census,
        hot=hot,
        indexes=[],
        before={"one": NOON_NS + int(before * SECOND_NS)},
        horizons={"one": NOON_NS + int(after * SECOND_NS)},
        known_links=pa.Table.from_pylist(closings, LINK_SCHEMA),
    )


def _numbers(touched: Touched) -> set[int]:
    return {int.from_bytes(exchange, "big") for exchange in touched.exchanges.get("one", set())}


def test_what_closed_long_ago_stays_so_beside_a_node_that_was_silent_longer() -> None:
    stream = _row(1, protocol="hub", outcome="open", timeout_s=1)
    event = {"link": LINK, "protocol": "hub", "kind": "link_closed", "time_ns": NOON_NS}
    for node, expected in (("one", set()), ("two", {1})):
        touched = find_touched(
            _census(),
            hot=[stream | {"node": node}],
            indexes=[],
            before={"one": NOON_NS + 3600 * SECOND_NS, "two": NOON_NS},
            horizons={"one": NOON_NS + 3601 * SECOND_NS, "two": NOON_NS},
            known_links=pa.Table.from_pylist([event | {"node": node}], LINK_SCHEMA),
        )
        assert {int.from_bytes(one, "big") for one in touched.exchanges.get(node, set())} == expected


def test_a_row_of_its_own_touches_it() -> None:
    touched = _find(_census(known={1, 3}), [_row(1), _row(2)], 100, 101)
    assert _numbers(touched) == {1}
    assert touched.spans == {"one": [(10, 15)]}
    assert touched.links == {"one": {LINK}}
    assert touched.minutes == {int(NOON.timestamp()) // 60}


@pytest.mark.parametrize("link", [LINK, WORKER])
def test_the_end_of_its_link_touches_an_open_one(link: bytes) -> None:
    hot = [_row(1, outcome="open", given_to=WORKER.hex()), _row(2)]
    assert _numbers(_find(_census(closed=link), hot, 100, 101)) == {1}
    assert _numbers(_find(_census(closed=b"another!"), hot, 100, 101)) == set()


def test_what_is_fresh_is_looked_at_until_ten_seconds_have_passed() -> None:
    assert _numbers(_find(_census(), [_row(1)], 9, 30)) == {1}
    assert _numbers(_find(_census(), [_row(1)], 12, 30)) == set()
    assert _numbers(_find(_census(), [_row(1)], 9, 9)) == set(), "no time has passed"


def test_an_open_query_is_looked_at_when_its_hour_is_over() -> None:
    hot = [_row(1, protocol="rpc", outcome="open", opened=NOON, last=NOON)]
    assert _numbers(_find(_census(), hot, 100, 3590)) == set()
    assert _numbers(_find(_census(), hot, 3590, 3601)) == {1}
    assert _numbers(_find(_census(), hot, 3602, 3700)) == set()


def test_an_open_stream_is_looked_at_when_its_timeout_is_over() -> None:
    last = NOON + timedelta(seconds=5)
    hot = [_row(1, protocol="hub", kind="stream", outcome="open", timeout_s=30, last=last)]
    assert _numbers(_find(_census(), hot, 20, 40)) == set()
    assert _numbers(_find(_census(), hot, 40, 46)) == {1}
    assert _numbers(_find(_census(), hot, 47, 60)) == set()


def test_a_stream_is_looked_at_until_ten_seconds_after_its_link_closed() -> None:
    hot = [_row(1, protocol="hub", kind="stream", outcome="open", timeout_s=30), _row(2, outcome="open")]
    assert _numbers(_find(_census(), hot, 125, 200, closed_at=120)) == {1}
    assert _numbers(_find(_census(), hot, 132, 200, closed_at=120)) == set()


def test_using_its_id_again_touches_it() -> None:
    hot = [_row(1, outcome="open"), _row(2), _row(3, protocol="rpc", id=None), _row(4, kind="ping")]
    openings = {
        "link": [LINK, LINK, LINK, b"another!"],
        "direction": ["in", "out", "in", "in"],
        "id": [1, 2, 4, 2],
    }
    census = _census()
    census.nodes["one"].openings.append(pa.RecordBatch.from_pydict(openings))
    assert _numbers(_find(census, hot, 100, 101)) == {1}
    assert _find(_census(), hot, 100, 101).table().num_rows == 0


def test_settled_ones_are_found_by_their_index(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from framehub.pipeline.index import write_index

    row = {"node": "one", "exchange": (7).to_bytes(16, "big").hex(), "first_seq": 70, "last_seq": 75}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "a.parquet")
    write_index(tmp_path / "g000004.npy", [tmp_path / "a.parquet"])
    touched = find_touched(
        _census(known={7, 8}),
        hot=[],
        indexes=[tmp_path / "g000004.npy"],
        before={},
        horizons={},
        known_links=LINK_SCHEMA.empty_table(),
    )
    assert _numbers(touched) == {7}
    assert touched.generations == {"g000004"}
    assert touched.spans == {"one": [(70, 75)]}
    assert touched.table().to_pylist() == [{"node": "one", "exchange": (7).to_bytes(16, "big")}]


def test_spans_near_each_other_are_one() -> None:
    assert merged([(5, 9), (1, 3), (500_000, 500_001)]) == [(1, 9), (500_000, 500_001)]


def test_there_are_never_many_spans() -> None:
    spans = [(n * 1_000_000, n * 1_000_000 + 10) for n in range(100)]
    few = merged(spans)
    assert len(few) == 32
    assert all(any(low <= first and last <= high for low, high in few) for first, last in spans)
