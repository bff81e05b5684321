"""Files in binary frames: announced and streamed."""

import hashlib
import random
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row

from framehub.codes import BinaryKind, Service
from framehub.journal.columns import to_batch
from framehub.journal.mfp_rows import IN, OUT, LinkRows
from framehub.mfp import codec, envelope
from framehub.mfp.checksum import BY_FLAG, Checksums
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, ServiceFrame
from framehub.pipeline.schemas import FILES, check, shape
from framehub.pipeline.stages.files import files
from framehub.pipeline.stages.pieces import pieces

pytestmark = pytest.mark.spark

JournalOf = Callable[..., DataFrame]
LINK = b"L" * 8
NAMES = {1: ("one.txt", "text/plain"), 2: ("../../two", "")}


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Talk:
    """Frames of one link, as its tap writes them."""

    def __init__(self, checksums: Checksums | None = None) -> None:
        self.rows: list[dict[str, Any]] = []
        self._checksums = checksums

    def say(self, frame: Frame, exchange: int = 1, way: int = IN, **changed: Any) -> "Talk":
        if self._checksums is not None and "checksum" not in changed:
            frame = type(frame)(
                **{name: getattr(frame, name) for name in frame.__struct_fields__} | {"checksum": True}
            )
        changed.pop("checksum", None)
        raw = codec.encode(frame, self._checksums or BY_FLAG)
        row = LinkRows(LINK, 7).frame(
            (0, 0), way, frame, raw, LINK + exchange.to_bytes(8, "big"), endpoint="scan"
        )
        (plain,) = to_batch([row]).to_pylist()
        kept = {name: value for name, value in plain.items() if name not in ("time_ns", "mono_ns")}
        self.rows.append(kept | changed)
        return self

    def announce(self, *keys: int, **more: Any) -> "Talk":
        payload = envelope.encode("scan", 1, names=NAMES)
        return self.say(MessageFrame(id=1, payload=payload, expected=keys), **more)

    def stream(self, **more: Any) -> "Talk":
        payload = envelope.encode("scan", 1, names=NAMES)
        return self.say(MessageFrame(id=1, payload=payload, streaming=True), **more)

    def file(self, key: int, data: bytes, *, final: bool = False, **more: Any) -> "Talk":
        frame = BinaryFrame(id=9, ref=1, kind=BinaryKind.EXPECTED, key=key, data=data, final=final)
        return self.say(frame, **more)

    def chunk(self, key: int, data: bytes, *, final: bool = False, **more: Any) -> "Talk":
        frame = BinaryFrame(id=9, ref=1, kind=BinaryKind.STREAMING, key=key, data=data, final=final)
        return self.say(frame, **more)

    def end(self, **more: Any) -> "Talk":
        return self.say(BinaryFrame(id=9, ref=1, kind=BinaryKind.NONE, final=True), **more)

    def abort(self, **more: Any) -> "Talk":
        return self.say(ServiceFrame(id=5, code=Service.ABORT, ref=1), **({"way": OUT} | more))


def made(journal: DataFrame) -> list[Row]:
    return check("files", files(journal)).orderBy("exchange", "key", "seq").collect()


def facts(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("seq", "last_seq", "key", "bytes", "frames", "complete", "sha256"))


def test_an_announced_file_is_the_first_frame_with_its_key(journal_of: JournalOf) -> None:
    talk = Talk().announce(1, 2, 5).file(2, b"two").file(2, b"again").file(9, b"stray")
    talk.file(5, b"elsewhere", way=OUT).chunk(5, b"of another kind").file(1, b"", final=True)
    journal = journal_of(talk.rows)
    assert shape(pieces(journal).schema) == shape(FILES)
    rows = made(journal)
    assert [facts(row) for row in rows] == [
        (7, 7, 1, 0, 1, True, sha(b"")), (2, 2, 2, 3, 1, True, sha(b"two")), (1, 1, 5, 0, 0, False, None),
    ]  # fmt: skip
    assert [(row["name"], row["type"]) for row in rows] == [*NAMES.values(), (None, None)]
    assert {row["how"] for row in rows} == {"announced"}
    one = rows[1]
    assert (one["link"], one["user"], one["endpoint"], one["direction"]) == (LINK.hex(), 7, "scan", "in")
    assert one["time"] > rows[2]["time"]


