"""What a ledger of acknowledgements and a journal say of each other (spec/journal.md, section 7.6)."""

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple


class Note(NamedTuple):
    """One message in the ledger: what was sent, and acknowledged after its row was durable."""

    op: str
    payload: str


class Found(NamedTuple):
    """One message in the journal; ``op`` is None on rows about something else."""

    seq: int
    op: str | None
    payload: str


def digest(payload: bytes) -> str:
    """What stands for a payload in ledgers."""
    return sha256(payload).hexdigest()


def judge(ledger: Sequence[Note], sent: Sequence[Note], rows: Sequence[Found]) -> list[str]:
    """Everything that is wrong, in words.

    ``ledger`` has what was acknowledged, ``sent`` all that was ever sent.
    """
    problems = []
    for place, row in enumerate(rows, 1):
        if row.seq != place:
            problems.append(f"row {place} has the number {row.seq}")
            break
    recorded: dict[str, str] = {}
    for row in rows:
        if row.op is not None:
            if row.op in recorded:
                problems.append(f"{row.op} is in the journal twice")
            recorded[row.op] = row.payload
    for note in ledger:
        if note.op not in recorded:
            problems.append(f"{note.op} was acknowledged and is not in the journal")
        elif recorded[note.op] != note.payload:
            problems.append(f"{note.op} was acknowledged and its payload is another")
    known = {note.op: note.payload for note in sent}
    problems += [f"{op} is in the journal and was never sent" for op in recorded if op not in known]
    return problems
