"""What is true at the hub, whatever it believes itself: who is there, what is open, who is owed what."""

from collections import Counter
from heapq import heappop, heappush
from math import inf
from typing import Any, Final

from framehub.hub.settings import HubSettings
from tests.simulation.hub import wire
from tests.simulation.hub.people import LASTED, Caller, Server, Talk
from tests.simulation.rpc.ledger import Broken, must

LATE: Final = 1.0
"""Seconds by which the hub may be late; when it looks away for longer, it first reads what came meanwhile."""
JITTER: Final = 0.6
"""Seconds between two looks at the clock that are nothing special."""


class Book:
    """One life of the hub."""

    def __init__(self, settings: HubSettings, counts: Counter[str], now: float, *, first_v1: int) -> None:
        self.settings = settings
        self.counts = counts
        self.callers: dict[Caller, None] = {}
        self.servers: dict[bytes, Server] = {}
        """Registered ones."""
        self.known: dict[Any, Server] = {}
        """Whose instances of the hub's have been announced; those that are gone stay for a moment."""
        self.strangers: dict[bytes, Server] = {}
        self.offers: dict[int, list[Server]] = {}
        self.live: dict[int, Talk] = {}
        """Open streams by the hub's number."""
        self.epoch = 0
        """Disconnections of services that the hub was told of."""
        self.draining = False
        self.asks_since = inf
        """Since when the hub knows that some service has gone, and is to ask all of them."""
        self.lenient = self.awake = self.ticked = now
        """Until when nobody may be found dead; until when nobody need be; the last look at the clock."""
        self.ended: list[Talk] = []
        """Since the hub last sent what it had to say."""
        self.departed: list[Server] = []
        """Those that are gone; that is to be announced."""
        self.faded: list[Server] = []
        self.arrived: list[Server] = []
        self.touched: dict[Caller, None] = {}
        """Those who may be owed something."""
        self.served: dict[Server, None] = {}
        self.pausing: dict[Caller, None] = {}
        self._first_v1 = first_v1
        self._rested: dict[int, float] = {}
        """Numbers of ended streams to V1 services, and when they ended."""
        self._given: set[int] = set()
        self._live_v1 = 0
        self._deadlines: list[tuple[float, int, Talk]] = []
        self._count = 0

    # --- who is there ----------------------------------------------------------------------------------

    def joined(self, caller: Caller) -> None:
        self.callers[caller] = None

    def left(self, caller: Caller, now: float) -> None:
        """Its connection is gone, and the hub knows."""
        caller.gone = True
        del self.callers[caller]
        self.send_away(caller, 0, now)

    def send_away(self, caller: Caller, code: int, now: float) -> None:
        """Its connection is to be closed, with this code: its streams end now."""
        if caller.closing:
            return
        caller.closing = True
        caller.closes_with = code
        self.touched[caller] = None
        for talk in caller.talks.values():
            if talk.why is None:
                self.end(talk, wire.CLIENT_DISCONNECT, now, caller=False, server=True)

    def register(self, server: Server) -> None:
        """It offers a service, or another than before."""
        self.offers.setdefault(server.number, []).append(server)
        if self.servers.get(server.identity) is not server:
            self.servers[server.identity] = server
            self.arrived.append(server)

    def withdraw(self, server: Server) -> None:
        offering = self.offers[server.number]
        offering.remove(server)
        if not offering:
            del self.offers[server.number]

    def broken(self, identity: bytes) -> None:
        """Its connection has ended; the hub is about to hear that somebody's has."""
        server = self.servers.get(identity)
        if server is not None:
            server.is_broken = True

    def gone(self, server: Server, now: float) -> None:
        """It cannot be reached, or was silent for too long."""
        del self.servers[server.identity]
        self.served.pop(server, None)
        self.withdraw(server)
        self.lose(server, now)
        self.departed.append(server)
        self.faded.append(server)

    def lose(self, server: Server, now: float) -> None:
        """Its streams die."""
        for talk in list(server.talks.values()):
            if talk.why is None:
                self.end(talk, wire.SERVICE_DISCONNECT, now, caller=True, server=False)

    def begins(self, server: Server, now: float) -> None:
        """It came back: nothing that was for it before need come any more."""
        server.waited = 0
        self.lose(server, now)
        for talk in server.talks.values():
            if talk.owes_server and not talk.excused:
                talk.excused = True
                server.pending -= 1
                self.ended.append(talk)
        server.pending -= len(server.owed)
        server.maybe += server.owed
        server.owed.clear()

    # --- streams ---------------------------------------------------------------------------------------

    def open(self, talk: Talk, now: float) -> None:
        """A stream was opened."""
        server, number = talk.server, talk.hub_id
        assert server is not None
        must(number not in self.live, "numbers", "{} has the number of {}", talk, self.live.get(number))
        if server.version == 1:
            must(self._first_v1 <= number <= wire.LAST_V1, "numbers", "{} at a V1 service", talk)
            rested = now - self._rested.pop(number, -inf)
            must(rested >= self.settings.quarantine, "numbers", "{} rested only {:.3f} s", talk, rested)
            self._live_v1 += 1
        else:
            must(wire.LAST_V1 < number <= wire.LAST_V2, "numbers", "{} at a V2 service", talk)
            must(number not in self._given, "numbers", "{} has a number that was given before", talk)
            self._given.add(number)
        self.live[number] = talk
        server.talks[number] = talk
        server.load += 1
        talk.caller.open += 1
        talk.caller.talks[talk.id] = talk
        self._count += 1
        heappush(self._deadlines, (talk.deadline + LATE, self._count, talk))

    def go_round(self) -> None:
        """Numbers that were given may be given again, unless they are in use."""
        self._given.clear()

    def is_out_of_numbers(self, now: float) -> bool:
        """Whether all numbers for V1 services are in use, or at rest."""
        resting = sum(now - ended < self.settings.quarantine for ended in self._rested.values())
        return self._live_v1 + resting >= wire.LAST_V1 - self._first_v1 + 1

    def end(self, talk: Talk, why: int, now: float, *, caller: bool, server: bool) -> None:
        """A stream is over; who is to be told?"""
        talk.why = why
        number, at, who = talk.hub_id, talk.server, talk.caller
        assert at is not None
        del self.live[number]
        at.load -= 1
        who.open -= 1
        who.closed_at = now
        if at.version == 1:
            self._rested[number] = now
            self._live_v1 -= 1
        at.pending -= len(talk.up)  # these may come, unless some of them were lost, or it is not there
        if talk.waits or (why != LASTED and not server):
            talk.up.clear()
        if talk.waiting:
            who.waiting -= talk.waiting
            talk.waiting = 0
            talk.waits.clear()
            self.pausing[who] = None
        if why != LASTED:
            self.cut(talk)
        if caller and not who.closing:
            talk.owes_caller = True
            who.pending += 1
            self.touched[who] = None
        if server:
            talk.owes_server = True
            at.pending += 1
            self.served[at] = None
        self.ended.append(talk)
        name = "its service's last frame" if why == LASTED else wire.CODES.get(why, "close")
        self.counts[f"ended: {name}"] += 1

    def cut(self, talk: Talk) -> None:
        """It was killed or closed: what its client has not got of it may be lost."""
        caller = talk.caller
        caller.pending -= len(talk.down)
        for data in talk.held:
            caller.held -= cost(data)
            _, state, code, _ = wire.read(data, caller.version)
            if state == wire.ERROR:
                caller.hears(talk.id, code)  # it hears of the end instead
        talk.held.clear()
        self.pausing[caller] = None
        caller.turns.pop(talk, None)

    # --- after each batch ------------------------------------------------------------------------------

    def settle(self, now: float) -> None:
        """All was sent that can be: who is owed something cannot be reached now."""
        for talk in self.ended:
            talk.up.clear()
            if talk.why != LASTED:
                talk.down.clear()
            server = talk.server
            over = not talk.owes_server or talk.excused
            if server is not None and over and server.talks.get(talk.hub_id) is talk:
                del server.talks[talk.hub_id]
                if talk.owes_server:
                    server.stale.add(talk.hub_id)
        self.ended.clear()
        for gone in self.faded:
            self.known.pop(gone.instance, None)
        self.faded.clear()
        must(not self.departed, "HINV-7", "not announced as gone: {}", self.departed)
        must(not self.arrived, "HINV-17", "not announced: {}", self.arrived)
        if self.touched:
            self._settle_callers()
        if self.served:
            self._settle_servers(now)
        if self.pausing:
            self._settle_pauses()

    def _settle_callers(self) -> None:
        for caller in list(self.touched):
            closes = caller.closes_with
            must(not closes or caller.gone, "conduct", "{} was to be closed with {}", caller, closes)
            if caller.closing or not caller.pending:
                del self.touched[caller]
            elif not caller.full:
                owed = [talk for talk in caller.talks.values() if talk.down or talk.owes_caller]
                rule = _rule(owed, any(talk.owes_caller for talk in owed))
                about = owed, caller.refusals, caller.notices
                raise Broken(rule, f"{caller} lacks {caller.pending} frames: {about}")

    def _settle_servers(self, now: float) -> None:
        for server in list(self.served):
            blocked = server.behind or server.blocked_at == now
            if blocked and server.owed:
                sure = [one for one in server.owed if one in server.sure]
                server.pending -= len(server.owed) - len(sure)
                server.maybe += [one for one in server.owed if one not in sure]
                server.owed[:] = sure
            if not server.pending:
                del self.served[server]
            elif not blocked:
                talks = [talk for talk in server.talks.values() if talk.up or talk.owes_server]
                rule = _rule(talks, any(talk.owes_server for talk in talks))
                raise Broken(rule, f"{server} lacks {server.pending} frames: {talks}, {server.owed}")

    def _settle_pauses(self) -> None:
        mark = self.settings.pause_bytes
        for caller in self.pausing:
            if not caller.closing:
                much, paused = caller.waiting + caller.held, caller.paused
                must(
                    much <= mark or paused, "back-pressure", "{}: {} bytes wait, and it is read", caller, much
                )
                must(
                    not paused or much > mark // 2,
                    "back-pressure",
                    "{} is not resumed: {} wait",
                    caller,
                    much,
                )
        self.pausing.clear()

    # --- the clock -------------------------------------------------------------------------------------

    def before_tick(self, now: float) -> None:
        gap = now - self.ticked
        self.ticked = now
        if gap > JITTER:
            self.awake = now + LATE
        if gap > LATE:
            self.lenient = now + LATE
            self.counts["late looks at the clock"] += 1

    def after_tick(self, now: float) -> None:
        """Everybody whose time is up must be gone by now."""
        settings, awake = self.settings, self.awake
        deadlines, asks_since = self._deadlines, self.asks_since
        self.asks_since = inf
        while deadlines and deadlines[0][0] < now:
            talk = heappop(deadlines)[2]
            if talk.why is None:
                latest = max(talk.deadline, awake) + LATE
                must(now <= latest, "HINV-9", "{} is open at {:.3f}, due at {:.3f}", talk, now, talk.deadline)
                self._count += 1
                heappush(deadlines, (latest, self._count, talk))
        for server in self.servers.values():
            latest = max(server.heard + settings.dead_after, awake) + LATE
            must(now <= latest, "HINV-7", "{} is silent since {:.3f}", server, server.heard)
            asked = server.behind or max(server.pinged, server.came, server.blocked_at) >= asks_since
            must(asked or asks_since == inf, "HINV-7", "{} was not asked", server)
            if server.behind:
                self._check_waiting(server, now)
        for caller in self.callers:
            if caller.full or caller.paused or caller.closing:
                caller.excused = now
            latest = max(caller.heard, caller.excused) + 2 * settings.client_ping
            latest = max(latest, awake) + 2 * LATE
            must(now <= latest, "HINV-15", "{} is silent since {:.3f}", caller, caller.heard)

    def _check_waiting(self, server: Server, now: float) -> None:
        busy = max(now - self.settings.busy_after, self.ticked - LATE) - LATE if now > self.awake else -inf
        for talk in server.talks.values():
            if talk.waits and talk.why is None:
                must(
                    talk.waits[0][1] >= busy, "back-pressure", "{} waits since {:.3f}", talk, talk.waits[0][1]
                )


def _rule(talks: list[Talk], is_end: bool) -> str:
    """Which one is broken when somebody lacks a frame of these streams, or one that is about none."""
    if is_end:
        return "HINV-8"
    return "HINV-10" if talks else "HINV-1"


def cost(data: bytes) -> int:
    """What a frame that waits counts."""
    return len(data) + 64
