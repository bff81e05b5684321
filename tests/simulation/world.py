"""Two machines, two wires and two clocks, moved by one random generator: the same seed, the same story."""

from collections import Counter, deque
from collections.abc import Callable
from math import inf
from random import Random
from typing import NamedTuple

from framehub.errors import PeerMisbehaved, RemoteProtocolError
from framehub.mfp.connection import Connection
from framehub.mfp.encoder import encode
from tests.simulation import forging, owners, plan
from tests.simulation.accounts import Accounts, is_as_sent
from tests.simulation.book import Broken, must
from tests.simulation.side import Side
from tests.simulation.wire import NEVER, Parcel, Wire

REMEMBERED = 40
"""Steps that a failure tells."""
LONG = 1_000.0
"""Seconds after which everything that has a time limit is over."""


class Step(NamedTuple):
    """One thing that happened; made into text only if it is asked for."""

    at: float
    side: str
    what: str
    about: object

    def __str__(self) -> str:
        return f"{self.at:12.6f} {self.side} {self.what} {self.about if self.about is not None else ''}"


class Clock:
    """The clock of one side: it began elsewhere, it is a little fast or slow, it jumps forward."""

    def __init__(self, rng: Random) -> None:
        self._began = rng.choice((0.0, 5.0, 1e6))
        self._rate = rng.choice((1.0, 1.0, 0.98, 1.05))

    def at(self, time: float) -> float:
        return self._began + time * self._rate

    def when(self, reading: float) -> float:
        """The world's time at which this clock shows ``reading``."""
        return (reading - self._began) / self._rate

    def jump(self, seconds: float) -> None:
        self._began += seconds


