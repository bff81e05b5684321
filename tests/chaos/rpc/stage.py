"""The processes of one run: a proxy, workers, drivers; started, killed and started again."""

import json
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
from framehub.journal.rpc_rows import split
from tests.chaos.rpc.checker import CLIENT, PROXY, WORKER, Evidence, JournalRow, in_flight
from tests.chaos.rpc.ledger import Ledger, Record, digest, read

ROOT: Final = Path(__file__).parents[3]
LIMIT: Final = 100.0
"""Seconds after which something that should come is taken for lost."""
FREE: Final = "127.0.0.1:0"

Process = subprocess.Popen[str]


class Stage:
    """Everything in one folder; ``with`` it, so that nothing is left behind."""

    def __init__(self, folder: Path, *, workers: int = 3, drivers: int = 2, seed: int = 1) -> None:
        self.folder = folder
        self.seed = seed
        self.proxy: Process
        self.workers: list[Process] = []
        self.drivers: dict[str, Process] = {}
        """Those that live, by name."""
        self.names: list[str] = []
        """Of all drivers, dead ones too."""
        self.starts: list[int] = []
        self._counts = (workers, drivers)
        self._all: list[Process] = []
        self._addresses = {"clients": FREE, "workers": FREE}
        for part in ("logs", "ledgers"):
            (folder / part).mkdir()
        self._deaths = Ledger(folder / "deaths")
        self._errors = (folder / "stderr").open("a")

    def __enter__(self) -> Self:
        try:
            self.start_proxy()
            workers, drivers = self._counts
            for _ in range(workers):
                self.start_worker()
            self.wait_for_workers()
            for _ in range(drivers):
                self.start_driver()
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

    def start_proxy(self) -> None:
        """At the addresses it had before, on the state it left; the dead hold no port."""
        options = [f"--{side}={address}" for side, address in self._addresses.items()]
        command = [
            str(Path(sys.executable).with_name("framehub")),
            "serve",
            "--listen",
            FREE,
            "--services",
            "off",
            "--admin",
            "off",
            *options,
        ]
        self.proxy = self._start(*command, "--journal", str(self.folder / "journal"))
        assert self.proxy.stdout is not None
        line = self.proxy.stdout.readline()
        assert line.startswith("ready "), (line, self.errors())
        told = dict(word.split("=", 1) for word in line.split()[1:])
        self._addresses = {side: told[side].removeprefix("tcp://") for side in self._addresses}

    def start_worker(self) -> None:
        self.workers.append(self._start(sys.executable, "-m", "tests.chaos.rpc.jobs"))

    def start_driver(self) -> None:
        name = f"d{len(self.names)}"
        self.names.append(name)
        address = f"tcp://{self._addresses['clients']}"
        program = [sys.executable, "-m", "tests.chaos.rpc.driver"]
        self.drivers[name] = self._start(
            *program, address, str(self.folder / "ledgers" / name), name, str(self.seed)
        )

    def kill(self, kind: str, pid: int, name: str = "") -> Record:
        """kill -9, and start another at once where that is for us to do; what was written down of it."""
        killed = monotonic_ns()
        os.kill(pid, signal.SIGKILL)
        if kind == PROXY:
            self.proxy.wait()
        elif kind == WORKER:
            (process,) = (process for process in self.workers if process.pid == pid)
            process.wait()
            self.workers.remove(process)
        elif kind == CLIENT:
            self.drivers.pop(name).wait()
        self.wait_for(lambda: not _lives(pid), f"the end of {pid}")
        self.wait_for(lambda: not any(map(_lives, self._children(pid))), f"the end of the children of {pid}")
        about = {"kind": kind, "pid": pid, "name": name, "killed": killed}
        hit = in_flight(about, self.logs(), read(self.folder / "deaths"))
        self._deaths.note("died", **about, hit=hit)
        if kind == PROXY:
            self.starts.append(monotonic_ns())
            self.start_proxy()
        elif kind == WORKER:
            self.start_worker()
        elif kind == CLIENT:
            self.start_driver()
        return read(self.folder / "deaths")[-1]

    def _children(self, parent: int) -> set[int]:
        return {record["pid"] for log in self.logs() for record in log if record["parent"] == parent}

    def _start(self, *command: str) -> Process:
        env = {
            **os.environ,
            "CHAOS_LOGS": str(self.folder / "logs"),
            "FRAMEHUB_WORKERS": f"tcp://{self._addresses['workers']}",
        }
        process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        self._all.append(process)
        return process

    # --- look --------------------------------------------------------------------------------------------

    def logs(self) -> list[list[Record]]:
        """What workers wrote down so far."""
        return [read(path) for path in sorted((self.folder / "logs").iterdir())]

    def answered(self) -> int:
        """Answers that drivers have."""
        ledgers = [path.read_bytes() for path in (self.folder / "ledgers").iterdir()]
        return sum(ledger.count(b'"what": "result"') + ledger.count(b'"what": "error"') for ledger in ledgers)

    def under_way(self) -> list[Record]:
        """Executions that have begun and not ended, of processes that live."""
        parents = {process.pid for process in self.workers}
        found = []
        for log in self.logs():
            ended = {record["op"] for record in log if record["what"] == "ended"}
            began = [record for record in log if record["what"] == "began" and record["op"] not in ended]
            found += [record for record in began if record["parent"] in parents and _lives(record["pid"])]
        return found

    def wait_for_workers(self) -> None:
        """Until as many are registered as there should be."""

        def registered() -> bool:
            with suppress(framehub.RemoteTimeout):
                return any(entry["workers"] >= len(self.workers) for entry in asking.list(timeout=1))
            return False

        with framehub.Functions.blocking(f"tcp://{self._addresses['clients']}") as asking:
            self.wait_for(registered, "all workers")

    def wait_for(self, condition: Callable[[], bool], what: str) -> None:
        until = time.monotonic() + LIMIT
        while not condition():
            assert time.monotonic() < until, f"{what} did not come: {self.errors()}"
            time.sleep(0.02)

    def errors(self) -> str:
        """What all processes said on stderr, the last of it."""
        return (self.folder / "stderr").read_text()[-3_000:]

    # --- the end -----------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Let drivers have their answers, workers their last words, and the proxy seal its journal."""
        ledgers = [self.folder / "ledgers" / name for name in self.drivers]
        self.wait_for(lambda: all(path.exists() and path.stat().st_size for path in ledgers), "all drivers")
        self.wait_for_workers()
        for processes in (self.drivers.values(), self.workers, (self.proxy,)):
            for process in processes:
                process.send_signal(signal.SIGTERM)
            for process in processes:
                assert process.wait(LIMIT) == 0, self.errors()

    def evidence(self) -> Evidence:
        return Evidence(
            drivers={name: read(self.folder / "ledgers" / name) for name in self.names},
            logs=self.logs(),
            deaths=read(self.folder / "deaths"),
            journal=journal_of(self.folder / "journal"),
            starts=self.starts,
        )


def journal_of(path: Path) -> list[JournalRow]:
    """All rows, and whether any is missing."""
    report = reader.check(path)
    assert report.clean, report
    columns = ["seq", "mono_ns", "direction", "kind", "exchange", "raw"]
    return [_row(row) for batch in reader.read(path, columns=columns) for row in batch.to_pylist()]


def _row(row: Record) -> JournalRow:
    op = told = ""
    if row["kind"] == "query":
        argument = split(row["raw"])[3]
        op, told = json.loads(argument)[0], digest(argument)
    elif row["kind"] == "result":
        told = digest(json.loads(split(row["raw"])[3]).encode())
    return JournalRow(
        row["seq"], row["mono_ns"], row["direction"], row["kind"], row["exchange"] or b"", op, told
    )


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
