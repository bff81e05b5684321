"""A gateway whose peers reset their connections, thousands of times, while its queues are full."""

import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from framehub.errors import RemoteCallError
from framehub.runtime.curve import CurveClient, new_keys
from framehub.runtime.functions import Functions

PATIENCE = 60.0
SIDES = ("clients", "workers", "services")
"""Where the flood goes, in the order of its roles."""


@dataclass
class Verdict:
    """What came of it."""

    resets: int
    calls: int
    """Of an honest client that were answered, each right; the last of them after the flood."""
    refused: int
    """Those that were not: the flood asks for the same function, and takes the machine's time."""
    problem: str
    seconds: float


def run(
    folder: Path,
    *,
    resets: int,
    keyed: bool,
    seed: int,
    jobs: int = 2,
    tell: Callable[[int], None] = lambda _done: None,
) -> Verdict:
    """Start a gateway and a worker, have ``jobs`` processes reset connections, call a function meanwhile."""
    began = time.monotonic()
    options: list[str] = []
    client: list[str] = []
    curve = None
    if keyed:
        pairs = {name: new_keys() for name in ("gateway", "peer")}
        for name, (public, secret) in pairs.items():
            (folder / f"{name}.pub").write_text(public + "\n")
            (folder / name).write_text(secret + "\n")
            (folder / name).chmod(0o600)
        allowed = folder / "peer.pub"
        options = ["--curve-key", str(folder / "gateway")]
        for side in ("service", "client", "worker"):
            options += [f"--{side}-keys", str(allowed)]
        client = ["--curve-key", str(folder / "peer"), "--server-key", str(folder / "gateway.pub")]
        curve = CurveClient(pairs["gateway"][0], pairs["peer"][1])
    free = [word for side in ("listen", *SIDES) for word in (f"--{side}", "127.0.0.1:0")]
    command = [sys.executable, "-m", "framehub", "serve", *free, "--admin", "off", "--no-journal", *options]
    with (folder / "gateway.log").open("w") as log:
        gateway = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder)
    others: list[subprocess.Popen[str]] = []
    try:
        assert gateway.stdout is not None
        ready = gateway.stdout.readline()
        ports = dict(re.findall(r"(\w+)=tcp://127.0.0.1:(\d+)", ready))
        worker = [sys.executable, "-m", "framehub", "worker", "framehub.gateway.sample_functions:worker"]
        worker += ["--connect", f"tcp://127.0.0.1:{ports['workers']}", *client]
        with (folder / "worker.log").open("w") as log:
            others.append(subprocess.Popen(worker, stdout=log, stderr=log, text=True, cwd=folder))
        flooders: list[subprocess.Popen[str]] = []
        for job in range(jobs):
            words = [str(resets // jobs), str(seed + job), str(folder) if keyed else "-"]
            flood = [
                sys.executable,
                "-m",
                "tests.chaos.resets.flood",
                *words,
                *(ports[side] for side in SIDES),
            ]
            with (folder / f"flood{job}.log").open("w") as log:
                flooders.append(subprocess.Popen(flood, stdout=log, text=True))
        others += flooders
        calls, refused, problem = 0, 0, ""
        calm_at = None
        with Functions.blocking(f"tcp://127.0.0.1:{ports['clients']}", curve=curve) as functions:
            while not problem and gateway.poll() is None:
                if calm_at is None and all(flooder.poll() is not None for flooder in flooders):
                    calm_at = time.monotonic()
                try:
                    found = functions.call("math.factor", 12 + calls, timeout=PATIENCE)
                except RemoteCallError as exc:
                    refused += 1
                    if calm_at is not None and time.monotonic() > calm_at + PATIENCE:
                        problem = f"no call is answered after the flood: {exc}"
                    time.sleep(0.2)
                    continue
                product = 1
                for each in found:
                    product *= each
                if product != 12 + calls:
                    problem = f"factor({12 + calls}) gave {found}"
                calls += 1
                tell(_done(folder, jobs))
                if calm_at is not None:
                    break
                time.sleep(0.2)
        done = _done(folder, jobs)
        if not problem and done != resets // jobs * jobs:
            problem = f"only {done} of {resets} peers came"
        if not problem and gateway.poll() is not None:
            said = (folder / "gateway.log").read_text()[-500:]
            problem = f"the gateway ended with {gateway.returncode}: {said}"
        return Verdict(done, calls, refused, problem, time.monotonic() - began)
    finally:
        for process in (*others, gateway):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()


def _done(folder: Path, jobs: int) -> int:
    """How many connections were reset so far."""
    done = 0
    for job in range(jobs):
        with (folder / f"flood{job}.log").open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - 40))
            lines = file.read().decode().split("\n")[:-1]
        done += int(lines[-1]) if lines else 0
    return done
