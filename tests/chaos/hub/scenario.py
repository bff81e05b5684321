"""Kill what the plan says, each time while conversations are open there; then judge."""

import random
import time
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.hub.checker import CLIENT, HUB, SERVICE, Verdict, judge
from tests.chaos.hub.stage import Stage


def run(folder: Path, kinds: Sequence[str], *, seed: int = 1) -> Verdict:
    """One kill for each of ``kinds``, in this order."""
    dice = random.Random(seed)
    began = time.monotonic()
    with Stage(folder, seed=seed) as stage:
        for kind in kinds:
            _kill(stage, kind, dice)
        whole = stage.whole()
        stage.wait_for(lambda: stage.whole() > whole, "a conversation after the last kill")
        verdict = judge(stage.finish())
    for kind in kinds:
        verdict.figures[f"{kind} kills"] += 1
    verdict.figures["seconds"] = round(time.monotonic() - began)
    return verdict


def _kill(stage: Stage, kind: str, dice: random.Random) -> None:
    """Wait until things go on, and a victim has something open; kill it."""
    whole = stage.whole()
    stage.wait_for(lambda: stage.whole() > whole, "another conversation")
    time.sleep(dice.random() * 0.1)
    found: list[tuple[str, str]] = []

    def look() -> bool:
        found[:] = stage.under_way()
        return bool(found)

    stage.wait_for(look, f"something open, to kill a {kind}")
    service, client = dice.choice(found)
    stage.kill(kind, {HUB: "", SERVICE: service, CLIENT: client}[kind])
