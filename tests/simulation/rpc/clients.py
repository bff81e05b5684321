"""Those who ask: ours, with its machine, and a foreign one."""

from collections.abc import Callable
from random import Random

from framehub.rpc import texts, words
from framehub.rpc.client import Ending, Queries
from framehub.rpc.settings import ClientSettings
from tests.simulation.rpc import functions
from tests.simulation.rpc.ledger import Ledger, Query, must
from tests.simulation.rpc.network import Link, Parts, Router, Timeline
from tests.simulation.rpc.process import Process

_ENDINGS = {
    words.RESPONSE_RESULT: Ending.RESULT,
    words.RESPONSE_EXCEPTION: Ending.EXCEPTION,
    words.RESPONSE_UNKNOWN_FUNCTION: Ending.UNKNOWN_FUNCTION,
}


class OurClient(Process):
    """Asks with ``Queries``."""

    foreign = False

    def __init__(
        self,
        time: Timeline,
        name: str,
        ledger: Ledger,
        settings: ClientSettings,
        router: Callable[[], Router],
    ) -> None:
        super().__init__(time, name)
        self.ledger = ledger
        self.rng: Random = time.rng
        self.identity = b"c" + time.rng.randbytes(15)
        self.machine = Queries(settings, random=time.rng.random, new_id=lambda: time.rng.randbytes(16))
        self.link: Link = Link(time, self, router, lambda: self.identity)
        self.link.dial(0.0)
        if time.rng.random() < 0.7:
            self.machine.ask_functions(b"f" + time.rng.randbytes(15), now=time.now, timeout=1e9)
            self._flush()

    def ask(
        self, number: int, *, timeout: float, ample: bool, cancel: bool, group: bytes | None = None
    ) -> Query | None:
        """Ask something, whatever the seed says; with ``group``, what its ids begin with, for that group."""
        if not self.alive:
            return None
        name = functions.pick(self.rng)
        argument = functions.argument(name, number, self.rng)
        now = self.time.now
        id_ = self.rng.randbytes(16) if group is None else group + number.to_bytes(20, "big")
        query = Query(self, id_, name, argument, now, now + timeout)
        query.ample = ample
        query.grouped = group is not None
        self.ledger.asked(query)
        if self.rng.random() < 0.05 and not self.stopped:
            self.machine.ask_coders(self.rng.randbytes(16), b"once", now=now, timeout=1e9)
        if cancel:
            self.time.at(now + self.rng.random() * 3, self.do, self._cancel, query)
        self.do(self._ask, query)
        return query

    def ask_again(self, first: Query, *, timeout: float) -> None:
        """Ask what another client of the group asked, perhaps long ago."""
        if self.alive and first.client is not self:
            now = self.time.now
            twin = Query(self, first.id, first.function, first.argument, now, now + timeout)
            twin.ample = twin.grouped = True
            self.ledger.asked_again(twin)
            self.do(self._ask, twin)

    def _ask(self, query: Query) -> None:
        timeout = max(query.deadline - self.time.now, 0.01)
        self.machine.ask(
            query.id, query.function.encode(), query.argument, now=self.time.now, timeout=timeout
        )
        self._flush()

    def _cancel(self, query: Query) -> None:
        self.ledger.gave_up(query)
        self.machine.cancel(query.id)
        self._flush()

    def hears(self, parts: Parts) -> None:
        self.do(self._said, parts)

    def is_connected(self) -> None:
        self.do(self._connected)

    def tick(self) -> None:
        self.machine.tick(self.time.now)
        self._flush()

    def _said(self, parts: Parts) -> None:
        self.machine.said(parts, self.time.now)
        self._flush()

    def _connected(self) -> None:
        self.machine.connected(self.time.now)
        self._flush()

    def _flush(self) -> None:
        machine = self.machine
        if machine.out:
            out, machine.out = machine.out, []
            for parts in out:
                self.link.send(parts)
        if machine.settled:
            settled, machine.settled = machine.settled, []
            for one in settled:
                if one.ending is Ending.CODERS:
                    must(one.body == (b"json", b"json"), "RINV-14", "coders of quick: {}", one.body)
                    self.ledger.counts["coders told"] += 1
                elif one.ending not in (Ending.FUNCTIONS, Ending.NO_CODERS):
                    self.ledger.settled(self, one.id, one.ending, one.body, self.time.now)
        if machine.renew:
            machine.renew = False
            self.ledger.counts["clients' sockets made anew"] += 1
            self.link.renew()


class ForeignClient(Process):
    """Counts its ids "1", "2"; never asks twice; acknowledges, or never."""

    foreign = True

    def __init__(
        self, time: Timeline, name: str, ledger: Ledger, router: Callable[[], Router], *, careless: bool
    ) -> None:
        super().__init__(time, name)
        self.ledger = ledger
        self.rng: Random = time.rng
        named = time.rng.random() < 0.5
        fixed = name.encode() + time.rng.randbytes(3)
        self.link: Link = Link(time, self, router, lambda: fixed if named else b"\0" + time.rng.randbytes(4))
        self.link.dial(0.0)
        self._acknowledges = time.rng.random() < 0.3
        self._careless = careless
        """It sends some queries twice, and uses some ids twice."""
        self._count = 0

    def ask(self, number: int, *, timeout: float, ample: bool, cancel: bool) -> None:
        if not self.alive:
            return
        del timeout, ample, cancel
        self._count += 1
        name = functions.pick(self.rng)
        argument = functions.argument(name, number, self.rng)
        id_ = b"%d" % self._count
        now = self.time.now
        query = Query(self, id_, name, argument, now, now)
        self.ledger.asked(query, foreign=True)
        message = [words.QUERY, id_, argument, name.encode()]
        self.link.send(message)
        if self._careless:
            if self.rng.random() < 0.2:
                query.copies = 2
                self.link.send(message)
            if self.rng.random() < 0.2:
                query.copies = 9
                self.link.send([words.QUERY, id_, b"something else", name.encode()])

    @property
    def is_sure(self) -> bool:
        """Nothing that it was told can have been lost."""
        return self._careless and self.link.was_never_cut

    def hears(self, parts: Parts) -> None:
        self.do(self._said, parts)

    def is_connected(self) -> None:
        pass

    def _said(self, parts: Parts) -> None:
        ending = _ENDINGS.get(parts[0])
        if ending is None:
            must(parts[0] == words.QUERY_RECEIVED, "RINV-16", "{} hears {}", self, parts)
            return
        query = self.ledger.by_id.get((self, parts[1]))
        must(query is not None, "RINV-8", "{} hears {}", self, parts)
        assert query is not None
        if parts[2] == texts.ID_REUSED:
            must(query.copies == 9, "RINV-8", "{} has an id of its own", query)
            self.ledger.counts["ids reused"] += 1
            return
        query.settled += 1
        must(query.settled <= query.copies, "RINV-3", "{} was answered twice", query)
        self.ledger.judge(query, ending, parts[2])
        if self._acknowledges:
            self.link.send([words.RESPONSE_RECEIVED, parts[1]])
