"""Each fault of an MFP connection breaks its rule as spec/audit.md says, and names the rows that show it."""

import pytest

from framehub.journal.faults.mfp import FAULTS
from tests.unit.journal.faults.alone import Alone, alone

SEEDS = range(6)
ACK, TIMEOUT, ABORT, UNKNOWN, PING = 1, 2, 3, 4, 7
MORE, SET, STREAM, NEED_ACK = 0b0001, 0b0010, 0b0100, 0b1000


def ends(told: Alone) -> list[int]:
    return sorted(told.where("service", code=TIMEOUT) + told.where("service", code=ABORT))


def final(told: Alone) -> list[int]:
    """Binary frames out without "more follows"."""
    return [seq for seq in told.where("binary", direction="out") if not told.at(seq)["head"] & MORE]


def asking(told: Alone) -> list[int]:
    rows = told.where("message", "request", "response", "binary", direction="in")
    return [seq for seq in rows if told.at(seq)["head"] & NEED_ACK]


def keys(told: Alone) -> list[int]:
    """Keys of the announced files out, in their order."""
    rows = [told.at(seq) for seq in told.where("binary", direction="out")]
    return [row["key"] for row in rows if row["head"] & (SET | STREAM) == SET]


def answered_twice(told: Alone) -> list[int]:
    assert told.where("request", direction="in")
    return told.where("response", direction="out")[:2]


def answered_after_end(told: Alone) -> list[int]:
    (end,) = ends(told)
    return [end, next(seq for seq in told.where("response", direction="out") if seq > end)]


def late_answer_untold(told: Alone) -> list[int]:
    (end,), (late,) = ends(told), told.where("response", direction="in")
    assert told.where("request", direction="out")
    assert end < late
    assert not told.where("service", code=UNKNOWN)
    return [end, late]


def not_acked(told: Alone) -> list[int]:
    assert not told.where("service", code=ACK)
    return asking(told)


def acked_twice(told: Alone) -> list[int]:
    acks = told.where("service", direction="out", code=ACK)
    assert len({told.at(seq)["ref"] for seq in acks}) == 1
    return acks


def acked_unasked(told: Alone) -> list[int]:
    assert not asking(told)
    return told.where("service", direction="out", code=ACK)


def ping_unanswered(told: Alone) -> list[int]:
    assert not told.where("service", code=ACK)
    return told.where("service", direction="in", code=PING)


def id_reused(told: Alone) -> list[int]:
    asked = told.where("request", direction="in")
    assert len({told.at(seq)["id"] for seq in asked}) == 1
    assert len({told.at(seq)["exchange"] for seq in asked}) == 2
    assert asked[1] < min(told.where("response"))
    return asked


def chunk_after_end(told: Alone) -> list[int]:
    return [final(told)[0], told.where("binary", direction="out")[-1]]


def chunk_after_abort(told: Alone) -> list[int]:
    assert not final(told)
    return told.where("service", direction="in", code=ABORT) + told.where("binary", direction="out")[-1:]


def set_short(told: Alone) -> list[int]:
    (opening,) = told.where("message", direction="out")
    assert told.at(opening)["head"] & (SET | STREAM) == SET
    assert told.at(opening)["files"] > len(set(keys(told)))
    return [opening, final(told)[0]]


def key_twice(told: Alone) -> list[int]:
    first, second, *_ = told.where("binary", direction="out")
    assert keys(told)[0] == keys(told)[1]
    (opening,) = told.where("message", direction="out")
    assert told.at(opening)["files"] == len(set(keys(told)))
    return [first, second]


def request_streams(told: Alone) -> list[int]:
    return [seq for seq in told.where("request") if told.at(seq)["head"] & (SET | STREAM) in (SET, STREAM)]


def answer_unasked(told: Alone) -> list[int]:
    return told.where("response", direction="out", exchange=None)


def user_changed(told: Alone) -> list[int]:
    rows = [row for row in told.rows if row["exchange"]]
    return [rows[0]["seq"], next(row["seq"] for row in rows if row["user"] != rows[0]["user"])]


def endpoint_changed(told: Alone) -> list[int]:
    (asked,), (answer,) = told.where("request"), told.where("response", direction="out")
    assert told.at(asked)["endpoint"] != told.at(answer)["endpoint"]
    return [asked, answer]


def zero_id(told: Alone) -> list[int]:
    return told.where(id=0) + told.where(ref=0)


def used_after_close(told: Alone) -> list[int]:
    (closed,) = told.where("link_closed")
    return [closed, *(row["seq"] for row in told.rows if row["seq"] > closed)]


BROKEN = {
    "link-used-after-close": used_after_close,
    **{f"mfp-{check.__name__.replace('_', '-')}": check for check in (
        answered_twice, answered_after_end, late_answer_untold, not_acked, acked_twice, acked_unasked,
        ping_unanswered, id_reused, chunk_after_end, chunk_after_abort, set_short, key_twice, request_streams,
        answer_unasked, user_changed, endpoint_changed, zero_id,
    )},
}  # fmt: skip


def test_every_fault_is_tried() -> None:
    assert BROKEN.keys() == FAULTS.keys()


@pytest.mark.parametrize("rule", FAULTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_rule_is_broken_where_it_is_said(rule: str, seed: int) -> None:
    told = alone(rule, seed)
    assert list(told.fault.evidence) == BROKEN[rule](told)
    assert (told.fault.rule, told.fault.companions) == (rule, ())
    assert {row["protocol"] for row in told.rows} == {"mfp"}
    assert len({row["link"] for row in told.rows}) == 1


@pytest.mark.parametrize("rule", [rule for rule in FAULTS if rule != "link-used-after-close"])
def test_no_link_goes_so_soon_that_it_would_excuse_anything(rule: str) -> None:
    told = alone(rule, 1)
    (closed,) = told.where("link_closed")
    assert told.at(closed)["time_ns"] - told.rows[-2]["time_ns"] > 10_000_000_000
    assert told.rows[-1]["seq"] == closed
