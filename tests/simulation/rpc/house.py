"""The proxy's process: the machine, its two sockets, and what it writes down for its successor."""

from collections.abc import Callable

from framehub.rpc import texts, words
from framehub.rpc.jobs import DONE
from framehub.rpc.keeping import Sending
from framehub.rpc.proxy import Proxy
from framehub.rpc.settings import ProxySettings
from tests.simulation.rpc import tables
from tests.simulation.rpc.ledger import Ledger, must
from tests.simulation.rpc.network import Parts, Router, Sent, Timeline
from tests.simulation.rpc.process import Process


class Disk:
    """What outlives the process."""

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.roster: list[bytes] = []
        self.begun: list[bytes] = []


class House(Process):
    """One life of the proxy."""

    def __init__(
        self,
        time: Timeline,
        ledger: Ledger,
        settings: ProxySettings,
        disk: Disk,
        delay: float,
        watch: Callable[["House"], None],
    ) -> None:
        super().__init__(time, "proxy")
        self.ledger = ledger
        self.disk = disk
        self.settings = settings
        self.machine = Proxy(
            settings, key=disk.key, now=time.now, missing=disk.roster, begun_before=disk.begun
        )
        self.clients = Router(time, delay, lambda *message: self.do(self._client_says, *message), _nothing)
        self.workers = Router(
            time, delay, lambda *message: self.do(self._worker_says, *message), lambda: self.do(self._left)
        )
        self.dying = False
        """It dies as soon as it has written down what it is about to give away, before it does."""
        self._watch = watch

    def tick(self) -> None:
        self.machine.tick(self.time.now)
        self.flush()

    def die(self) -> None:
        self.alive = False
        self.clients.close()
        self.workers.close()

    def _client_says(self, identity: bytes, parts: Parts) -> None:
        self.machine.client_says(identity, parts, self.time.now)
        self.flush()

    def _worker_says(self, identity: bytes, parts: Parts) -> None:
        if parts[0] == words.QUERY_RECEIVED or parts[0] == words.QUERY_RETURNED:
            worker = self.machine.registry.workers.get(identity)
            job = worker.jobs.get(parts[1]) if worker is not None else None
            if job is not None and parts[0] == words.QUERY_RECEIVED:
                self.ledger.acknowledged(identity, job.function.decode(), job.argument)
            elif job is not None and parts[2] == words.UNSTARTED:
                self.ledger.returned(identity, job.argument)
        self.machine.worker_says(identity, parts, self.time.now)
        self.flush()

    def _left(self) -> None:
        self.machine.worker_disconnected(self.time.now)
        self.flush()

    def flush(self) -> None:
        """Write down what must be, send what there is; what cannot be sent may change what there is."""
        machine = self.machine
        for _ in range(100):
            self._write_down()
            if not self.alive:
                return
            if not machine.to_workers and not machine.to_clients:
                break
            self._send_to_workers()
            self._send_to_clients()
        else:
            must(False, "RINV-16", "the proxy does not come to an end of sending")
        machine.placing.poisonous.clear()
        self._watch(self)

    def _write_down(self) -> None:
        machine = self.machine
        if machine.working.roster_changed:
            machine.working.roster_changed = False
            self.disk.roster = machine.roster
        if machine.placing.to_note:
            self.disk.begun += machine.placing.to_note
            machine.placing.to_note.clear()
            if self.dying:
                self.ledger.counts["proxy died between writing and sending"] += 1
                self.die()

    def _send_to_workers(self) -> None:
        machine = self.machine
        if not machine.to_workers:
            return
        sending = machine.to_workers[:]
        machine.to_workers.clear()
        unreachable: Sending = []
        blocked: Sending = []
        for message in sending:
            identity, parts, job = message
            if parts[0] == words.QUERY:
                assert job is not None
                tables.check_given(machine, identity, job)
                self.ledger.given(identity, job.argument)
            sent = self.workers.send(identity, parts)
            if sent is Sent.UNREACHABLE:
                unreachable.append(message)
            elif sent is Sent.BLOCKED:
                blocked.append(message)
        if unreachable or blocked:
            self.ledger.counts["sends to workers unreachable"] += len(unreachable)
            self.ledger.counts["sends to workers blocked"] += len(blocked)
            machine.undelivered(unreachable, blocked, self.time.now)

    def _send_to_clients(self) -> None:
        machine = self.machine
        if not machine.to_clients:
            return
        sending = machine.to_clients[:]
        machine.to_clients.clear()
        blocked: Sending = []
        for identity, parts, job in sending:
            type_ = parts[0]
            if type_ == words.QUERY_RECEIVED:
                must(self.settings.acknowledge, "RINV-13", "acknowledged though that is switched off")
                must(job is not None, "RINV-13", "acknowledged and not known: {}", parts)
            elif type_ == words.RESPONSE_EXCEPTION and parts[2].startswith(texts.BUSY):
                known = machine.asking._known(machine.asking.clients[identity], parts[1])
                must(known is None, "RINV-13", "busy, but taken: {}", parts)
            elif job is not None and job.state == DONE:
                must(job.answer is not None, "RINV-5", "{} is not kept", parts)
            sent = self.clients.send(identity, parts)
            if sent is Sent.BLOCKED:
                blocked.append((identity, parts, job))
        if blocked:
            self.ledger.counts["sends to clients blocked"] += len(blocked)
            machine.untold(blocked)


def _nothing() -> None:
    """A client that left: nobody asks."""
