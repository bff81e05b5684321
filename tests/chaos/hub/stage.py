"""The processes of one run: a hub, services, clients; started, killed and started again."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic_ns
from typing import Final, Self

import framehub
from framehub.journal import reader
from tests.chaos.hub.checker import CLIENT, HUB, SERVICE, Evidence
from tests.chaos.hub.service import NUMBER
from tests.chaos.rpc.ledger import Ledger, Record, read
from tests.spark.oracle import audit_hub
from tests.spark.oracle.audit import by_exchange, seqs
from tests.spark.oracle.reading import Journal

ROOT: Final = Path(__file__).parents[3]
LIMIT: Final = 100.0
"""Seconds after which something that should come is taken for lost."""
FREE: Final = "127.0.0.1:0"

Process = subprocess.Popen[str]


class Stage:
    """Everything in one folder; ``with`` it, so that nothing is left behind."""

    def __init__(self, folder: Path, *, services: int = 3, clients: int = 3, seed: int = 1) -> None:
        self.folder = folder
        self.seed = seed
        self.hub: Process
        self.services: dict[str, Process] = {}
        self.clients: dict[str, Process] = {}
        """Those that live, by name."""
        self._started = {SERVICE: 0, CLIENT: 0}
        self._counts = (services, clients)
        self._all: list[Process] = []
        self._addresses = {"listen": FREE, "services": FREE}
        (folder / "ledgers").mkdir()
        self._deaths = Ledger(folder / "deaths")
        self._errors = (folder / "stderr").open("a")

    def __enter__(self) -> Self:
        try:
            self.start_hub()
            services, clients = self._counts
            for _ in range(services):
                self.start_service()
            asyncio.run(asyncio.wait_for(self._offered(), LIMIT))
            for _ in range(clients):
                self.start_client()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._all:
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
        self._deaths.close()
        self._errors.close()

    # --- start and kill ---------------------------------------------------------------------------------

    def start_hub(self) -> None:
        """At the addresses it had before; the dead hold no port."""
        command = [str(Path(sys.executable).with_name("framehub")), "serve", "--clients=off", "--workers=off"]
        command.append("--admin=off")
        command += [f"--{side}={address}" for side, address in self._addresses.items()]
        self.hub = self._start(*command, "--journal", str(self.folder / "journal"))
        assert self.hub.stdout is not None
        line = self.hub.stdout.readline()
        assert line.startswith("ready "), (line, self.errors())
        told = dict(word.split("=", 1) for word in line.split()[1:])
        self._addresses = {
            "listen": told["hub"].removeprefix("ws://").removesuffix("/hub"),
            "services": told["services"].removeprefix("tcp://"),
        }

    def start_service(self) -> None:
        name = self._name(SERVICE)
        address = f"tcp://{self._addresses['services']}"
        self.services[name] = self._start(
            sys.executable, "-m", "tests.chaos.hub.service", address, str(self.folder / "ledgers" / name)
        )

    async def _offered(self) -> None:
        """Until a service is there for the first clients: nobody has died yet who could excuse it."""
        async with framehub.HubClient(self._url) as hub:
            while True:
                with suppress(framehub.HubStreamError):
                    await hub.interface(service=NUMBER)
                    return
                await asyncio.sleep(0.05)

    @property
    def _url(self) -> str:
        return f"ws://{self._addresses['listen']}/hub"

    def start_client(self) -> None:
        name = self._name(CLIENT)
        program = [sys.executable, "-m", "tests.chaos.hub.client"]
        ledger = str(self.folder / "ledgers" / name)
        self.clients[name] = self._start(*program, self._url, ledger, name, str(self.seed))

    def kill(self, kind: str, name: str = "") -> None:
        """kill -9, and start another at once."""
        process = self.hub if kind == HUB else (self.services if kind == SERVICE else self.clients).pop(name)
        killed = monotonic_ns()
        self._deaths.note("died", kind=kind, name=name, killed=killed)
        process.kill()
        process.wait()
        {HUB: self.start_hub, SERVICE: self.start_service, CLIENT: self.start_client}[kind]()

    def _name(self, kind: str) -> str:
        self._started[kind] += 1
        return f"{kind[0]}{self._started[kind]}"

    def _start(self, *command: str) -> Process:
        process = subprocess.Popen(
            command, cwd=ROOT, env=dict(os.environ), stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        self._all.append(process)
        return process

    # --- look --------------------------------------------------------------------------------------------

    def ledger(self, name: str) -> list[Record]:
        path = self.folder / "ledgers" / name
        return read(path) if path.exists() else []

    def whole(self) -> int:
        """Conversations that went well."""
        files = (self.folder / "ledgers").glob("c*")
        return sum(path.read_bytes().count(b'"what": "done"') for path in files)

    def under_way(self) -> list[tuple[str, str]]:
        """Conversations that are open, by service and client, of those that live."""
        found = []
        for name in self.services:
            ledger = self.ledger(name)
            ended = {record["op"] for record in ledger if record["what"] == "ended"}
            began = [record["op"] for record in ledger if record["what"] == "opened"]
            found += [(name, op.split("-")[0]) for op in began if op not in ended]
        return [(service, client) for service, client in found if client in self.clients]

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        until = time.monotonic() + LIMIT
        while not condition():
            assert time.monotonic() < until, f"{what} did not come: {self.errors()}"
            time.sleep(0.02)

    def errors(self) -> str:
        """What all processes said on stderr, the last of it."""
        return (self.folder / "stderr").read_text()[-3_000:]

    # --- the end -----------------------------------------------------------------------------------------

    def finish(self) -> Evidence:
        """Let clients finish; then nothing may be open anywhere, and the hub stops at once."""
        self.wait_for(lambda: all(map(self.ledger, self.clients)), "the first words of all clients")
        self._stop(self.clients)
        self.wait_for(lambda: not any(map(self._open, self.services)), "the end of all conversations")
        self._errors.flush()
        before = len((self.folder / "stderr").read_text())
        self._stop({"hub": self.hub})
        said = (self.folder / "stderr").read_text()[before:]
        self._stop(self.services)
        names = [path.name for path in (self.folder / "ledgers").iterdir()]
        batches = reader.read(self.folder / "journal")
        journal = Journal(row for batch in batches for row in batch.to_pylist())
        return Evidence(
            clients={name: self.ledger(name) for name in names if name.startswith("c")},
            services={name: self.ledger(name) for name in names if name.startswith("s")},
            deaths=read(self.folder / "deaths"),
            breaches=[
                f"{breach.rule} {seqs(breach.evidence)}"
                for breach, _ in by_exchange("hub", audit_hub.RULES, journal)
            ],
            said="".join(line for line in said.splitlines() if "under way" in line),
        )

    def _open(self, name: str) -> bool:
        ledger = self.ledger(name)
        said = [record["what"] for record in ledger]
        return said.count("opened") > said.count("ended")

    def _stop(self, processes: dict[str, Process]) -> None:
        for process in processes.values():
            process.send_signal(signal.SIGTERM)
        for name, process in processes.items():
            assert process.wait(LIMIT) == 0, (name, self.errors())
