from collections import defaultdict
from typing import Any

import pytest

from framehub.codes import BinaryKind, Service
from framehub.journal import stream_stories
from framehub.journal.columns import to_batch
from framehub.journal.traffic import Link, World
from framehub.mfp import codec, envelope
from framehub.mfp.checksum import Checksums
from framehub.mfp.frames import BinaryFrame, MessageFrame, ServiceFrame

TOLD = {
    "announced": stream_stories.announced,
    "incoming": stream_stories.incoming_stream,
    "outgoing": stream_stories.outgoing_stream,
}


def exchanges(name: str) -> list[list[dict[str, Any]]]:
    """Many tellings of one story, on one link."""
    world, link = World(2), Link(b"linklink", 3, Checksums(mode="always"))
    for _ in range(200):
        world.tell(TOLD[name](world, link))
    while not world.quiet:
        world.step()
    found: dict[bytes, list[dict[str, Any]]] = defaultdict(list)
    for row in to_batch(world.tape).to_pylist():
        row["frame"] = codec.decode(row["raw"], Checksums(mode="always"))
        found[row["exchange"]].append(row)
    return list(found.values())


def test_every_announced_file_comes_once_and_the_last_one_says_so() -> None:
    ways = set()
    for opening, *files in exchanges("announced"):
        message: MessageFrame = opening["frame"]
        ways.add(opening["direction"])
        assert [row["key"] for row in files] == list(message.expected)
        assert [row["frame"].final for row in files] == [False] * (len(files) - 1) + [True]
        assert {row["frame"].kind for row in files} == {BinaryKind.EXPECTED}
        assert {row["direction"] for row in files} == {opening["direction"]}
        named = envelope.decode_ahead(message.payload).filemap
        assert [entry[0] for entry in named] == list(message.expected)  # type: ignore[union-attr]
    assert ways == {"in", "out"}


@pytest.mark.parametrize(("name", "way"), [("incoming", "in"), ("outgoing", "out")])
def test_a_stream_ends_with_its_last_chunk_or_an_abort(name: str, way: str) -> None:
    kinds, aborted = set(), set()
    for opening, *rest in exchanges(name):
        assert (opening["direction"], opening["frame"].streaming) == (way, True)
        chunks = [row for row in rest if row["kind"] == "binary"]
        kinds |= {row["frame"].kind for row in chunks}
        assert {row["direction"] for row in chunks} <= {way}
        assert {row["ref"] for row in chunks} <= {opening["id"]}
        last = rest[-1]["frame"]
        if isinstance(last, ServiceFrame) and last.code is Service.ABORT:
            aborted.add(last.own)
            assert (last.own, last.ref) == (rest[-1]["direction"] == way, opening["id"])
            assert not any(row["frame"].final for row in chunks)
        else:
            assert [row["frame"].final for row in chunks] == [False] * (len(chunks) - 1) + [True]
    assert kinds == {BinaryKind.NONE, BinaryKind.STREAMING, BinaryKind.DATA}
    assert aborted == {True, False}


@pytest.mark.parametrize("name", ["incoming", "outgoing"])
def test_what_asks_for_an_ack_gets_one_from_the_other_side(name: str) -> None:
    acked = 0
    for rows in exchanges(name):
        asks = [
            (row["id"], row["direction"])
            for row in rows
            if isinstance(row["frame"], BinaryFrame | MessageFrame) and row["frame"].need_ack
        ]
        acks = [
            (row["ref"], "in" if row["direction"] == "out" else "out") for row in rows if row["code"] == 1
        ]
        assert sorted(asks) == sorted(acks)
        acked += len(acks)
    assert acked > 100
