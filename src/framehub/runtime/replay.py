"""Recorded traffic, sent again: the same acts by as many peers, and what comes of them compared.

Each recorded link becomes a peer of its own that keeps to the recorded order: what was sent after an answer
waits for that answer. Different links do not wait for each other, until one is so far behind that no more of
its acts are held. Nothing is held but what is under way.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from typing import Final

from framehub.errors import (
    ConnectFailed,
    ConnectionClosed,
    FramehubError,
    RemoteProtocolError,
    RequestAborted,
    RequestTimeout,
    StreamAborted,
)
from framehub.journal.acts import (
    ABORTED,
    INCOMPLETE,
    TAKEN,
    TIMEOUT,
    Act,
    Acts,
    Answered,
    Ask,
    Chunk,
    GiveUp,
    Left,
    Open,
    Query,
    Row,
    Skipped,
    Tell,
)
from framehub.journal.answers import Answer, of_failure
from framehub.journal.compared import Tally
from framehub.runtime.replay_doors import Came, Door

MAX_LINKS: Final = 512
"""Peers at once; the one that has been quiet for longest leaves when another is needed."""
_SOON: Final = 5.0
"""Seconds in which a stream is refused, if it is."""
_FEW, _FEW_SECONDS = 80, 11.0
"""A link gives up no more than so many exchanges in so many seconds: a gateway takes 100 in 10 s."""
_AHEAD: Final = 16
"""Acts of one link, and chunks of one stream, that wait for their turn."""


class _Stream:
    """A stream under way, and the chunks that wait to go."""

    def __init__(self, door: Door, act: Open) -> None:
        self._opened = asyncio.Event()
        self._chunks: asyncio.Queue[Chunk | None] = asyncio.Queue(_AHEAD)
        self._door = door
        self._act = act
        self.task: asyncio.Task[Came] = asyncio.create_task(self._run())

    async def begin(self) -> None:
        """Until it is open, or has failed: what is sent next must not overtake it."""
        waits = asyncio.ensure_future(self._opened.wait())
        await asyncio.wait((waits, self.task), return_when=asyncio.FIRST_COMPLETED)
        waits.cancel()

    async def put(self, chunk: Chunk | None) -> None:
        """Have it sent, or with None give up; what nobody wants any more is dropped."""
        waits = asyncio.ensure_future(self._chunks.put(chunk))
        await asyncio.wait((waits, self.task), return_when=asyncio.FIRST_COMPLETED)
        waits.cancel()

    async def _run(self) -> Came:
        try:
            await self._door.stream(self._act, self._all(), self._opened.set)
        except (StreamAborted, RequestAborted):
            return lambda _: ABORTED
        return lambda _: TAKEN

    async def _all(self) -> AsyncIterator[Chunk]:
        while True:
            chunk = await self._chunks.get()
            if chunk is None:
                raise StreamAborted("the peer gave it up")
            yield chunk
            if chunk.final:
                return


class _Link:
    """One recorded link: its acts, done in order by a task of its own."""

    def __init__(self, door: Door, tally: Tally) -> None:
        self._door = door
        self._tally = tally
        self._queue: asyncio.Queue[Act] = asyncio.Queue(_AHEAD)
        self._asked: dict[bytes, tuple[str, asyncio.Task[Came]]] = {}
        self._streams: dict[bytes, _Stream] = {}
        self._given_up: deque[float] = deque(maxlen=_FEW)
        self.task = asyncio.create_task(self._run())

    async def put(self, act: Act) -> None:
        """Have it done in its turn.

        Raises:
            FramehubError: nobody is there, or we are not let in.
        """
        if self._queue.full():
            waits = asyncio.ensure_future(self._queue.put(act))
            await asyncio.wait((waits, self.task), return_when=asyncio.FIRST_COMPLETED)
            waits.cancel()
        elif not self.task.done():
            self._queue.put_nowait(act)
        if self.task.done():
            self.task.result()

    async def _run(self) -> None:
        try:
            while not isinstance(act := await self._queue.get(), Left):
                await self._do(act)
            for exchange in list(self._streams):  # their end was never recorded
                await self._give_up(exchange)
            for exchange in list(self._asked):
                await self._compare(exchange, None)
        finally:
            for exchange, (name, task) in self._asked.items():
                task.cancel()
                self._tally.compare(exchange, name, None, None)
            await self._door.close()

    async def _do(self, act: Act) -> None:
        match act:
            case Ask() | Query():
                await self._begin(act)
            case Open():
                await self._door.ready()
                self._tally.of(act.name).sent += 1
                stream = self._streams[act.exchange] = _Stream(self._door, act)
                self._asked[act.exchange] = act.name, stream.task
                await stream.begin()
            case Chunk():
                if stream_ := self._streams.get(act.exchange):
                    await stream_.put(act)
                    if act.final:
                        del self._streams[act.exchange]
                        await self._compare(act.exchange, TAKEN)
            case Tell():
                await self._tell(act)
            case GiveUp():
                await self._give_up(act.exchange)
            case Answered():
                if act.exchange in self._streams and not await self._is_refused(act.exchange):
                    await self._give_up(act.exchange)
                await self._compare(act.exchange, act.answer, act.coder)

    async def _begin(self, act: Ask | Query) -> None:
        await self._door.ready()
        self._tally.of(act.name).sent += 1
        self._asked[act.exchange] = act.name, asyncio.create_task(self._door.ask(act))
        await asyncio.sleep(0)  # it goes before whatever was sent after it

    async def _tell(self, act: Tell) -> None:
        self._tally.of(act.name).sent += 1
        try:
            await self._door.tell(act)
        except ConnectFailed:
            raise
        except FramehubError as exc:
            self._tally.compare(act.exchange, act.name, TAKEN, _failure(exc))
        else:
            self._tally.compare(act.exchange, act.name, TAKEN, TAKEN)

    async def _is_refused(self, exchange: bytes) -> bool:
        """Whether a stream that was refused when it was recorded is so again, or will be soon."""
        done, _ = await asyncio.wait((self._streams[exchange].task,), timeout=_SOON)
        return bool(done)

    async def _give_up(self, exchange: bytes) -> None:
        if exchange not in self._asked:
            return
        name, task = self._asked.pop(exchange)
        await self._ease()
        if stream := self._streams.pop(exchange, None):
            await stream.put(None)  # after all that was sent of it
        else:
            task.cancel()
        await asyncio.wait((task,))
        if not task.cancelled():
            task.exception()  # it does not matter any more
        self._tally.compare(exchange, name, None, None)

    async def _ease(self) -> None:
        """A peer may not give up without end: who did it over hours does it in a moment here."""
        now = asyncio.get_running_loop().time()
        if len(self._given_up) == _FEW and (rest := self._given_up[0] + _FEW_SECONDS - now) > 0:
            await asyncio.sleep(rest)
        self._given_up.append(asyncio.get_running_loop().time())

    async def _compare(self, exchange: bytes, was: Answer | None, coder: str | None = None) -> None:
        if exchange not in self._asked:
            return
        name, task = self._asked[exchange]
        try:
            now = (await task)(coder)
        except ConnectFailed:
            raise
        except FramehubError as exc:
            now = _failure(exc)
        self._asked.pop(exchange, None)
        self._streams.pop(exchange, None)
        if was is TAKEN and now is ABORTED:  # had it been sent as quickly as then, it might have been taken
            was = None
        self._tally.compare(exchange, name, was, now)


class Replay:
    """Traffic on its way. ``speed`` 1 is as it was recorded, 2 twice as fast, 0 as fast as answers come."""

    def __init__(
        self, door: Callable[[], Door], acts: Callable[[], Acts], tally: Tally, *, speed: float = 0.0
    ) -> None:
        self._door = door
        self._new_acts = acts
        self._tally = tally
        self._speed = speed
        self._acts: dict[bytes, Acts] = {}  # by links, as long as something of them is open
        self._links: OrderedDict[bytes, _Link] = OrderedDict()
        self._leaving: set[asyncio.Task[None]] = set()
        self._failed: BaseException | None = None
        self._node = ""
        self._began = 0.0

    @property
    def is_waiting(self) -> bool:
        """Whether the end of something that was sent is still to be read."""
        return bool(self._acts)

    async def take(self, row: Row) -> None:
        """Do what this row says, when its turn comes.

        Raises:
            FramehubError: nobody is there, or we are not let in.
        """
        if self._failed is not None:
            raise self._failed
        name = row["link"]
        acts = self._acts.get(name) or self._new_acts()
        act = acts.take(row)
        if acts.open and not isinstance(act, Left):
            self._acts[name] = acts
        else:
            self._acts.pop(name, None)
        match act:
            case None:
                pass
            case Skipped():
                self._tally.skipped[act.why] += 1
            case Left():
                self._count_incomplete(acts)
                if name in self._links:
                    await self._let_go(name)
            case _:
                await self._pace(row)
                link = self._links.get(name) or await self._join(name)
                self._links.move_to_end(name)
                await link.put(act)

    async def finish(self) -> None:
        """Wait for what is under way; all peers leave.

        Raises:
            FramehubError: as ``take``.
        """
        for acts in self._acts.values():
            self._count_incomplete(acts)
        for name in list(self._links):
            await self._let_go(name)
        while self._leaving:
            await asyncio.wait(self._leaving)
        if self._failed is not None:
            raise self._failed

    async def stop(self) -> None:
        """All peers leave at once; of one that cannot, nobody waits for long."""
        tasks = {link.task for link in self._links.values()} | self._leaving
        for task in tasks:
            task.cancel()
        self._links.clear()
        if tasks:
            await asyncio.wait(tasks, timeout=_SOON)
        for task in tasks:
            if task.done() and not task.cancelled():
                task.exception()  # whoever had to know it does

    async def _join(self, name: bytes) -> _Link:
        """A new peer, when there is room for one."""
        while len(self._links) + len(self._leaving) >= MAX_LINKS:
            if not self._leaving:
                idle = (one for one in self._links if one not in self._acts)
                await self._let_go(next(idle, next(iter(self._links))))
            await asyncio.wait(self._leaving, return_when=asyncio.FIRST_COMPLETED)
        link = self._links[name] = _Link(self._door(), self._tally)
        return link

    async def _let_go(self, name: bytes) -> None:
        link = self._links.pop(name)
        self._leaving.add(link.task)
        link.task.add_done_callback(self._left)
        await link.put(Left())

    def _left(self, task: asyncio.Task[None]) -> None:
        self._leaving.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failed = self._failed or task.exception()

    def _count_incomplete(self, acts: Acts) -> None:
        if acts.incomplete:
            self._tally.skipped[INCOMPLETE] += acts.incomplete

    async def _pace(self, row: Row) -> None:
        if not self._speed:
            return
        now = asyncio.get_running_loop().time()
        at = row["time_ns"] / 1e9 / self._speed
        if row["node"] != self._node:  # each node's traffic begins anew
            self._node, self._began = row["node"], now - at
        await asyncio.sleep(max(0.0, self._began + at - now))


def _failure(exc: FramehubError) -> Answer:
    match exc:
        case RequestTimeout():
            return TIMEOUT
        case RequestAborted() | StreamAborted():
            return ABORTED
        case ConnectionClosed():
            return of_failure("connection lost", str(exc))
        case RemoteProtocolError():
            return of_failure("unreadable answer", str(exc))
    return of_failure("not sent", str(exc))
