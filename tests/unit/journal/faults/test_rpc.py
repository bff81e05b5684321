"""Each fault of remote functions breaks its rule as spec/audit.md says, and names the rows that show it."""

import pytest

from framehub.journal.faults.rpc import FAULTS
from tests.unit.journal.faults.alone import Alone, alone

SEEDS = range(6)
ANSWERS = ("result", "exception", "unknown_function")


def asked(told: Alone) -> list[int]:
    return told.where("query", direction="in")


def given(told: Alone) -> list[int]:
    return told.where("query", direction="out")


def answers(told: Alone) -> list[int]:
    return told.where(*ANSWERS, direction="out")


def answer_unasked(told: Alone) -> list[int]:
    assert not asked(told)
    return answers(told)


def wrong_client(told: Alone) -> list[int]:
    (question,), (answer,) = asked(told), answers(told)
    assert told.at(question)["link"] != told.at(answer)["link"]
    return [question, answer]


def result_changed(told: Alone) -> list[int]:
    (worked,), (answer,) = told.where("result", direction="in"), told.where("result", direction="out")
    assert told.at(worked)["payload_bytes"] != told.at(answer)["payload_bytes"]
    return [worked, answer]


def answer_before_receipt(told: Alone) -> list[int]:
    (answer,), (received,) = answers(told), told.where("query_received", direction="out")
    assert answer < received
    return [answer, received]


def too_many_workers(told: Alone) -> list[int]:
    links = {told.at(seq)["link"] for seq in given(told)}
    assert len(links) == len(given(told))
    assert len(links) - len(told.where("query_returned")) == 4
    return given(told)


def unregistered_worker(told: Alone) -> list[int]:
    assert not told.where("register")
    return given(told)


def receipt_early(told: Alone) -> list[int]:
    (receipt,) = told.where("response_received", direction="out")
    assert receipt < min(told.where(*ANSWERS, direction="in"))
    return [receipt]


def unknown_though_given(told: Alone) -> list[int]:
    assert not told.where("unknown_function", direction="in")
    return given(told) + told.where("unknown_function", direction="out")


def two_answers(told: Alone) -> list[int]:
    assert len({told.at(seq)["kind"] for seq in answers(told)}) == 2
    return answers(told)


def run_again(told: Alone) -> list[int]:
    (answer,), (_, again) = answers(told), given(told)
    assert 0 < told.at(again)["mono_ns"] - told.at(answer)["mono_ns"] < 60_000_000_000
    return [answer, again]


def given_after_cancel(told: Alone) -> list[int]:
    (cancel,), (begun,) = told.where("cancel", direction="in"), given(told)
    assert asked(told)[-1] < cancel < begun
    return [cancel, begun]


def busy_received(told: Alone) -> list[int]:
    assert (len(asked(told)), given(told)) == (1, [])
    return told.where("query_received", direction="out") + told.where("exception", error="busy")


def function_changed(told: Alone) -> list[int]:
    rows = [row for row in told.rows if row["exchange"] and row["endpoint"]]
    return [rows[0]["seq"], next(row["seq"] for row in rows if row["endpoint"] != rows[0]["endpoint"])]


def overdue(told: Alone) -> list[int]:
    assert not answers(told)
    assert not told.where("cancel")
    return asked(told)


BROKEN = {
    f"rpc-{check.__name__.replace('_', '-')}": check for check in (
        answer_unasked, wrong_client, result_changed, answer_before_receipt, too_many_workers,
        unregistered_worker, receipt_early, unknown_though_given, two_answers, run_again, given_after_cancel,
        busy_received, function_changed, overdue,
    )
}  # fmt: skip


def test_every_fault_is_tried() -> None:
    assert BROKEN.keys() == FAULTS.keys()


@pytest.mark.parametrize("rule", FAULTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_rule_is_broken_where_it_is_said(rule: str, seed: int) -> None:
    told = alone(rule, seed)
    assert list(told.fault.evidence) == BROKEN[rule](told)
    assert (told.fault.rule, told.fault.companions) == (rule, ())
    assert {row["protocol"] for row in told.rows} == {"rpc"}
    assert len({row["exchange"] for row in told.rows} - {None}) == 1


@pytest.mark.parametrize("rule", sorted(set(FAULTS) - {"rpc-unregistered-worker"}))
def test_queries_go_to_registered_workers_only(rule: str) -> None:
    told = alone(rule, 1)
    registered = {told.at(seq)["link"] for seq in told.where("register")}
    assert {told.at(seq)["link"] for seq in given(told)} <= registered
