"""One query at the proxy, and the client that asked (spec/rpc.md, sections 3 and 4). Pure."""

from collections.abc import Callable, Iterable
from enum import IntEnum, auto
from hashlib import blake2b
from typing import TYPE_CHECKING, Final
from zlib import crc32

from framehub.ids import NO_ID

if TYPE_CHECKING:
    from framehub.rpc.groups import Group
    from framehub.rpc.registry import Function, Worker

MAX_REPEATED: Final = 16 << 20
"""Bytes of answers and lists that one client is sent again in a second."""


class State(IntEnum):
    """What has become of a query."""

    WAITING = auto()  # for a worker
    GIVEN = auto()  # to a worker
    DONE = auto()  # answered; the answer is kept until the client has acknowledged it
    FINISHED = auto()  # acknowledged; only its id is remembered


WAITING, GIVEN, DONE, FINISHED = State


class Job:
    """A query from its arrival until its id is forgotten."""

    __slots__ = (
        "acked", "answer", "argument", "asked_at", "askers", "cancelled", "client", "coders", "deadline",
        "deaths", "function", "given", "given_at", "group", "id", "in_line", "mark", "once",
        "parent", "past", "spec", "state", "until", "wid", "worker",
    )  # fmt: skip

    def __init__(self, client: "Client", id_: bytes, wid: bytes, function: bytes, argument: bytes) -> None:
        self.client = client
        """Whose it is: that of a client, or of a group."""
        self.group: Group | None = None
        self.askers: dict[bytes, None] = {}
        """Of a query of a group: the clients that asked and have not acknowledged an answer."""
        self.in_line = False
        """Of a query of a group: whether others that its worker has wait until it is done."""
        self.id = id_
        self.wid = wid
        self.function = function
        self.argument: bytes = argument
        self.spec: Function | None = None
        """What was known of the function when the query was last placed: its coders."""
        self.state = WAITING
        self.worker: Worker | None = None
        self.acked = False
        """Whether the worker that has it acknowledged it."""
        self.given = 0
        """How often it was given to a worker."""
        self.given_at = 0.0
        self.asked_at = 0.0
        self.deaths = 0
        self.past: tuple[bytes, ...] = ()
        """Identities of workers that had it before."""
        self.cancelled = False
        self.once = False
        """Whether it may not be run twice."""
        self.coders: tuple[bytes, bytes] | None = None
        """Those of its function when it was asked, if they were known."""
        self.answer: list[bytes] | None = None
        self.mark = (0, 0)
        """Size and sum of the argument, once it is no longer kept."""
        self.deadline = 0.0
        """Until when the answer, then the id, is kept."""
        self.until = 0.0
        """Until when it waits for a function that nobody offers."""
        self.parent = NO_ID
        """The exchange that caused it."""

    @property
    def hearers(self) -> Iterable[bytes]:
        """Who is to hear the answer."""
        return (self.client.identity,) if self.group is None else tuple(self.askers)

    def is_same(self, argument: bytes, function: bytes) -> bool:
        """Whether a query of the same id asks the same."""
        if function != self.function:
            return False
        if self.state <= GIVEN:
            return argument == self.argument
        return self.mark == (len(argument), crc32(argument))

    def drop_argument(self) -> None:
        """It will not be given to anybody again."""
        self.mark = (len(self.argument), crc32(self.argument))
        self.argument = b""


class Client:
    """One asker: its queries, and how it behaves."""

    __slots__ = (
        "conduct", "heard", "identity", "jobs", "kept_bytes", "questions", "questions_at", "repeated",
        "repeats", "wid",
    )  # fmt: skip

    def __init__(self, identity: bytes, wid: Callable[[bytes], bytes]) -> None:
        self.identity = identity
        self.wid = wid
        """Turns an id of this client's into the proxy's."""
        self.jobs: dict[bytes, Job] = {}
        self.kept_bytes = 0
        self.conduct: Conduct | None = None
        self.heard = 0.0
        self.questions = 0
        self.questions_at = 0.0
        self.repeated = 0
        """Bytes of answers sent again in this second."""
        self.repeats: set[bytes] | None = None
        """Queries whose answers were; made when there is one."""

    def may_ask(self, most: int, now: float) -> bool:
        """Whether it asked less than ``most`` questions in this second."""
        self._look(now)
        self.questions += 1
        return self.questions <= most

    def may_repeat(self, size: int, now: float) -> bool:
        """Whether so many bytes may be sent to it again in this second."""
        self._look(now)
        self.repeated += size
        return self.repeated <= MAX_REPEATED or self.repeated == size

    def may_hear_again(self, wid: bytes, size: int, now: float) -> bool:
        """Whether the answer of this query, of so many bytes, may be: each once in a second."""
        self._look(now)
        if self.repeats is None:
            self.repeats = set()
        if wid in self.repeats or not self.may_repeat(size, now):
            return False
        self.repeats.add(wid)
        return True

    def _look(self, now: float) -> None:
        if now - self.questions_at >= 1.0:
            self.questions_at, self.questions, self.repeated, self.repeats = now, 0, 0, None


class Conduct:
    """Counts a peer's malformed messages."""

    __slots__ = ("since", "strikes", "until")
    WINDOW: Final = 10.0
    SILENCE: Final = 60.0

    def __init__(self, now: float) -> None:
        self.since = now
        self.strikes = 0
        self.until = 0.0
        """Until when the peer is not heard."""

    def strike(self, most: int, now: float) -> None:
        """One more; too many, and the peer is not heard for a while."""
        if now - self.since >= self.WINDOW:
            self.since, self.strikes = now, 0
        self.strikes += 1
        if self.strikes > most:
            self.until = now + self.SILENCE
            self.since, self.strikes = now, 0


def wids(key: bytes, identity: bytes) -> Callable[[bytes], bytes]:
    """What turns ids of one client into ids of the proxy: a keyed hash of both, the same after a restart."""
    begun = blake2b(len(identity).to_bytes(1, "big") + identity, key=key, digest_size=16)

    def wid(id_: bytes) -> bytes:
        hashed = begun.copy()
        hashed.update(id_)
        return hashed.digest()

    return wid
