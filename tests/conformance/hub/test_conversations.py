"""Conversations as data, played with the switch, and with a hub that knows nothing of the rules."""

import re
from itertools import product

import pytest

from framehub.hub.switch import Switch
from tests.conformance.hub.naive import NaiveHub
from tests.conformance.hub.play import Machine, Play
from tests.conformance.hub.vectors import ConversationCase, conversations

PROMISES = [*(f"HUB-R{n}" for n in range(1, 8)), *(f"HOLE-{n}" for n in range(1, 5))]
BETWEEN = re.compile(r"V([12]) client, V([12]) service: (.*)")
PROMISED = [case for case in conversations() if case.promises and BETWEEN.match(case.name)]
EASY = "a stream is opened, answered and ended"
"""What works without any rule."""


def test_the_hub_says_what_the_conversations_say(hub_case: ConversationCase) -> None:
    Play(hub_case).run(hub_case.steps)


@pytest.mark.parametrize("case", PROMISED, ids=[case.name for case in PROMISED])
@pytest.mark.parametrize("machine", [Switch, NaiveHub])
def test_rules_are_kept_by_the_switch_and_broken_by_a_naive_hub(
    machine: Machine, case: ConversationCase
) -> None:
    play = Play(case, machine)
    if machine is Switch or case.name.endswith(EASY):
        play.run(case.steps)
    else:
        with pytest.raises(AssertionError, match="step"):
            play.run(case.steps)


@pytest.mark.parametrize("promise", PROMISES)
def test_every_rule_and_every_hole_is_shown_between_all_versions(promise: str) -> None:
    shown = set()
    for case in PROMISED:
        words = BETWEEN.match(case.name)
        if words and promise in case.promises and words[3] != EASY:
            shown.add((words[1], words[2]))
    assert shown == set(product("12", "12"))


def test_conversations_without_a_clock_are_those_for_sockets() -> None:
    """Sockets cannot be told what time it is, nor made to block; limits are for machines."""
    for case in conversations():
        moves = any(step.now is not None or step.asleep_until is not None for step in case.steps)
        breaks = any(step.does in ("blocks", "reads", "returns") or step.hub for step in case.steps)
        assert not (case.sockets and (moves or breaks or case.settings)), case.name
    assert sum(case.sockets for case in conversations()) > 100
