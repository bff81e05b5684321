"""A journal full of made-up traffic, for tests and benchmarks (spec/journal.md, section 9).

The files are what a gateway's writer makes, byte for byte in the same format; only the sync comes once per
segment instead of once per block. The same seed, number of frames and faults give the same bytes.

Near the end the traffic comes to rest, nothing happens for two hours, and it begins anew: what waits for too
long can then be told from what has just begun. Faults are woven into the traffic long before.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Final

from framehub.errors import JournalError
from framehub.journal import block, segments
from framehub.journal.append import SegmentAppender
from framehub.journal.columns import encode
from framehub.journal.faults.catalogue import TRUTH_FILE, Truth, chosen
from framehub.journal.labels import Labels
from framehub.journal.ledger import FULL_ROWS
from framehub.journal.page import Page
from framehub.journal.record import VERSION, Row
from framehub.journal.seal import seal
from framehub.journal.stories import begin
from framehub.journal.traffic import SECOND, START_NS, World
from framehub.private import make_directory

BLOCK_ROWS: Final = 2048
SEGMENT_BYTES: Final = 128 << 20
PAUSE_NS: Final = 7200 * SECOND
_LEAST: Final = 2000
_PER_FAULT: Final = 20
_FAULTY: Final = 0.6
"""The part of the rows in which faults begin."""
_BUSY: Final = 0.85
"""The part of the rows before the pause, but for what comes to its end then."""


def generate(
    directory: Path | str,
    *,
    frames: int,
    seed: int = 1,
    node: str = "generated",
    faults: str | Iterable[str] = (),
    each: int = 1,
    start_ns: int = START_NS,
    segment_bytes: int = SEGMENT_BYTES,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write a new journal of exactly ``frames`` rows and return that number.

    Full segments are sealed, the last one is left open. ``faults`` names rules of the audit, or is ``all``:
    each of them is broken ``each`` times, and ``truth.json`` says where. The first row is of ``start_ns``,
    nanoseconds since 1970. ``progress`` is told how many rows are written.

    Raises:
        JournalError: the directory has a journal already or cannot be written; there is no such fault; there
            is no room for the faults.
    """
    rules = chosen(faults) * each
    if frames < 1:
        raise JournalError(f"frames: {frames} is less than 1")
    if rules and frames < (least := least_frames(len(rules))):
        raise JournalError(f"frames: {len(rules)} faults need {least} at least, not {frames}")
    place = Path(directory)
    try:
        make_directory(place)
        with segments.locked(place):
            if (
                segments.load_node(place) is not None
                or segments.segments(place)
                or (place / TRUTH_FILE).exists()
            ):
                raise JournalError(f"{place}: there is a journal already")
            salt = zlib.crc32(f"{node}/{seed}".encode())
            owner = segments.create_node(place, node, salt)
            truth = Truth()
            blocks = _blocks(World(seed, start_ns), frames, _plan(frames, seed, rules), truth)
            _write(owner, blocks, start_ns, segment_bytes, progress)
            if rules:
                truth.write(place, frames=frames, seed=seed)
            return frames
    except OSError as exc:
        raise JournalError(f"{place}: cannot be written: {exc.strerror or exc}") from exc


def least_frames(faults: int) -> int:
    """How many rows a journal must have for so many faults: their own, and enough traffic around them."""
    return _LEAST + _PER_FAULT * faults


def _write(
    node: segments.Node,
    blocks: Iterable[tuple[int, list[Row]]],
    start_ns: int,
    segment_bytes: int,
    progress: Callable[[int], None] | None,
) -> None:
    opening = block.Opening(node.name, VERSION, start_ns, node.salt, block.BLOCK_LIMIT)
    written, expected = 0, 1
    segment: SegmentAppender | None = None
    for first_seq, rows in blocks:
        if segment is not None and (
            segment.size >= segment_bytes
            or first_seq - segment.first_seq >= FULL_ROWS
            or first_seq != expected
        ):
            segment.finish()
            seal(segment.path, node=node.name, salt=node.salt)
            segment = None
        if segment is None:
            segment = SegmentAppender(node.directory, opening, first_seq=first_seq)
        page = Page(Labels())
        for row in rows:
            page.add(row)
        body = encode(page)
        segment.write(block.head_of(body, first_seq=first_seq, salt=node.salt), body.front, body.back)
        written += len(rows)
        expected = first_seq + len(rows)
        if progress is not None:
            progress(written)
    if segment is not None:
        segment.finish()


def _blocks(
    world: World, frames: int, plan: list[tuple[int, str]], truth: Truth
) -> Iterator[tuple[int, list[Row]]]:
    """Exactly ``frames`` rows, a block's worth at a time, each with the number of its first row."""
    first, left = 1, frames
    for _ in _phases(world, frames, plan, truth):
        while left and world.tape:
            size = min(BLOCK_ROWS, left)
            if truth.gaps:
                size = min(size, truth.gaps[0][0] - first + 1)
            elif len(world.tape) < size:
                break
            yield first, world.tape[:size]
            del world.tape[:size]
            first += size
            left -= size
            if truth.gaps and first > truth.gaps[0][0]:
                first = truth.gaps.pop(0)[1]
        if not left:
            return


def _plan(frames: int, seed: int, rules: tuple[str, ...]) -> list[tuple[int, str]]:
    """After how many rows which fault begins."""
    dice = Random(f"faults of {seed}")  # noqa: S311  (traffic, not secrets)
    moments = sorted(dice.randrange(int(frames * _FAULTY)) for _ in rules)
    return list(zip(moments, dice.sample(rules, len(rules)), strict=True))


def _phases(world: World, frames: int, plan: list[tuple[int, str]], truth: Truth) -> Iterator[None]:
    """Let the world go on until it has enough rows; yields whenever there is a block's worth of them."""
    begin(world)
    for moment, rule in plan:
        yield from _until(world, moment, truth)
        truth.tell(world, rule)
    yield from _until(world, int(frames * _BUSY), truth)
    world.ending = True
    while not world.quiet:
        world.step()
        if len(world.tape) >= BLOCK_ROWS:
            yield
    world.now += PAUSE_NS
    world.ending = False
    begin(world)
    yield from _until(world, frames, truth)
    yield


def _until(world: World, rows: int, truth: Truth) -> Iterator[None]:
    while world.seq < rows + truth.missing:
        world.step()
        if len(world.tape) >= BLOCK_ROWS:
            yield
