"""Groups: queries that several clients ask together (spec/rpc.md, section 3.5). Pure.

The tasks of a job are processes that come, die and are started again elsewhere, two of them at the same work
now and then. Their queries carry the job's key in their ids, so that all of them mean the same query by the
same id: it is run once, and whoever asks gets the answer.
"""

from collections.abc import Callable
from math import inf
from typing import Final

from framehub.rpc.jobs import Client
from framehub.rpc.messages import MAX_ID

MARK: Final = b"group-v1"
KEY_BYTES: Final = 32
HEAD: Final = len(MARK) + KEY_BYTES + 4
"""Bytes of a grouped id before the query's own: they name the group, and end it."""
OWN_BYTES: Final = MAX_ID - HEAD
MOST: Final = 0xFFFF_FFFF


def head(key: bytes, limit: int = 0) -> bytes:
    """How all ids of a group begin; ``limit`` of its queries may run at a time, zero for any number."""
    if len(key) != KEY_BYTES:
        raise ValueError(f"a group's key has {KEY_BYTES} bytes, not {len(key)}")
    return MARK + key + limit.to_bytes(4, "big")


def is_grouped(id_: bytes) -> bool:
    """Whether this is the id of a query of a group."""
    return len(id_) == MAX_ID and id_.startswith(MARK)


def is_head(id_: bytes) -> bool:
    """Whether this names a group, not a query of it."""
    return len(id_) == HEAD and id_.startswith(MARK)


class Group(Client):
    """One group: to whoever takes turns it is one client, however many ask for it."""

    __slots__ = ("_all", "ended_until", "limit", "open", "running", "told")

    def __init__(self, identity: bytes, wid: Callable[[bytes], bytes], groups: "Groups") -> None:
        super().__init__(identity, wid)
        self.limit = MOST
        """Queries that may run at a time."""
        self.ended_until = 0.0
        """Until when it is known to be at its end: what is asked then is refused."""
        self.open = 0
        """Queries that are not answered yet."""
        self.running = 0
        """Those of them that a worker has."""
        self.told = b""
        """What the last new id said of the limit."""
        self._all = groups

    @property
    def has_room(self) -> bool:
        """Whether one more of its queries may be given to a worker."""
        return self.running < self.limit

    @property
    def waiting(self) -> int:
        """Queries that no worker has."""
        return self.open - self.running

    def opened(self, count: int = 1) -> None:
        """One more is open, or one less."""
        self.open += count
        self._all.open += count

    def gave(self, count: int = 1) -> None:
        """One more runs, or one less."""
        self.running += count
        self._all.running += count


class Groups:
    """All groups, by what their ids begin with."""

    def __init__(
        self, most: int, most_running: int, *, wids: Callable[[bytes], Callable[[bytes], bytes]]
    ) -> None:
        """``wids`` gives, for what a group's ids begin with, what makes the proxy's ids of its queries."""
        self.by_identity: dict[bytes, Group] = {}
        self.open = 0
        self.running = 0
        self._most = most
        self._wids = wids
        self._most_running = most_running

    @property
    def waiting(self) -> int:
        """Queries of all groups that no worker has."""
        return self.open - self.running

    def find(self, id_: bytes) -> Group | None:
        """The group of a grouped id, if it is known."""
        return self.by_identity.get(id_[: len(MARK) + KEY_BYTES])

    def meet(self, id_: bytes) -> Group | None:
        """The group of a grouped id, a new one if need be; None if there are too many."""
        identity = id_[: len(MARK) + KEY_BYTES]
        group = self.by_identity.get(identity)
        if group is None:
            if len(self.by_identity) >= self._most:
                self.forget(inf)
                if len(self.by_identity) >= self._most:
                    return None
            group = self.by_identity[identity] = Group(identity, self._wids(identity), self)
        self._tell(group, id_)
        return group

    def _tell(self, group: Group, id_: bytes) -> None:
        told = id_[len(MARK) + KEY_BYTES : HEAD]
        if told != group.told:
            group.told = told
            group.limit = min(int.from_bytes(told, "big") or MOST, self._most_running)

    def forget(self, now: float) -> None:
        """Forget groups of which nothing is known any more; of those that were ended, that for a while."""
        gone = [
            identity
            for identity, group in self.by_identity.items()
            if not group.jobs and group.ended_until <= now
        ]
        for identity in gone:
            del self.by_identity[identity]
