"""Where the last step came to: what its manifest says, and what the next one goes on from."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from framehub.errors import PipelineError
from framehub.journal.reader import nodes as nodes_of
from framehub.journal.reader import positions, read_part, snapshot
from framehub.pipeline import schemas, snapshots
from framehub.pipeline.draft import HOT, Files, load_files
from framehub.pipeline.stages.rules import RULES

FORMAT: Final = 2
"""Of snapshots; tables of another format are made anew."""
_NEVER: Final = 2**62
"""After this row there is none."""


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
    marks: dict[str, list[int]] = field(default_factory=dict)
    """Number and times of the last row that was read of each node: what a journal that was cut has not."""

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
        marks=told["marks"],
    )


def check_same_journal(state: State, journal: Path, out: Path) -> dict[str, int]:
    """The salts of the journal's nodes, if ``out`` may go on with it.

    Raises:
        PipelineError: the tables are those of another journal, or of one that has lost rows that they know.
    """
    salts = {node.name: node.salt for node in nodes_of(journal)}
    for name, salt in salts.items():
        if state.salts.get(name, salt) != salt:
            raise PipelineError(
                f"{out} has tables of another journal with a node {name!r}: "
                "choose another directory, or begin anew with --fresh"
            )
    if state.salts and not salts.keys() & state.salts.keys():
        raise PipelineError(
            f"{out} has tables of another journal, of node {', '.join(state.salts)}: "
            "choose another directory, or begin anew with --fresh"
        )
    for name in state.marks.keys() & salts.keys():
        others = dict.fromkeys(salts.keys() - {name}, _NEVER)
        _check_mark(journal, out, name, state.marks[name], others)
    return {**state.salts, **salts}


def _check_mark(journal: Path, out: Path, node: str, mark: list[int], others: dict[str, int]) -> None:
    """Whether the last row that the tables know is still there, and the same; its segment may be gone."""
    seq = mark[0]
    parts = snapshot(journal, after={node: seq - 1, **others}, upto={node: seq})
    rows = [
        [row["seq"], row["time_ns"], row["mono_ns"]]
        for part in parts
        for batch in read_part(part, columns=["seq", "time_ns", "mono_ns"])
        for row in batch.to_pylist()
    ]
    there = positions(snapshot(journal, after=others)).get(node, 0)
    if (rows and rows != [mark]) or (not rows and 0 < there < seq):
        raise PipelineError(
            f"{journal}: node {node!r} was cut or replaced: its row {seq} is not the one that the tables "
            f"in {out} know; begin anew with --fresh"
        )


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
            "marks": state.marks,
        },
        "files": {
            name: {path: asdict(told) for path, told in kept.items()} for name, kept in state.files.items()
        },
    }
