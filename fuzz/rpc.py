"""A script of bytes drives a proxy, a client and a worker: what peers say, what cannot be sent, and time.

Nothing may escape, what goes out is lawful, all tables agree after each step, and when the peers
are gone and time has passed nothing is left.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from framehub.codes import Message
from framehub.rpc import messages
from framehub.rpc.client import Queries
from framehub.rpc.jobs import DONE, GIVEN, WAITING, wids
from framehub.rpc.keeping import OVERHEAD
from framehub.rpc.messages import FIELDS, Way
from framehub.rpc.proxy import Proxy
from framehub.rpc.settings import ClientSettings, ProxySettings, WorkerSettings
from framehub.rpc.worker import Workbench

LIMITS: Final[dict[str, Any]] = {
    "max_queue": 3,
    "max_bytes": 64,
    "window": 2,
    "attempts": 2,
    "kept_bytes": 4 * OVERHEAD,
    "kept_bytes_in_all": 6 * OVERHEAD,
    "max_remembered": 3,
    "max_clients": 3,
    "max_strikes": 12,
    "max_questions": 5,
}
KEY: Final = bytes(range(32))
CLIENTS: Final = (b"c1", b"c2", b"c3")
WORKERS: Final = (b"w1", b"w2", b"w3", b"w4")
IDS: Final = (b"1", b"2", b"3")
NAMES: Final = (b"f", b"g", b"h")
WIDS: Final = tuple(wids(KEY, peer)(id_) for peer in CLIENTS for id_ in IDS)
STEPS: Final = (0.25, 0.5, 1.0, 6.0, 70.0, 400.0)
DESCRIPTIONS: Final = (
    b"{}",
    b'{"window": 1}',
    b'{"functions": {"f": {"redispatch": "unacknowledged"}}}',
    b'{"leaving": true}',
    b'{"holds": ["%s", "%s"]}' % (WIDS[0].hex().encode(), WIDS[4].hex().encode()),
    b'{"functions": {"f": {"redispatch": "never"}}}',
)
FUNCTIONS: Final = (("f", "Int", "Int"), ("g", "Int", "Int"))


class Script:
    """Bytes read one after another; zeros when there are no more."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def one(self, of: Sequence[bytes]) -> bytes:
        return of[self.byte() % len(of)]

    def block(self) -> bytes:
        size = self.byte() % 72
        self._at += size
        return self._data[self._at - size : self._at]

    def parts(self) -> list[bytes]:
        return [self.block() for _ in range(self.byte() % 9)]


