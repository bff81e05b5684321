"""Kill what the plan says, each time while something is under way there; then judge."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.rpc.checker import CHILD, CLIENT, PROXY, WORKER, Verdict, judge
from tests.chaos.rpc.ledger import Record
from tests.chaos.rpc.stage import Stage


def run(folder: Path, kinds: Sequence[str], *, seed: int = 1) -> Verdict:
    """One kill for each of ``kinds``, in this order; kills that hit nothing are done again."""
    dice = random.Random(seed)
    kills: Counter[str] = Counter()
    began = time.monotonic()
    with Stage(folder, drivers=2 if CLIENT not in kinds else 3, seed=seed) as stage:
        for kind in kinds:
            hit = 0
            while not hit:
                hit = _kill(stage, kind, dice)["hit"]
                kills[f"{kind} kills with something in flight"] += hit > 0
                kills["in flight at kills"] += hit
        answered = stage.answered()
        stage.wait_for(lambda: stage.answered() > answered, "an answer after the last kill")
        stage.finish()
        verdict = judge(stage.evidence())
    verdict.figures.update(kills)
    verdict.figures["seconds"] = round(time.monotonic() - began)
    return verdict


def _kill(stage: Stage, kind: str, dice: random.Random) -> Record:
    """Wait until things go on, and a victim has something under way; kill it."""
    answered = stage.answered()
    stage.wait_for(lambda: stage.answered() > answered, "another answer")
    if kind == WORKER:
        stage.wait_for_workers()
    time.sleep(dice.random() * 0.1)
    found: list[Record] = []

    def look() -> bool:
        found[:] = stage.under_way()
        if kind == CLIENT:
            found[:] = [record for record in found if record["op"].split("-")[0] in stage.drivers]
        return bool(found)

    stage.wait_for(look, f"something under way, to kill a {kind}")
    victim = dice.choice(found)
    if kind == PROXY:
        return stage.kill(PROXY, stage.proxy.pid)
    if kind == WORKER:
        return stage.kill(WORKER, victim["parent"])
    if kind == CHILD:
        return stage.kill(CHILD, victim["pid"])
    name = victim["op"].split("-")[0]
    return stage.kill(CLIENT, stage.drivers[name].pid, name)