def test_a_stream_is_its_frames_up_to_the_first_that_says_no_more(journal_of: JournalOf) -> None:
    talk = Talk().stream().chunk(1, b"ab").chunk(2, b"x").chunk(1, b"", way=OUT).file(1, b"no chunk")
    talk.say(BinaryFrame(id=9, ref=1, kind=BinaryKind.DATA, data=b"no file", final=False))
    talk.chunk(1, b"cd", final=True).chunk(1, b"too late").abort()
    rows = made(journal_of(talk.rows))
    assert [facts(row) for row in rows] == [
        (1, 7, 1, 4, 2, True, sha(b"abcd")), (1, 3, 2, 1, 1, True, sha(b"x")),
    ]  # fmt: skip
    assert [(row["name"], row["how"]) for row in rows] == [("one.txt", "streamed"), ("../../two", "streamed")]
    assert rows[0]["time"] == rows[1]["time"]


def test_a_stream_without_its_end_is_not_complete(journal_of: JournalOf) -> None:
    rows: list[dict[str, Any]] = []
    rows += Talk().stream(exchange=1).chunk(1, b"ab", exchange=1).rows
    cut = Talk().stream(exchange=2).chunk(1, b"ab", exchange=2)
    rows += cut.abort(exchange=2).end(exchange=2).rows
    rows += Talk().stream(exchange=3).chunk(1, b"ab", exchange=3).end(exchange=3, way=OUT).rows
    rows += Talk().chunk(1, b"no opening", exchange=4, final=True).rows
    rows += Talk().stream(exchange=5).end(exchange=5).rows
    rows += Talk().announce(1, exchange=6).abort(exchange=6).rows
    found = [
        (row["exchange"][-1], row["bytes"], row["frames"], row["complete"], row["sha256"])
        for row in made(journal_of(rows))
    ]
    assert found == [
        ("1", 2, 1, False, None), ("2", 2, 1, False, None), ("3", 2, 1, False, None),
        ("6", 0, 0, False, None),
    ]  # fmt: skip


@pytest.mark.parametrize("algorithm", ["crc32", "xor8"])
@pytest.mark.parametrize("on_opening", [True, False])
def test_a_checksum_is_no_part_of_a_file(journal_of: JournalOf, algorithm: Any, on_opening: bool) -> None:
    dice = random.Random(4)
    parts = [dice.randbytes(dice.randrange(6)) for _ in range(40)]
    opening = {} if on_opening else {"checksum": False}
    talk = Talk(Checksums(algorithm=algorithm)).stream(**opening)
    for part in parts:
        talk.chunk(1, part)
    talk.end().announce(1, 2, exchange=2, **opening)
    talk.file(1, b"", exchange=2).file(2, b"abc", exchange=2)
    found = [(row["how"], row["bytes"], row["sha256"]) for row in made(journal_of(talk.rows))]
    data = b"".join(parts)
    assert found == [
        ("streamed", len(data), sha(data)), ("announced", 0, sha(b"")), ("announced", 3, sha(b"abc")),
    ]  # fmt: skip


def test_without_bytes_there_is_no_sum(journal_of: JournalOf) -> None:
    off: dict[str, Any] = {"recorded": "off", "raw": None}
    talk = Talk().stream().chunk(1, b"ab").chunk(1, b"cd", **off).end()
    talk.announce(1, exchange=2).file(1, b"abc", exchange=2, **off).announce(1, exchange=3, **off)
    rows = made(journal_of(talk.rows))
    assert [(row["bytes"], row["frames"], row["complete"], row["sha256"]) for row in rows] == [
        (4, 2, True, None), (3, 1, True, None),
    ]  # fmt: skip


def test_many_streams_at_once_do_not_mix(journal_of: JournalOf) -> None:
    dice = random.Random(1)
    want: dict[tuple[int, int], bytes] = {}
    talk = Talk()
    for exchange in range(1, 31):
        talk.stream(exchange=exchange)
    for _ in range(600):
        exchange, key, data = dice.randint(1, 30), dice.randint(1, 3), dice.randbytes(20)
        talk.chunk(key, data, exchange=exchange)
        want[exchange, key] = want.get((exchange, key), b"") + data
    for exchange in range(1, 31):
        talk.end(exchange=exchange)
    numbered = [{"seq": number} | row for number, row in enumerate(talk.rows, start=1)]
    dice.shuffle(numbered)
    found = {(int(row["exchange"][-4:], 16), row["key"]): row for row in made(journal_of(numbered))}
    assert {place: row["sha256"] for place, row in found.items()} == {
        place: sha(data) for place, data in want.items()
    }
    assert sum(row["frames"] for row in found.values()) == 600