class Run:
    """Three machines and the script that drives them."""

    def __init__(self, data: bytes) -> None:
        self.script = Script(data)
        first = self.script.byte()
        self.now = -6.0 if first & 2 else 0.0
        self.proxy = Proxy(
            ProxySettings(acknowledge=not first & 1, **LIMITS),
            key=KEY,
            now=self.now,
            missing=WORKERS[:1] if first & 4 else (),
            begun_before=WIDS[1:3] if first & 8 else (),
        )
        while self.now < 0.0:
            self.now += 1.0
            self.proxy.tick(self.now)
        for worker, flag in zip(WORKERS, (16, 32, 64), strict=False):
            if first & flag:
                self.proxy.worker_says(worker, messages.registration(FUNCTIONS), 0.0)
        self.queries = Queries(ClientSettings(), random=lambda: 0.5, new_id=lambda: b"probe")
        self.bench = Workbench(
            WorkerSettings(kept_bytes=16, max_remembered=3), FUNCTIONS, {"version": 1}, once=["g"]
        )

    def go(self) -> None:
        acts: tuple[Callable[[], None], ...] = (
            self.client_raw,
            self.worker_raw,
            self.client,
            self.client,
            self.worker,
            self.worker,
            self.tick,
            self.own_client,
            self.own_worker,
        )
        while self.script:
            acts[self.script.byte() % len(acts)]()
            self.deliver()
            agree(self.proxy)
        self.end()

    def client_raw(self) -> None:
        self.proxy.client_says(self.script.one(CLIENTS), self.script.parts(), self.now)

    def worker_raw(self) -> None:
        self.proxy.worker_says(self.script.one(WORKERS), self.script.parts(), self.now)

    def client(self) -> None:
        """A message that is likely to mean something."""
        self.proxy.client_says(self.script.one(CLIENTS), self.made_up(Way.CLIENT_TO_PROXY, IDS), self.now)

    def worker(self) -> None:
        self.proxy.worker_says(self.script.one(WORKERS), self.made_up(Way.WORKER_TO_PROXY, WIDS), self.now)

    def made_up(self, way: Way, ids: Sequence[bytes]) -> list[bytes]:
        script = self.script
        types = tuple(FIELDS[way])
        type_ = types[script.byte() % len(types)]
        if type_ is Message.WORKER_REGISTER:
            flags = script.byte()
            coder = "Long" if flags & 128 else "Int"
            named = [(name.decode(), coder, "Int") for at, name in enumerate(NAMES) if flags >> at & 1]
            return messages.registration(named)
        pools = {"id": ids, "function": NAMES, "json": DESCRIPTIONS, "reason": (b"died", b"unstarted")}
        return [type_.encode(), *(self.field(name, pools) for name in FIELDS[way][type_])]

    def field(self, name: str, pools: dict[str, tuple[bytes, ...] | Sequence[bytes]]) -> bytes:
        return self.script.one(pools[name]) if name in pools else self.script.block()

    def tick(self) -> None:
        until = self.now + STEPS[self.script.byte() % len(STEPS)]
        flags = self.script.byte()
        while self.now < until:
            self.now = until if flags & 2 else min(until, self.now + 1.0)
            self.proxy.tick(self.now)
        if flags & 1:
            self.proxy.worker_disconnected(self.now)

    def own_client(self) -> None:
        script, queries, now = self.script, self.queries, self.now
        act, id_ = script.byte() % 7, script.one(IDS)
        if act == 0:
            queries.ask(id_, script.one(NAMES), script.block(), now=now, timeout=script.byte())
        elif act == 1:
            queries.ask_coders(id_, script.one(NAMES), now=now, timeout=1.0)
        elif act == 2:
            queries.cancel(id_)
        elif act == 3:
            queries.connected(now)
        elif act == 4:
            queries.said(script.parts(), now)
        else:
            queries.said(self.made_up(Way.PROXY_TO_CLIENT, IDS), now)
        queries.tick(now)
        assert queries.pending <= len(IDS)
        self.lawful(Way.CLIENT_TO_PROXY, queries.out)

    def own_worker(self) -> None:
        script, bench, now = self.script, self.bench, self.now
        act, wid = script.byte() % 8, script.one(WIDS)
        if act == 0:
            bench.finished(wid, result=script.block(), now=now)
        elif act == 1:
            bench.finished(wid, exception=script.block().decode(errors="surrogateescape"), now=now)
        elif act == 2:
            bench.died([wid], now)
        elif act == 3:
            bench.give_back([wid], now)
        elif act == 4:
            bench.connected(now)
        elif act == 5:
            bench.said(script.parts(), now)
        else:
            bench.said(self.made_up(Way.PROXY_TO_WORKER, WIDS), now)
        bench.tick(now)
        assert len(set(bench.holds)) == len(bench.holds), "a query is held twice"
        self.lawful(Way.WORKER_TO_PROXY, bench.out)

    def lawful(self, way: Way, out: list[list[bytes]]) -> None:
        for parts in out:
            assert messages.fault(way, parts) is None, parts
        out.clear()

    def deliver(self) -> None:
        """Some of what the proxy says cannot be sent, and that may make it say more."""
        proxy = self.proxy
        for _ in range(4):
            to_workers, to_clients = proxy.to_workers[:], proxy.to_clients[:]
            self.lawful(Way.PROXY_TO_WORKER, [list(parts) for _, parts, _ in to_workers])
            self.lawful(Way.PROXY_TO_CLIENT, [list(parts) for _, parts, _ in to_clients])
            assert {identity for identity, _, _ in to_workers} <= set(WORKERS)
            assert {identity for identity, _, _ in to_clients} <= set(CLIENTS)
            proxy.to_workers.clear()
            proxy.to_clients.clear()
            fate = self.script.byte() if to_workers or to_clients else 0
            lost = [item for item in to_workers if fate & 0x88 == 0x88 and item[0] == WORKERS[fate & 3]]
            full = [item for item in to_workers if fate & 0x88 == 0x80 and item[0] == WORKERS[fate & 3]]
            proxy.undelivered(lost, full, self.now)
            proxy.untold(to_clients if fate & 64 else [])
        proxy.to_workers.clear()
        proxy.to_clients.clear()

    def end(self) -> None:
        """All workers go, and time passes: whatever was there has an answer, and is forgotten."""
        proxy = self.proxy
        proxy.undelivered([(peer, [b"HEART_BEAT"], None) for peer in WORKERS], [], self.now)
        for _ in range(800):  # longer than an answer, then its id, then its client or its group are kept
            self.now += 1.0
            proxy.tick(self.now)
            proxy.to_clients.clear()
        agree(proxy)
        assert (proxy.pending, proxy.keeping.by_wid, proxy.registry.workers) == (0, {}, {})
        assert (proxy.asking.clients, proxy.registry.functions, proxy.registry.strangers) == ({}, {}, {})
        groups = proxy.asking.groups
        assert (groups.by_identity, groups.open, groups.running) == ({}, 0, 0)


