"""The machines' tables must agree with each other after every event, and be empty in the end."""

from collections.abc import Iterator, Mapping

from framehub.rpc.client import Queries
from framehub.rpc.jobs import DONE, FINISHED, GIVEN, WAITING, Job
from framehub.rpc.keeping import OVERHEAD
from framehub.rpc.proxy import Proxy
from framehub.rpc.registry import Worker
from framehub.rpc.worker import Workbench
from tests.simulation.rpc.ledger import must

Coders = Mapping[bytes, list[tuple[str, str, str]]]


def check_given(proxy: Proxy, identity: bytes, job: Job) -> None:
    """A query is about to be sent to a worker."""
    worker = proxy.registry.workers.get(identity)
    if worker is None or job.worker is not worker:
        return  # it was taken back while this message waited
    must(worker.jobs.get(job.wid) is job, "RINV-10", "{!r} is given to nobody", job.wid)
    offers = any(function.name == job.function for function in worker.functions)
    must(offers, "RINV-10", "{!r} goes to a worker without {!r}", job.wid, job.function)
    many = sum(wid not in worker.holds for wid in worker.jobs)  # what it has already takes no room
    must(many <= worker.window, "RINV-10", "{} queries at a worker with room for {}", many, worker.window)


def check_quickly(proxy: Proxy) -> None:
    """After every event."""
    placing, keeping = proxy.placing, proxy.keeping
    given = 0
    for worker in proxy.registry.workers.values():
        given += len(worker.jobs)
    waiting = placing.waiting + len(placing._for_holders)
    must(
        keeping.open_jobs == waiting + given,
        "tables",
        "{} queries are open, {} wait, {} are given",
        keeping.open_jobs,
        waiting,
        given,
    )
    must(keeping.open_bytes >= 0 <= keeping.kept_bytes, "tables", "bytes below zero")
    kept = {*keeping._kept, *keeping._kept_of_groups} if keeping.untold else set()
    must(kept >= keeping.untold.keys(), "tables", "untold and not kept")
    groups = proxy.asking.groups
    at_workers = sum(worker.grouped for worker in proxy.registry.workers.values())
    must(
        groups.running == at_workers, "tables", "{} of groups run, {} at workers", groups.running, at_workers
    )
    must(
        groups.open >= groups.running >= 0,
        "tables",
        "{} of groups run, {} are open",
        groups.running,
        groups.open,
    )


def check_proxy(proxy: Proxy, coders: Coders) -> None:
    """Everything, now and then."""
    keeping, placing, registry = proxy.keeping, proxy.placing, proxy.registry
    states = {WAITING: 0, GIVEN: 0, DONE: 0, FINISHED: 0}
    open_bytes = kept_bytes = 0
    for wid, job in keeping.by_wid.items():
        states[job.state] += 1
        must(job.wid == wid and job.client.jobs.get(job.id) is job, "RINV-8", "{!r} is mixed up", wid)
        if job.state <= GIVEN:
            open_bytes += len(job.argument)
        if job.state == GIVEN:
            must(job.worker is not None, "tables", "{!r} is given to nobody", wid)
            assert job.worker is not None
            must(job.worker.jobs.get(wid) is job, "tables", "{!r} is not at its worker", wid)
            at_home = registry.workers.get(job.worker.identity) is job.worker
            must(at_home, "RINV-11", "{!r} is given to one that is gone", wid)
        elif job.state == WAITING:
            must(job.worker is None, "tables", "{!r} waits and is given", wid)
        if job.state == DONE:
            assert job.answer is not None
            kept_bytes += OVERHEAD + len(job.answer[2])
        must(
            (job.answer is not None) == (job.state == DONE),
            "RINV-5",
            "{!r}: {}, {}",
            wid,
            job.state,
            job.answer,
        )
    lines = sum(function.waiting.count for function in registry.functions.values())
    listed = sum(1 for function in registry.functions.values() for _ in function.waiting)
    must(lines == listed == placing.waiting, "tables", "{} wait, {}, {}", placing.waiting, lines, listed)
    must(states[WAITING] == lines + len(placing._for_holders), "tables", "waiting: {}", states)
    must(states[WAITING] + states[GIVEN] == keeping.open_jobs, "tables", "open: {}", states)
    kept = len(keeping._kept) + len(keeping._kept_of_groups)
    must(states[DONE] == kept, "tables", "kept: {}", states)
    must(states[FINISHED] == len(keeping._finished), "tables", "finished: {}", states)
    must(open_bytes == keeping.open_bytes, "tables", "{} and not {}", open_bytes, keeping.open_bytes)
    must(kept_bytes == keeping.kept_bytes, "tables", "{} and not {}", kept_bytes, keeping.kept_bytes)
    groups = proxy.asking.groups
    sources = (*proxy.asking.clients.values(), *groups.by_identity.values())
    by_client = sum(client.kept_bytes for client in sources)
    open_of_groups = sum(job.group is not None and job.state <= GIVEN for job in keeping.by_wid.values())
    must(
        groups.open == open_of_groups, "tables", "{} of groups are open, not {}", open_of_groups, groups.open
    )
    for group in groups.by_identity.values():
        fresh = sum(job.group is group and job.wid not in worker.holds for job, worker in _given(proxy))
        must(fresh <= group.limit, "RINV-10", "{} of a group run, {} may", fresh, group.limit)
    must(kept_bytes == by_client, "tables", "{} and not {} by clients", kept_bytes, by_client)
    _check_queue(proxy)
    _check_registry(proxy, coders)


