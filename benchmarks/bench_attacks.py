"""Attacks on a gateway with twenty honest clients: its memory, and what the honest ones notice.

The attacks are those of tests/attacks; FRAMEHUB_ATTACKS=full throws them as often as their tests say, which
takes some minutes. Each is thrown again and again for some seconds. Memory is the largest that the gateway
had, above what it had before; latency is that of honest requests and calls, as a ratio to a run without any
attack.
"""

import asyncio
import json
import resource
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks import guessing
from benchmarks.report import Report
from tests.attacks import (
    busy,
    hub_thrown,
    hub_thrown_at_router,
    rpc_arena,
    rpc_thrown,
    thrown_at_mfp,
    thrown_at_sockets,
)
from tests.attacks.arena import FULL, MIB, NOISE, PER_SECOND, Arena, Attack, Siege
from tests.attacks.busy import A, BusyAttack, BusySiege
from tests.attacks.hub_arena import HubArena
from tests.attacks.rpc_arena import RpcArena

MEASURES = (
    "src/framehub/gateway",
    "src/framehub/hub",
    "src/framehub/mfp",
    "src/framehub/rpc",
    "src/framehub/runtime",
)

SECONDS = 3.0
WANTED_MS = 250.0
"""99 of 100 honest requests, during any attack."""


def p99(siege: Siege | BusySiege) -> float:
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


def line(name: str, siege: Siege | BusySiege, allowed: float, quiet: float) -> str:
    done = siege.done["requests"] if isinstance(siege, Siege) else len(siege.waits)
    return (
        f"{name:44} {siege.grown / MIB:6.1f} of {allowed / MIB:6.1f}   {p99(siege) / quiet:6.1f}"
        f"   {done:>7,}   {seen(siege.seen)}"
    )


async def besiege_busy(arena: A, attack: BusyAttack[A] | None) -> BusySiege:
    """The same where the honest work on and on."""
    async with arena.attacked() as siege:
        until = monotonic() + SECONDS
        while attack is not None and (not siege.seen or monotonic() < until):
            siege.seen += await attack.throw(arena, attack.count)
            await arena.calm()
        if attack is None:
            await asyncio.sleep(SECONDS)
    return siege


def all_of(report: Report, what: str, arena: A, attacks: Iterable[BusyAttack[A]]) -> float:
    """The worst latency of the honest during these attacks, in milliseconds."""
    worst = 0.0
    try:
        quiet = asyncio.run(besiege_busy(arena, None))
        base = p99(quiet)
        report.say(line(f"none, {what}", quiet, busy.NOISE, base))
        for attack in attacks:
            siege = asyncio.run(besiege_busy(arena, attack))
            allowed = attack.allowed + busy.NOISE + busy.PER_SECOND * siege.seconds
            if siege.failures:
                raise RuntimeError(f"{attack.name}: honest peers failed: {siege.failures}")
            mark = report.at_most(f"{attack.name}: memory", siege.grown / MIB, allowed / MIB, "MiB")
            report.say(f"{line(attack.name, siege, allowed, base)}   {mark}")
            worst = max(worst, p99(siege))
    finally:
        arena.close()
    return worst


def main(report: Report) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    worst = 0.0
    with ExitStack() as stack:
        arenas: dict[str, Arena] = {}

        def arena(settings: Mapping[str, Any], *, tokens: bool = False) -> Arena:
            name = f"{json.dumps(dict(settings))} {tokens}"
            if name not in arenas:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                arenas[name] = Arena(folder, settings, tokens=tokens)
                stack.callback(arenas[name].close)
            return arenas[name]

        quiet = asyncio.run(besiege(arena({}), None))
        base = p99(quiet)
        report.say("counts in full" if FULL else "counts scaled down: FRAMEHUB_ATTACKS=full for all of them")
        report.say(f"{'attack':44} {'MiB of allowed':16}   p99, x   requests   seen by the attacker")
        report.say(line("none", quiet, NOISE + PER_SECOND * quiet.seconds, base))
        for attack in (*thrown_at_mfp.ALL, *thrown_at_sockets.ALL):
            siege = asyncio.run(besiege(arena(attack.settings, tokens=attack.tokens), attack))
            bound = attack.bound(attack.count)
            allowed = bound + NOISE + PER_SECOND * siege.seconds
            if siege.failures:
                raise RuntimeError(f"{attack.name}: honest clients failed: {siege.failures}")
            mark = report.at_most(f"{attack.name}: memory", siege.grown / MIB, allowed / MIB, "MiB")
            report.say(f"{line(attack.name, siege, allowed, base)}   {mark}")
            worst = max(worst, p99(siege))
    report.at_most("honest requests during the worst attack, 99 of 100", worst, WANTED_MS, "ms")
    with tempfile.TemporaryDirectory() as folder:
        arena_of_functions = RpcArena(Path(folder), rpc_arena.QUICK)
        worst = all_of(report, "remote functions", arena_of_functions, rpc_thrown.ALL)
    report.at_most("honest calls during the worst attack, 99 of 100", worst, WANTED_MS, "ms")
    with tempfile.TemporaryDirectory() as folder:
        attacks = (*hub_thrown.BY_CLIENTS, *hub_thrown_at_router.AT_ROUTER)
        worst = all_of(report, "hub", HubArena(Path(folder)), attacks)
    report.at_most("honest streams during the worst attack, 99 of 100", worst, WANTED_MS, "ms")
    guess(report)


def guess(report: Report) -> None:
    """T31: whether the time of a refusal tells how much of a token was right."""
    with tempfile.TemporaryDirectory() as folder:
        found = guessing.measure(Path(folder))
    report.say(f"T31: {guessing.SAMPLES:,} refusals in all, each group timed among the others")
    for name, group in found.items():
        report.say(f"{name:44} {group.median_ns:8,.0f} ns   t {group.t:+.2f}")
    worst = max(abs(group.t) for group in found.values())
    report.at_most("T31 tokens, guessed by time: |t|", worst, guessing.WANTED_T, "")