def agree(proxy: Proxy) -> None:
    """Every table of a proxy says the same of every query."""
    keeping, placing, registry = proxy.keeping, proxy.placing, proxy.registry
    groups = proxy.asking.groups.by_identity.values()
    sources = [*proxy.asking.clients.values(), *groups]
    jobs = [job for source in sources for job in source.jobs.values()]
    assert keeping.by_wid == {job.wid: job for job in jobs}
    unanswered = [job for job in jobs if job.state in (WAITING, GIVEN)]
    assert keeping.open_jobs == len(unanswered)
    assert keeping.open_bytes == sum(len(job.argument) for job in unanswered)
    kept = [job for job in jobs if job.answer is not None]
    assert [job for job in jobs if job.state == DONE] == kept
    assert keeping.kept_bytes == sum(OVERHEAD + len(job.answer[2]) for job in kept if job.answer is not None)
    assert keeping.kept_bytes == sum(source.kept_bytes for source in sources)
    assert all(
        sum(job.state in (WAITING, GIVEN) for job in group.jobs.values()) == group.open for group in groups
    )
    assert set(keeping.untold) <= {job.wid for job in kept}
    given = {job.wid: job for worker in registry.workers.values() for job in worker.jobs.values()}
    assert given == {job.wid: job for job in jobs if job.state == GIVEN}
    for worker in registry.workers.values():
        assert all(job.worker is worker for job in worker.jobs.values())
        offers = 0 if worker.leaving else 1
        assert all(function.workers.count(worker) == offers for function in worker.functions)
        assert all(registry.functions[function.name] is function for function in worker.functions)
    for function in registry.functions.values():
        assert all(registry.workers[worker.identity] is worker for worker in function.workers)
    lines = [job for function in registry.functions.values() for job in function.waiting]
    assert placing.waiting == len(lines) == sum(f.waiting.count for f in registry.functions.values())
    held_back = list(placing._for_holders.values())
    assert {job.wid for job in (*lines, *held_back)} == {job.wid for job in jobs if job.state == WAITING}
    assert len(lines) + len(held_back) == len({job.wid for job in (*lines, *held_back)})
    assert set(placing._held.values()) <= set(registry.workers.values()), "somebody dead holds something"


def one_input(data: bytes) -> None:
    Run(data).go()
