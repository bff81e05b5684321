"""Attacks on a gateway with twenty honest clients: its memory, and what the honest ones notice.

The attacks are those of tests/attacks; FRAMEHUB_ATTACKS=full throws them as often as their tests say, which
takes some minutes. Each is thrown again and again for some seconds. Memory is the largest that the gateway
had, above what it had before; latency is that of honest requests, as a ratio to a run without any attack.
"""

import asyncio
import json
import resource
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks.report import Report
from tests.attacks import thrown_at_mfp, thrown_at_sockets
from tests.attacks.arena import FULL, MIB, NOISE, PER_SECOND, Arena, Attack, Siege

SECONDS = 3.0
WANTED_MS = 250.0
"""99 of 100 honest requests, during any attack."""


def p99(siege: Siege) -> float:
    """Milliseconds."""
    waits = sorted(siege.waits)
    return waits[int(len(waits) * 0.99)] * 1e3


async def besiege(arena: Arena, attack: Attack | None) -> Siege:
    """Throw it, or nothing, for some seconds."""
    async with arena.besieged() as siege:
        until = monotonic() + SECONDS
        while attack is not None and (not siege.seen or monotonic() < until):
            siege.seen += await attack.throw(arena.port, attack.count)
        if attack is None:
            await asyncio.sleep(SECONDS)
    return siege


def seen(found: Counter[object]) -> str:
    return ", ".join(f"{what}: {count:,}" for what, count in sorted(found.items(), key=str))


def line(name: str, siege: Siege, allowed: float, quiet: float) -> str:
    return (
        f"{name:44} {siege.grown / MIB:6.1f} of {allowed / MIB:6.1f}   {p99(siege) / quiet:6.1f}"
        f"   {siege.done['requests']:>7,}   {seen(siege.seen)}"
    )


def main(report: Report) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    worst = 0.0
    with ExitStack() as stack:
        arenas: dict[str, Arena] = {}

        def arena(settings: Mapping[str, Any]) -> Arena:
            name = json.dumps(dict(settings))
            if name not in arenas:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                arenas[name] = Arena(folder, settings)
                stack.callback(arenas[name].close)
            return arenas[name]

        quiet = asyncio.run(besiege(arena({}), None))
        base = p99(quiet)
        report.say("counts in full" if FULL else "counts scaled down: FRAMEHUB_ATTACKS=full for all of them")
        report.say(f"{'attack':44} {'MiB of allowed':16}   p99, x   requests   seen by the attacker")
        report.say(line("none", quiet, NOISE + PER_SECOND * quiet.seconds, base))
        for attack in (*thrown_at_mfp.ALL, *thrown_at_sockets.ALL):
            siege = asyncio.run(besiege(arena(attack.settings), attack))
            bound = attack.bound(attack.count)
            allowed = bound + NOISE + PER_SECOND * siege.seconds
            if siege.failures:
                raise RuntimeError(f"{attack.name}: honest clients failed: {siege.failures}")
            mark = report.at_most(f"{attack.name}: memory", siege.grown / MIB, allowed / MIB, "MiB")
            report.say(f"{line(attack.name, siege, allowed, base)}   {mark}")
            worst = max(worst, p99(siege))
    report.at_most("honest requests during the worst attack, 99 of 100", worst, WANTED_MS, "ms")