def _given(proxy: Proxy) -> Iterator[tuple[Job, Worker]]:
    for worker in proxy.registry.workers.values():
        for job in worker.jobs.values():
            yield job, worker


def _check_queue(proxy: Proxy) -> None:
    """What came back from workers may wait beyond the bound; what is new may not."""
    settings, keeping, placing = proxy.settings, proxy.keeping, proxy.placing
    fresh = sum(job.state == WAITING and not job.given for job in keeping.by_wid.values())
    must(fresh <= settings.max_queue, "RINV-13", "{} queries wait", fresh)
    biggest = max((len(job.argument) for job in keeping.by_wid.values() if job.state <= GIVEN), default=0)
    must(keeping.open_bytes <= settings.max_bytes + biggest, "RINV-13", "{} bytes wait", keeping.open_bytes)
    if not placing.waiting:
        return
    for function in proxy.registry.functions.values():
        if function.waiting.count > function.waiting.grouped:
            idle = [worker for worker in function.workers if worker.has_room]
            must(not idle, "RINV-11", "{!r} waits though there is room", function.name)
        most = settings.group_running
        if any(job.group is not None and job.group.limit == most for job in function.waiting):
            idle = [worker for worker in function.workers if worker.has_room_for_groups(function)]
            must(not idle, "RINV-11", "{!r} of a group waits though there is room", function.name)


def _check_registry(proxy: Proxy, coders: Coders) -> None:
    """All functions of a worker or none; one pair of coders for all workers of a function."""
    registry = proxy.registry
    for identity, worker in registry.workers.items():
        truth = coders.get(identity)
        if truth is not None:
            names = [function.name.decode() for function in worker.functions]
            must(names == [name for name, _, _ in truth], "RINV-9", "registered in part: {}", names)
    for function in registry.functions.values():
        for worker in function.workers:
            must(
                registry.workers.get(worker.identity) is worker,
                "RINV-9",
                "a ghost offers {!r}",
                function.name,
            )
            for name, argument, result in coders.get(worker.identity, ()):
                if name.encode() == function.name:
                    same = (argument.encode(), result.encode()) == (function.argument, function.result)
                    must(same, "RINV-9", "{!r} has other coders at one of its workers", name)


def check_idle(proxy: Proxy) -> None:
    """Everybody has what it asked for, and time has passed."""
    keeping, placing = proxy.keeping, proxy.placing
    left = {
        "open": keeping.open_jobs,
        "known": len(keeping.by_wid),
        "kept": len(keeping._kept),
        "finished": len(keeping._finished),
        "untold": len(keeping.untold),
        "open bytes": keeping.open_bytes,
        "kept bytes": keeping.kept_bytes,
        "waiting": placing.waiting,
        "for holders": len(placing._for_holders),
        "clients": len(proxy.asking.clients),
        "groups": len(proxy.asking.groups.by_identity),
        "kept of groups": len(keeping._kept_of_groups),
        "coders wanted": len(proxy.asking._coders_wanted),
    }
    must(not any(left.values()), "bounded", "the proxy has left {}", left)


def check_deserted(proxy: Proxy) -> None:
    """And all workers are gone."""
    registry = proxy.registry
    left = {
        "workers": len(registry.workers),
        "functions": len(registry.functions),
        "held": len(proxy.placing._held),
        "strangers": len(registry.strangers),
    }
    must(not any(left.values()), "bounded", "the proxy has left {}", left)


def check_client(machine: Queries) -> None:
    must(machine.pending == 0, "bounded", "a client waits for {}", machine._open)


def check_worker(bench: Workbench) -> None:
    left = (len(bench._running), len(bench._answers), len(bench._remembered), bench._kept_bytes)
    must(not any(left), "bounded", "a worker has left {} (running, answered, remembered, bytes)", left)
    must(bench.dropped == 0, "RINV-5", "a worker gave up {} answers", bench.dropped)