class World:
    """One connection from its opening to its end."""

    def __init__(
        self,
        rng: Random,
        *,
        machine: Callable[..., Connection] = Connection,
        wire: Callable[[int], Wire] = Wire,
    ) -> None:
        self.rng = rng
        self.plan = plan.draw(rng)
        self.accounts = Accounts(honest=self.plan.honest)
        self.sides = [
            Side(name, self.accounts, self.plan.settings, first_id, machine)
            for name, first_id in zip("AB", self.plan.first_ids, strict=True)
        ]
        self.wires = [wire(self.plan.capacity) for _ in self.sides]
        """The wire from each side."""
        self.clocks = [Clock(rng) for _ in self.sides]
        self.steps: deque[Step] = deque(maxlen=REMEMBERED)
        self.now = 0.0
        self.events = 0
        self._alarms = [NEVER, NEVER]
        """When each owner has to call ``tick``."""
        self._deaf_until = [0.0, 0.0]
        """Until when each side does not read, and knows that."""
        self._acts = owners.acts(rng)
        self._closed = False

    @property
    def counts(self) -> Counter[str]:
        return self.accounts.counts

    def run(self) -> None:
        """The whole story.

        Raises:
            Broken: a rule did not hold.
        """
        with plan.id_space(self.plan):
            self._live()
            if self.plan.fate == "unlawful":
                self._unlawful()
            elif self.plan.fate == "silence":
                self._silence()
            elif self.plan.fate == "calm":
                self._wind_up()
            if not self._closed:
                self._close()
                self.counts[self.plan.fate] += 1

    # --- what happens ------------------------------------------------------------------------------------

    def _live(self) -> None:
        """Owners act, frames arrive, deadlines come, in the order of time."""
        acts_left = self.plan.acts
        next_act = 0.0
        while acts_left and not self._closed:
            arrivals = [wire.next_arrival for wire in self.wires]
            soonest = min(next_act, *arrivals, *self._alarms)
            self.now = max(self.now, soonest)
            if soonest == next_act:
                acts_left -= 1
                next_act = self.now + self.rng.random() * 2 * self.plan.gap
                self._act(self.rng.randrange(2))
            elif soonest in arrivals:
                self._deliver(arrivals.index(soonest))
            else:
                self._tick(self._alarms.index(soonest))

    def _act(self, index: int) -> None:
        rng, side = self.rng, self.sides[index]
        if rng.random() < self.plan.jumps:
            seconds = rng.choice((0.01, 1.0, 40.0))
            self.clocks[index].jump(seconds)
            self._alarms[index] = self._alarm(index)
            self._note(index, "clock jumps", seconds)
            self.counts["clock jumps"] += 1
        if rng.random() < self.plan.stalls:
            self.wires[index].stalled_until = until = self.now + rng.random() * rng.choice((1.0, 1.0, 8.0))
            self._deaf_until[1 - index] = until if rng.random() < 0.5 else 0.0
            self._note(index, "is not read for a while")
        if not self.plan.honest and rng.random() < 0.1:
            self._forge(index)
        if self.plan.small_ids and side.book.just_over & side.next_ids(plan.SMALL // 2):
            self._settle()  # with so few ids one is soon taken again, while the wire still speaks of its past
        if side.backlog:
            self.counts["waits for room"] += 1  # an owner that has to wait does nothing new
            return
        act = self._acts[int(rng.random() * len(self._acts))]
        self._note(index, act.__name__)
        side.now = self._time(index)
        side.machine.deaf = self._is_deaf(index)
        act(side, rng, side.now)
        self._moved(index)

    def _forge(self, index: int) -> None:
        frame = forging.frame(self.sides[index], self.sides[1 - index], self.rng)
        self._note(index, "forges", frame)
        self.counts["forged frames"] += 1
        self.wires[index].put(self.now, encode(frame, plan.sums(self.plan.settings)), None)

    def _deliver(self, index: int) -> None:
        """The first parcel of a wire comes out at the other side."""
        parcel = self.wires[index].take()
        self._note(1 - index, "gets", parcel)
        try:
            got = self.sides[1 - index].receive(parcel.data, self._time(1 - index))
        except RemoteProtocolError as refusal:
            self._refused(1 - index, parcel, refusal)
            return
        self._note(1 - index, "sees", got.event)
        if parcel.sent is not None:
            must(is_as_sent(got.frame, parcel.sent.frame), "M1", "{} came as {}", parcel.sent, got.frame)
        again = encode(got.frame, self.plan.settings.checksums)
        must(again == parcel.data, "M1", "{} came, and would be sent as {}", parcel.data, again)
        self.counts["delivered"] += 1
        self._pump(index)
        self._moved(1 - index)

    def _refused(self, index: int, parcel: Parcel, refusal: RemoteProtocolError) -> None:
        """The receiver cannot go on: rightly so?"""
        self._note(index, "refuses", refusal)
        if isinstance(refusal, PeerMisbehaved):
            self.counts["misbehaved"] += 1
            self._close()
            return
        side = self.sides[index]
        frame = side.read(parcel.data)
        if frame is not None and not side.book.must_refuse(frame):
            raise Broken("M2", f"refused {frame}: {refusal}")
        must(parcel.sent is None, "M5", "an honest peer sent {}", parcel.sent)
        must(side.machine.drain() == [], "M8", "a refused frame was answered")
        must(side.machine.pending == side.book.pending, "M15", "a refused frame left something behind")
        self.counts["refused frames"] += 1
        self._close()

    def _tick(self, index: int) -> None:
        self._note(index, "tick", self._time(index))
        self.sides[index].tick(self._time(index), deaf=self._is_deaf(index))
        self._moved(index)

    # --- how it ends -------------------------------------------------------------------------------------

    def _unlawful(self) -> None:
        """One side sends what ends every connection."""
        index = self.rng.randrange(2)
        self._settle()
        if self._closed:
            return
        data = forging.unlawful(self.sides[index], self.sides[1 - index], self.rng)
        self.wires[index].put(self.now, data, None)
        self._deliver(index)
        must(self._closed, "M2", "{} was taken", data)

    def _silence(self) -> None:
        """One direction goes silent and stays so: every request ends all the same, on both sides.

        The line is dead, or the reader does not read and knows that: then it judges nobody.
        """
        index = self.rng.randrange(2)
        if self._closed:
            return
        self.wires[index].stalled_until = NEVER
        deaf = self.rng.random() < 0.3
        self._deaf_until[1 - index] = NEVER if deaf else 0.0
        self._note(index, "is not read any more" if deaf else "is not heard any more")
        self.sides[1 - index].ping(self._time(1 - index))
        self._moved(1 - index)
        self._settle()
        for _ in range(2):
            self._wait(LONG)
        self._watch()
        if self._closed:
            return
        must(deaf or self.plan.settings.keepalive == inf, "8.7.2", "nobody noticed the silence")
        for side in self.sides:
            must(not side.book.deadlines(), "M6", "{} still waits for a silent peer", side.name)
        must(bool(self.sides[1 - index].pinged), "M15", "a pong came out of silence")

    def _watch(self) -> None:
        """Let the machines look as often as they want to, for a while."""
        for _ in range(12):
            alarms = [self._alarm(0), self._alarm(1)]
            if self._closed or min(alarms) == NEVER:
                return
            self.now = max(self.now, min(alarms))
            self._tick(alarms.index(min(alarms)))
            self._settle()

    def _wind_up(self) -> None:
        """Everything arrives, everything ends."""
        self._settle()
        for index, side in enumerate(self.sides):
            if self._closed:
                return
            side.now = self._time(index)
            for ref in list(side.book.streams):
                if self.rng.random() < 0.5:
                    side.give_up(ref)
                else:
                    side.chunk(ref, key=None, final=True)
            self._moved(index)
        self._settle()
        for _ in range(2):
            self._wait(LONG)
        if self.plan.honest and not self._closed:
            for side in self.sides:
                must(side.book.pending == 0, "M15", "{} has {} left", side.name, vars(side.book))

    def _wait(self, seconds: float) -> None:
        self.now += seconds
        for index in (0, 1):
            if not self._closed:
                self._tick(index)
        self._settle()

    def _settle(self) -> None:
        """Let everything arrive that can; deadlines wait meanwhile."""
        while not self._closed:
            self._pump(0)
            self._pump(1)
            arrivals = [wire.next_arrival for wire in self.wires]
            soonest = min(arrivals)
            if soonest == NEVER:
                break
            self.now = max(self.now, soonest)
            self._deliver(arrivals.index(soonest))
        if self._is_quiet():
            for side in self.sides:
                side.book.just_over.clear()
                if self.plan.small_ids:
                    side.refusable.clear()

    def _close(self) -> None:
        """Both machines are closed; what was on its way is gone."""
        self._closed = True
        for side in self.sides:
            side.close()
        self.accounts.all_ended()
        sent = self.counts["acks sent"]
        must(sent == self.counts["ackable accepted"], "M8", "{} acks for {}", sent, dict(self.counts))

    # --- bookkeeping -------------------------------------------------------------------------------------

    def _moved(self, index: int) -> None:
        """Something happened at a side: what it wants to send goes as far as there is room."""
        self.events += 1
        if over := self.sides[index].over:
            self._note(index, "finds", over)
            self._close()
            return
        self._pump(index)
        self._alarms[index] = self._alarm(index)
        if self.plan.honest and self._is_quiet():
            self._mirror()

    def _is_quiet(self) -> bool:
        return not any(self.wires) and not any(side.backlog for side in self.sides)

    def _mirror(self) -> None:
        """Nothing is on its way: what lives on one side lives on the other."""
        for mine, other in (self.sides, reversed(self.sides)):
            ours, theirs = mine.book, other.book
            must(ours.asked.keys() == theirs.answering.keys(), "M6", "{} asks alone", mine.name)
            must(ours.sets.keys() == theirs.waiting.keys(), "M11", "{} announces alone", mine.name)
            must(ours.streams.keys() == theirs.inflow.keys(), "M12", "{} streams alone", mine.name)
            must(not ours.acks, "M8", "{} waits for acks {}", mine.name, ours.acks)
            must(not ours.pings, "M9", "{} waits for pongs {}", mine.name, ours.pings)
        books = [side.book for side in self.sides]
        self.accounts.all_arrived(
            one.token for book in books for table in (book.sets, book.streams) for one in table.values()
        )

    def _pump(self, index: int) -> None:
        """Put on the wire what there is room for."""
        backlog, wire = self.sides[index].backlog, self.wires[index]
        while backlog and wire.has_room(len(backlog[0].data)):
            sent = backlog.popleft()
            wire.put(self.now + self.rng.random() * 2 * self.plan.delay, sent.data, sent)

    def _time(self, index: int) -> float:
        return self.clocks[index].at(self.now)

    def _is_deaf(self, index: int) -> bool:
        return self.now < self._deaf_until[index]

    def _alarm(self, index: int) -> float:
        deadline = self.sides[index].machine.next_deadline
        return NEVER if deadline is None else self.clocks[index].when(deadline) + self.plan.lag

    def _note(self, index: int, what: str, about: object = None) -> None:
        self.steps.append(Step(self.now, self.sides[index].name, what, about))
