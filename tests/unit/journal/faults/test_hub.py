"""Each fault of the hub breaks its rule as spec/audit.md says, and names the rows that show it."""

import pytest

from framehub.journal.faults.hub import FAULTS
from tests.unit.journal.faults.alone import Alone, alone

SEEDS = range(6)
DATA = ("first", "message", "last", "service_error")
SECOND = 1_000_000_000
PING, PONG, CLOSE = 1, 2, 15
TIMEOUT, KILLS = 1, (1, 9, 11, 12)


def side(told: Alone, where: str, direction: str, *kinds: str, **columns: object) -> list[int]:
    """Rows of a stream at the client or at the service."""
    found = told.where(*kinds, direction=direction, **columns)
    return [
        seq
        for seq in found
        if told.at(seq)["exchange"] and (told.at(seq)["ref"] is None) == (where == "client")
    ]


def opening(told: Alone) -> int:
    return side(told, "client", "in", "first")[0]


def no_end(told: Alone) -> bool:
    ended = side(told, "client", "out", "last", "service_error") + told.where("stream_error")
    return not ended and not told.where("command", code=CLOSE)


def unanswered(told: Alone) -> list[int]:
    assert no_end(told)
    assert not side(told, "client", "out")
    return side(told, "client", "in", *DATA)


def client_gone_untold(told: Alone) -> list[int]:
    assert no_end(told)
    (closed,) = told.where("link_closed")
    assert told.at(closed)["link"] == told.at(opening(told))["link"]
    return [opening(told), closed]


def service_gone_untold(told: Alone) -> list[int]:
    assert no_end(told)
    (closed,), (given,) = told.where("link_closed"), side(told, "service", "out", "first")
    assert told.at(closed)["link"] == told.at(given)["link"]
    return [opening(told), closed]


def killed_untold(told: Alone) -> list[int]:
    (error,) = told.where("stream_error", direction="out")
    assert told.at(error)["code"] in KILLS[1:]
    assert side(told, "service", "out", "first")
    return [error]


def timeout_early(told: Alone) -> list[int]:
    first, second = told.where("stream_error", direction="out", code=TIMEOUT)
    assert {told.at(first)["ref"] is None, told.at(second)["ref"] is None} == {True, False}
    since = [seq for seq in side(told, "client", "out") if seq < first][-1:] or [opening(told)]
    waited = told.at(first)["mono_ns"] - told.at(since[0])["mono_ns"]
    assert waited < (told.at(opening(told))["code"] - 1) * SECOND
    return [*since, first]


def ping_unanswered(told: Alone) -> list[int]:
    assert not told.where("command", code=PONG)
    return told.where("command", direction="in", code=PING)


def pong_differs(told: Alone) -> list[int]:
    (ping,), pongs = told.where("command", code=PING), told.where("command", direction="out", code=PONG)
    said = told.at(ping)["payload_bytes"]
    assert [told.at(seq)["payload_bytes"] for seq in pongs] == [said, said] or (
        len(pongs) == 1 and told.at(pongs[0])["payload_bytes"] != said
    )
    assert len({told.at(seq)["exchange"] for seq in (ping, *pongs)}) == 1
    return [ping, pongs[-1]]


def close_unpassed(told: Alone) -> list[int]:
    assert len(told.where("command", direction="out", code=CLOSE)) == 1
    return side(told, "client", "in", "command", code=CLOSE)


def foreign_client(told: Alone) -> list[int]:
    owner = told.at(opening(told))["link"]
    return [
        opening(told),
        *(seq for seq in side(told, "client", "in") if told.at(seq)["link"] != owner),
    ]


def foreign_service(told: Alone) -> list[int]:
    (given,) = side(told, "service", "out", "first")
    owner = told.at(given)["link"]
    return [given, *(seq for seq in side(told, "service", "in") if told.at(seq)["link"] != owner)]


def dead_stream(told: Alone) -> list[int]:
    (end,) = side(told, "client", "out", "last")
    return [end, [seq for seq in told.where(*DATA, direction="out") if seq > end][-1]]


def reopened(told: Alone) -> list[int]:
    return side(told, "client", "in", "first")


def lost(told: Alone) -> list[int]:
    (end,) = side(told, "client", "out", "last")
    assert len(side(told, "service", "in", *DATA)) != len(side(told, "client", "out", *DATA))
    return [opening(told), end]


def user_changed(told: Alone) -> list[int]:
    rows = [row for row in told.rows if row["exchange"]]
    return [rows[0]["seq"], next(row["seq"] for row in rows if row["user"] != rows[0]["user"])]


def after_last(told: Alone) -> list[int]:
    (last,) = side(told, "service", "out", "last")
    return [last, side(told, "service", "out", *DATA)[-1]]


def wrong_state(told: Alone) -> list[int]:
    return told.where("stream_error", direction="in")


BROKEN = {
    f"hub-{check.__name__.replace('_', '-')}": check for check in (
        unanswered, client_gone_untold, service_gone_untold, killed_untold, timeout_early, ping_unanswered,
        pong_differs, close_unpassed, foreign_client, foreign_service, dead_stream, reopened, lost,
        user_changed, after_last, wrong_state,
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
    assert {row["protocol"] for row in told.rows} == {"hub"}
    assert len({row["exchange"] for row in told.rows} - {None}) == 1


@pytest.mark.parametrize("rule", sorted(set(FAULTS) - {"hub-lost", "hub-dead-stream"}))
def test_what_a_service_says_reaches_the_client(rule: str) -> None:
    told = alone(rule, 1)
    assert len(side(told, "service", "in", *DATA)) == len(side(told, "client", "out", *DATA))


@pytest.mark.parametrize("rule", sorted(set(FAULTS) - {"hub-foreign-client", "hub-foreign-service"}))
def test_a_stream_keeps_to_its_two_links(rule: str) -> None:
    told = alone(rule, 1)
    links = {(row["link"], row["ref"] is None) for row in told.rows if row["exchange"]}
    assert len(links) == (1 if "-ping-" in rule or "-pong-" in rule else 2)
