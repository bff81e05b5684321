"""A gateway and a worker in processes of their own, for DataFrames to call."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FRAMEHUB = str(Path(sys.executable).with_name("framehub"))
_ANY = "127.0.0.1:0"


class Offering:
    """Where clients connect, and how to start workers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clients = self.workers = ""
        self.processes: list[subprocess.Popen[str]] = []

    def serve(self, clients: str = _ANY, workers: str = _ANY) -> "subprocess.Popen[str]":
        words = ["serve", "--listen", _ANY, "--services", _ANY, "--clients", clients, "--workers", workers]
        process, line = self._start(*words, "--admin", "off", "--journal", str(self.folder / "journal"))
        places = dict(word.split("=", 1) for word in line.split()[1:])
        self.clients, self.workers = places["clients"], places["workers"]
        return process

    def work(self, module: str, *more: str) -> "subprocess.Popen[str]":
        return self._start("worker", f"{module}:worker", "--connect", self.workers, *more)[0]

    def _start(self, *words: str) -> tuple["subprocess.Popen[str]", str]:
        env = {**os.environ, "PYTHONWARNINGS": "ignore", "FOLDER": str(self.folder)}
        process = subprocess.Popen(
            [FRAMEHUB, *words], stdout=subprocess.PIPE, text=True, cwd=self.folder, env=env, bufsize=1
        )
        self.processes.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("ready "), line
        return process, line

    def close(self) -> None:
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            assert process.stdout is not None
            process.stdout.close()


@contextmanager
def offering(folder: Path, functions: str, *more: str) -> Iterator[Offering]:
    """A gateway with one worker of these functions, a module's text that defines ``worker``."""
    (folder / "offered.py").write_text(functions)
    made = Offering(folder)
    try:
        made.serve()
        made.work("offered", *more)
        yield made
    finally:
        made.close()
