from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from framehub.report.families import CHILDREN, LANES, Relatives

Snapshot = Callable[..., Path]
Make = Callable[..., Any]
At = Callable[[float], datetime]


def _id(number: int) -> tuple[str, str]:
    return "north", f"{number:032x}"


def _lanes(snapshot: Snapshot, rows: list[Any], chosen: int) -> list[tuple[int, int]]:
    """Number and depth of each lane."""
    told = Relatives(snapshot(exchanges=rows, rows_per_file=2) / "exchanges", [_id(chosen)]).told(_id(chosen))
    assert told is not None
    assert told["exchange"] == _id(chosen)[1]
    assert [int(lane["exchange"], 16) for lane in told["family"] if lane["shown"]] == [chosen]
    return [(int(lane["exchange"], 16), lane["depth"]) for lane in told["family"]]


def test_alone_it_is_its_own_family(snapshot: Snapshot, exchange: Make) -> None:
    assert _lanes(snapshot, [exchange(1), exchange(2)], 1) == [(1, 0)]


def test_causes_come_first_and_what_they_caused_below(snapshot: Snapshot, exchange: Make) -> None:
    rows = [exchange(9), exchange(1), exchange(2, parent=_id(1)[1]), exchange(3, parent=_id(1)[1])]
    rows += [exchange(4, parent=_id(2)[1]), exchange(5, parent=_id(9)[1])]
    assert _lanes(snapshot, rows, 2) == [(1, 0), (2, 1), (4, 2), (3, 1)]


def test_a_cause_that_is_not_there_is_no_trouble(snapshot: Snapshot, exchange: Make) -> None:
    assert _lanes(snapshot, [exchange(2, parent=_id(1)[1])], 2) == [(2, 0)]


def test_exchanges_that_cause_each_other_end(snapshot: Snapshot, exchange: Make) -> None:
    rows = [exchange(1, parent=_id(2)[1]), exchange(2, parent=_id(1)[1]), exchange(3, parent=_id(3)[1])]
    made = snapshot(exchanges=rows) / "exchanges"
    relatives = Relatives(made, [_id(1), _id(3)])
    told = [relatives.told(_id(1)), relatives.told(_id(3))]
    assert [len(row["family"]) for row in told if row] == [2, 1]


def test_a_crowd_is_cut_and_counted_but_the_chosen_one_is_there(snapshot: Snapshot, exchange: Make) -> None:
    rows = [exchange(1)] + [exchange(n, parent=_id(1)[1]) for n in range(2, 202)]
    relatives = Relatives(snapshot(exchanges=rows) / "exchanges", [_id(1), _id(150)])
    first, late = relatives.told(_id(1)), relatives.told(_id(150))
    assert first is not None
    assert late is not None
    assert [int(lane["exchange"], 16) for lane in first["family"]] == [1, *range(2, 2 + CHILDREN)]
    assert first["family_more"] == 200 - CHILDREN
    assert [lane["exchange"] for lane in late["family"] if lane["shown"]] == [_id(150)[1]]
    assert late["family_more"] == 200 - CHILDREN - 1


def test_a_tree_has_so_many_lanes_at_most(snapshot: Snapshot, exchange: Make) -> None:
    rows = [exchange(1)] + [exchange(n, parent=_id((n + 2) // 4)[1]) for n in range(2, 100)]
    told = Relatives(snapshot(exchanges=rows) / "exchanges", [_id(1)]).told(_id(1))
    assert told is not None
    assert len(told["family"]) == LANES
    assert told["family_more"] > 0


def test_one_id_on_two_nodes_is_two_exchanges(snapshot: Snapshot, exchange: Make) -> None:
    rows = [exchange(1, node="south", wait_us=5), exchange(1)]
    relatives = Relatives(snapshot(exchanges=rows) / "exchanges", [_id(1), ("south", _id(1)[1])])
    told = [relatives.told(_id(1)), relatives.told(("south", _id(1)[1]))]
    assert [row["wait_us"] for row in told if row] == [100, 5]
    assert relatives.told(("east", _id(1)[1])) is None


def test_rows_are_told_with_names_and_plain_times(snapshot: Snapshot, exchange: Make, at: At) -> None:
    row = exchange(1, protocol="rpc", kind="query", given=at(1.5))
    told = Relatives(snapshot(exchanges=[row]) / "exchanges", [_id(1)]).told(_id(1))
    assert told is not None
    assert (told["name"], told["given"]) == ("chat()", at(1.5).isoformat())
