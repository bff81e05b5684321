"""All faults by the rule that they break, and the truth about those of one journal (spec/journal.md, 9.2)."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from framehub.errors import JournalError
from framehub.journal import segments
from framehub.journal.faults import hub, mfp, recorded, rpc
from framehub.journal.faults.fault import Fault, Told
from framehub.journal.traffic import Story, World

TRUTH_FILE: Final = "truth.json"
ALL: Final = "all"
FAULTS: Final[dict[str, Told]] = {**mfp.FAULTS, **rpc.FAULTS, **hub.FAULTS, **recorded.FAULTS}


def chosen(wanted: str | Iterable[str]) -> tuple[str, ...]:
    """The rules that are named, in the catalogue's order; a text names them between commas, or is ``all``.

    Raises:
        JournalError: there is no fault of that name.
    """
    names = wanted.split(",") if isinstance(wanted, str) else list(wanted)
    names = [name.strip() for name in names if name.strip()]
    if names == [ALL]:
        return tuple(FAULTS)
    if unknown := [name for name in names if name not in FAULTS]:
        raise JournalError(f"no such rule: {', '.join(unknown)}; there are: all, {', '.join(FAULTS)}")
    return tuple(name for name in FAULTS if name in names)


class Truth:
    """The faults that were put into a journal, as their stories end."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.missing = 0
        """Numbers that no row has."""
        self.gaps: list[tuple[int, int]] = []
        """The rows beside those numbers, until whoever writes the rows has seen them."""

    def tell(self, world: World, rule: str) -> None:
        """Begin the story that breaks this rule."""
        world.tell(self._planted(world, rule))

    def _planted(self, world: World, rule: str) -> Story:
        fault = yield from FAULTS[rule](world)
        self.faults.append(fault)
        if rule == "journal-gap":
            before, after = fault.evidence
            self.missing += after - before - 1
            self.gaps.append((before, after))

    def write(self, directory: Path, *, frames: int, seed: int) -> None:
        """Write it down beside the journal, whole or not at all."""
        faults = sorted(self.faults, key=lambda fault: (fault.evidence[-1], fault.rule))
        told = {"frames": frames, "seed": seed, "faults": [_told(fault) for fault in faults]}
        segments.replace(directory / TRUTH_FILE, json.dumps(told, indent=1).encode() + b"\n")


def _told(fault: Fault) -> dict[str, object]:
    return {
        "rule": fault.rule,
        "evidence": list(fault.evidence),
        "companions": [
            {"rule": companion.rule, "evidence": list(companion.evidence)} for companion in fault.companions
        ],
    }
