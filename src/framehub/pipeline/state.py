"""Where the last step came to: what its manifest says, and what the next one goes on from."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from framehub.errors import PipelineError
from framehub.journal.reader import nodes as nodes_of
from framehub.pipeline import schemas, snapshots
from framehub.pipeline.draft import HOT, Files, load_files
from framehub.pipeline.stages.rules import RULES

FORMAT: Final = 1
"""Of snapshots; tables of another format are made anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Where the last step came to."""

    snapshot: Path | None = None
    commit: int = 0
    nodes: dict[str, int] = field(default_factory=dict)
    """The last row of each node that was asked for."""
    last_rows: dict[str, int] = field(default_factory=dict)
    """The last one that could be read."""
    horizons: dict[str, int] = field(default_factory=dict)
    """The latest time of any row, in nanoseconds."""
    salts: dict[str, int] = field(default_factory=dict)
    """What tells a node's journal from another of the same name."""
    files: dict[str, Files] = field(default_factory=lambda: {name: {} for name in schemas.TABLES})
    damaged: list[str] = field(default_factory=list)
    """Sealed segments that are not as they were sealed."""
    damage: list[str] = field(default_factory=list)
    """What the journal has lost, in words."""

    @property
    def rows(self) -> dict[str, int]:
        """Rows of each table."""
        return {name: sum(told.rows for told in kept.values()) for name, kept in self.files.items()}

    @property
    def generations(self) -> list[str]:
        """Generations of settled exchanges."""
        return sorted({told.generation for told in self.files["exchanges"].values()} - {HOT})

    def paths(self, table: str, generations: set[str]) -> list[str]:
        """Files of a table in these generations."""
        return [path for path, told in self.files[table].items() if told.generation in generations]


def load_state(out: Path) -> State:
    """Where the last step came to; a fresh state if there was none, or one of another format.

    Raises:
        PipelineError: its manifest cannot be read.
    """
    found = snapshots.load(out)
    if found is None or found[1].get("format") != FORMAT:
        return State()
    path, manifest = found
    told = manifest["state"]
    return State(
        snapshot=path,
        commit=manifest["commit"],
        nodes=manifest["nodes"],
        last_rows=told["last_rows"],
        horizons=told["horizons"],
        salts=told["salts"],
        files=load_files(manifest),
        damaged=told["damaged"],
        damage=manifest["damage"],
    )


def check_same_journal(state: State, journal: Path, out: Path) -> dict[str, int]:
    """The salts of the journal's nodes, if ``out`` may go on with it.

    Raises:
        PipelineError: the tables are those of another journal.
    """
    salts = {node.name: node.salt for node in nodes_of(journal)}
    for name, salt in salts.items():
        if state.salts.get(name, salt) != salt:
            raise PipelineError(
                f"{out} has tables of another journal with a node {name!r}: "
                "choose another directory, or begin anew with --fresh"
            )
    return {**state.salts, **salts}


def manifest_of(journal: Path, state: State, *, seconds: float) -> dict[str, Any]:
    """What is written beside the tables."""
    assert state.snapshot is not None
    return {
        "format": FORMAT,
        "journal": str(journal.absolute()),
        "snapshot": state.snapshot.name,
        "commit": state.commit,
        "nodes": state.nodes,
        "rows": state.rows,
        "damage": state.damage,
        "seconds": round(seconds, 3),
        "rules": {rule.name: rule.sentence for rule in RULES},
        "columns": schemas.described(),
        "state": {
            "last_rows": state.last_rows,
            "horizons": state.horizons,
            "salts": state.salts,
            "damaged": state.damaged,
        },
        "files": {
            name: {path: asdict(told) for path, told in kept.items()} for name, kept in state.files.items()
        },
    }
