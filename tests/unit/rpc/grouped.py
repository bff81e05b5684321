"""A board with groups of queries, and what their ids are."""

from typing import Any

from framehub.rpc import groups
from framehub.rpc.groups import Group
from framehub.rpc.jobs import wids
from tests.unit.rpc.board import KEY, Board, F

ONE, TWO = b"\x11" * 32, b"\x22" * 32
CODERS = (b"Int", b"Int")


def gid(number: int, key: bytes = ONE, limit: int = 0) -> bytes:
    return groups.head(key, limit) + number.to_bytes(groups.OWN_BYTES, "big")


def gwid(id_: bytes) -> bytes:
    return wids(KEY, id_[:40])(id_)


class Grouped(Board):
    """A board with a worker of f that is in no hurry."""

    def __init__(
        self, *, workers: tuple[bytes, ...] = (b"w",), slots: int = 32, age: float = 60.0, **settings: Any
    ) -> None:
        super().__init__(age=age, **settings)
        self.slots = slots
        for worker in workers:
            self.hire(worker)
        self.clear()

    def hire(self, worker: bytes) -> None:
        self.worker(worker, b"WORKER_DESCRIBE", b'{"version": 1, "slots": %d}' % self.slots)
        self.register(worker, F)

    def group(self, key: bytes = ONE) -> Group:
        found = self.proxy.asking.groups.find(gid(0, key))
        assert found is not None
        return found

    def given(self) -> list[bytes]:
        """Arguments that workers got since the last look."""
        return [parts[2] for _, parts in self.to_workers() if parts[0] == b"QUERY"]

    def answers(self, id_: bytes, result: bytes = b"r", worker: bytes = b"w") -> None:
        self.worker(worker, b"RESPONSE_RESULT", gwid(id_), result)

    def results(self) -> list[tuple[bytes, bytes]]:
        return [(who, parts[2]) for who, parts in self.to_clients() if parts[0].startswith(b"RESPONSE")]
