"""A proxy for unit tests: peers speak by name, and what it says is read as (peer, parts)."""

from collections.abc import Iterable
from typing import Any

from framehub.rpc.jobs import wids
from framehub.rpc.proxy import About, Job, Proxy, Sending
from framehub.rpc.settings import ProxySettings

KEY = bytes(range(32))
F = (b"f", b"Int", b"Int")
G = (b"g", b"Int", b"Int")
Said = list[tuple[bytes, list[bytes]]]


def wid(client: bytes, id_: bytes) -> bytes:
    """What a worker sees of a client's id."""
    return wids(KEY, client)(id_)


class Board:
    """A proxy that started a minute ago, and its clock."""

    def __init__(
        self,
        *,
        age: float = 60.0,
        missing: Iterable[bytes] = (),
        begun: Iterable[bytes] = (),
        **settings: Any,
    ) -> None:
        self.now = -age
        self.proxy = Proxy(
            ProxySettings(**settings), key=KEY, now=self.now, missing=missing, begun_before=begun
        )
        self.wait(0.0)

    def client(self, identity: bytes, *parts: bytes) -> About:
        return self.proxy.client_says(identity, list(parts), self.now)

    def worker(self, identity: bytes, *parts: bytes) -> About:
        return self.proxy.worker_says(identity, list(parts), self.now)

    def register(self, identity: bytes, *functions: tuple[bytes, bytes, bytes]) -> About:
        count = len(functions).to_bytes(4, "big")
        return self.worker(identity, b"WORKER_REGISTER", count, *(part for f in functions for part in f))

    def ask(self, client: bytes, id_: bytes, argument: bytes = b"a", function: bytes = b"f") -> Job:
        """A query that is taken."""
        job = self.client(client, b"QUERY", id_, argument, function)
        assert isinstance(job, Job)
        return job

    def answer(self, worker: bytes, client: bytes, id_: bytes, result: bytes = b"r") -> About:
        return self.worker(worker, b"RESPONSE_RESULT", wid(client, id_), result)

    def wait(self, until: float) -> None:
        """Time goes on; the proxy looks at the clock four times a second."""
        while self.now < until:
            self.now = min(self.now + 0.25, until)
            self.proxy.tick(self.now)

    def to_clients(self) -> Said:
        """What clients were told since the last look."""
        return _taken(self.proxy.to_clients)

    def to_workers(self) -> Said:
        return _taken(self.proxy.to_workers)

    def clear(self) -> None:
        self.proxy.to_clients.clear()
        self.proxy.to_workers.clear()


def _taken(sending: Sending) -> Said:
    said = [(identity, list(parts)) for identity, parts, _ in sending]
    sending.clear()
    return said
