"""Switches with one fault each. The ledger is worth something if it finds every one."""

from typing import Any, Final, NamedTuple

import pytest

from framehub.hub import from_clients, from_services, switch
from framehub.hub.board import Board
from framehub.hub.conduct import Conduct
from framehub.hub.from_clients import FromClients
from framehub.hub.from_services import FromServices
from framehub.hub.holding import Holding
from framehub.hub.numbers import Numbers
from framehub.hub.settings import HubSettings
from framehub.hub.switch import Switch
from framehub.hub.timers import Timers
from framehub.hub.used import UsedNumbers
from tests.simulation.hub import faults


class Mutant(NamedTuple):
    """A fault: where it is, and the rules of which it may break the first."""

    rules: str
    where: Any
    name: str
    what: Any
    troubles: tuple[str, ...] | None = None
    """What shows it: worlds with these troubles only. None for any world."""


_SLOW: Final = ("slow service",)
_BEHIND: Final = ("stalled client", "slow client", "flooding service")

MUTANTS: Final = {
    "anybody may write on any client's stream": Mutant(
        "HINV-2", FromClients, "_on_stream", faults.trusts_any_client, ("forging client",)
    ),
    "used numbers may be used": Mutant("HINV-5 HINV-12", UsedNumbers, "__contains__", faults.never),
    "numbers of ended streams may be used": Mutant(
        "HINV-5", Board, "end", faults.frees_numbers, ("forging client",)
    ),
    "any number of ranges is remembered": Mutant("HINV-11 HINV-5", UsedNumbers, "add", faults.forgets_ranges),
    "every frame of a client's starts the clock again": Mutant(
        "HINV-9", FromClients, "says", faults.asks_anew
    ),
    "an answer does not stop the clock": Mutant("HINV-9", FromServices, "says", faults.never_answered),
    "a client may go on after its last frame": Mutant(
        "HINV-1", FromClients, "_on_stream", faults.takes_after_last, ("forging client",)
    ),
    "CLOSE closes too much": Mutant("HINV-8 HINV-12 HINV-14", FromClients, "_on_stream", faults.closes_all),
    "CLOSE is not echoed": Mutant("HINV-8", Board, "close", faults.closes_unheard),
    "a PONG is empty": Mutant(
        "HINV-15", FromClients, "_about_link", faults.pongs_empty, ("flooding client",)
    ),
    "a client hears nothing of dead streams": Mutant(
        "HINV-1", FromClients, "_refuse", faults.refuses_silently, ("forging client",)
    ),
    "a service may write on any stream": Mutant(
        "HINV-3", FromServices, "_long_way", faults.trusts_any_service, ("forging service",)
    ),
    "a service may go on after its last frame": Mutant(
        "HINV-12 HINV-3 HINV-8", Board, "end", faults.keeps_the_dead
    ),
    "a stranger may write on streams": Mutant(
        "HINV-3 HINV-17", FromServices, "_stranger", faults.takes_strangers, ("stranger",)
    ),
    "strangers are answered each time": Mutant(
        "HINV-17 HINV-3", from_services, "COMPLAIN_SECONDS", 0.0, ("stranger",)
    ),
    "parameters are lost": Mutant("HINV-3", FromServices, "_on_stream", faults.loses_parameters),
    "a service cannot leave": Mutant(
        "HINV-1", FromServices, "_about_link", faults.never_leaves, ("service says goodbye",)
    ),
    "any PONG speaks for now": Mutant(
        "HINV-1 HINV-7 HINV-8",
        FromServices,
        "_about_link",
        faults.believes_any_pong,
        ("cut a service", "stranger"),
    ),
    "who comes back keeps its streams": Mutant(
        "HINV-1 HINV-7 HINV-8", FromServices, "_configure", faults.keeps_all, ("cut a service",)
    ),
    "what waited hides the answer to who comes back": Mutant(
        "HINV-1", FromServices, "_configure", faults.keeps_what_waited, _SLOW
    ),
    "a silent service is never dead": Mutant(
        "HINV-7", FromServices, "tick", faults.never_dead, ("half-open service", "stop a service")
    ),
    "nobody asks who has gone": Mutant("HINV-7", Switch, "_ask_all", faults.nothing, ("kill a service",)),
    "a dead service's streams stay": Mutant(
        "HINV-7 HINV-8 HINV-12", FromServices, "_lose_streams", faults.nothing, ("kill a service",)
    ),
    "a lost client's streams stay": Mutant(
        "HINV-6 HINV-8 HINV-12", Board, "lose_client", faults.nothing, ("cut a client",)
    ),
    "a client is told twice": Mutant("HINV-8", Board, "kill", faults.kills_twice),
    "a service is not told of an end": Mutant("HINV-8", Board, "kill", faults.kills_behind_service),
    "a client is not told of an end": Mutant("HINV-8 HINV-12", Board, "kill", faults.kills_behind_client),
    "the sides hear different reasons": Mutant("HINV-8", Board, "kill", faults.kills_with_another_code),
    "the user is forgotten": Mutant("HINV-13", Board, "tell", faults.forgets_user),
    "what comes while something waits is lost": Mutant(
        "HINV-10 HINV-8 HINV-11", Holding, "hold", faults.drops_what_waits, _BEHIND
    ),
    "what waited last goes first": Mutant("HINV-10", Holding, "next_held", faults.newest_first, _BEHIND),
    "streams do not take turns": Mutant("turns", Holding, "next_held", faults.one_stream_first, _BEHIND),
    "any amount may wait for a client": Mutant("HINV-11", Holding, "_is_too_much", faults.never, _BEHIND),
    "what waited for a service is sent twice": Mutant(
        "HINV-2 HINV-3 HINV-4 HINV-8 HINV-10 HINV-17", Holding, "sent", faults.sends_twice, _SLOW
    ),
    "a service that is behind hears of no end": Mutant(
        "HINV-8", Holding, "hold_for_service", faults.drops_endings, _SLOW
    ),
    "what comes behind a gap is sent": Mutant(
        "HINV-2 HINV-4 HINV-10", Switch, "is_late", faults.never, (*_SLOW, "cut a service")
    ),
    "whoever is furthest behind makes no room": Mutant(
        "back-pressure", Holding, "_make_room", faults.nothing, _BEHIND
    ),
    "a client is never paused": Mutant("back-pressure", Board, "mind", faults.never_pauses, _SLOW),
    "a client is never resumed": Mutant("back-pressure", Board, "mind", faults.never_resumes, _SLOW),
    "a client that does not read is read": Mutant(
        "back-pressure", Board, "mind", faults.minds_services_only, _BEHIND
    ),
    "frames wait for a service for ever": Mutant("back-pressure", Holding, "tick", faults.nothing, _SLOW),
    "strangers that do not read are kept": Mutant(
        "back-pressure HINV-11", Holding, "hold_for_service", faults.holds_for_strangers, ("stranger",)
    ),
    "numbers in use are given again": Mutant(
        "numbers", Numbers, "__init__", faults.gives_again, ("numbers go round",)
    ),
    "one kind of numbers": Mutant("numbers", Numbers, "take", faults.short_numbers),
    "numbers do not rest": Mutant("numbers", Numbers, "release", faults.no_rest),
    "the fullest service gets more": Mutant("least-loaded", from_clients, "_load", faults.fullest),
    "timeouts have no bounds": Mutant("HINV-17 HINV-9 HINV-15", HubSettings, "bounded", faults.unbounded),
    "streams never time out": Mutant("HINV-9", Timers, "due", lambda self, now: []),
    "timers stay": Mutant("HINV-12", Timers, "discard", faults.nothing),
    "the hub does not know that it slept": Mutant(
        "HINV-9 HINV-7 HINV-15", switch, "LATE", 1.0e9, ("stop the hub",)
    ),
    "silent clients stay": Mutant(
        "HINV-15", Switch, "_look_at_clients", faults.nothing, ("half-open client",)
    ),
    "a draining hub takes streams": Mutant("HINV-1", Switch, "drain", faults.nothing, ("drain the hub",)),
    "faults do not count": Mutant(
        "conduct HINV-1 HINV-8 HINV-13", Conduct, "strike", faults.always, ("forging client",)
    ),
    "cancels do not count": Mutant(
        "conduct HINV-1 HINV-8 HINV-13", Conduct, "cancel", faults.always, ("flooding client",)
    ),
    "PINGs do not count": Mutant("HINV-11 conduct", Conduct, "ping", faults.always, ("flooding client",)),
    "any number of streams a second": Mutant("HINV-11", Conduct, "open", faults.always),
}


def put(mutant: Mutant, patch: pytest.MonkeyPatch) -> None:
    """Break the switch."""
    patch.setattr(mutant.where, mutant.name, mutant.what)
