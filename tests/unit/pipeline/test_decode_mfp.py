"""The batch decoder of MFP against the codec that reads one frame: vectors, mutated frames, columns."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framehub.codes import BinaryKind, Service
from framehub.errors import ChecksumFailed, MalformedFrame
from framehub.journal.columns import to_batch
from framehub.journal.mfp_rows import IN, LinkRows
from framehub.journal.record import KINDS
from framehub.mfp import codec
from framehub.mfp.checksum import Checksums
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.pipeline import decode_mfp
from framehub.pipeline.decoded import LAWFUL, NONE, UNLAWFUL, WRONG_SUM
from framehub.pipeline.spans import Spans

VECTORS = Path(__file__).parents[3] / "spec" / "vectors" / "mfp"
BOTH = (Checksums("flag", "crc32"), Checksums("flag", "xor8"))
ROWS = LinkRows(b"\0\0\0\0\0\0\0\1", 0)


def vectors() -> list[bytes]:
    found = []
    for name in ("frames.json", "frames_foreign.json", "malformed.json"):
        for case in json.loads((VECTORS / name).read_text())["cases"]:
            found.append(bytes.fromhex(case["hex"]))
    return found


def expected(raw: bytes) -> tuple[int, Frame | None]:
    """The verdict of the codec that reads one frame."""
    verdict = UNLAWFUL
    for agreed in BOTH:
        try:
            return LAWFUL, codec.decode(raw, agreed)
        except ChecksumFailed:
            body = raw[: -agreed.size]
            try:
                codec.decode(body + agreed.of(body), agreed)
            except MalformedFrame:
                continue
            verdict = WRONG_SUM
        except MalformedFrame:
            continue
    return verdict, None


def agrees(raws: list[bytes]) -> list[int]:
    """Decode all at once and one by one; the verdicts."""
    told = decode_mfp.decode(Spans.of(pa.array(raws, pa.binary())))
    for number, raw in enumerate(raws):
        verdict, frame = expected(raw)
        assert told.verdict[number] == verdict, raw.hex()
        if frame is not None:
            (row,) = to_batch([ROWS.frame((0, 0), IN, frame, raw, b"\0" * 16)]).to_pylist()
            said = {name: int(values[number]) for name, values in told.numbers.items()}
            said["kind"] = KINDS[said["kind"]]  # type: ignore[assignment]
            assert said == {name: NONE if row[name] is None else row[name] for name in said}, raw.hex()
    return [int(verdict) for verdict in told.verdict]


def test_all_vectors_are_read_as_the_codec_reads_them() -> None:
    raws = vectors()
    verdicts = agrees(raws)
    assert set(verdicts) == {LAWFUL, UNLAWFUL, WRONG_SUM}
    for raw, verdict in zip(raws, verdicts, strict=True):  # alone, at both ends of the memory
        assert agrees([raw]) == [verdict]


ids = st.integers(1, 2**32 - 1) | st.integers(1, 3)
keys = st.integers(0, 2**32 - 1) | st.integers(0, 3)
blobs = st.binary(max_size=20)
files = st.dictionaries(keys, blobs, max_size=4).map(lambda table: tuple(table.items()))
flags: dict[str, Any] = {"need_ack": st.booleans(), "checksum": st.booleans()}
keyed = st.sampled_from([BinaryKind.EXPECTED, BinaryKind.STREAMING])
whole = st.one_of(
    st.builds(ServiceFrame, id=ids, code=st.sampled_from(list(Service)[:4]), ref=ids, checksum=st.booleans()),
    st.builds(lambda id_: ServiceFrame(id=id_, code=Service.PING, ref=id_, own=True), ids),
    st.builds(MessageFrame, id=ids, payload=blobs, files=files, **flags),
    st.builds(
        MessageFrame,
        id=ids,
        payload=blobs,
        expected=st.lists(keys, unique=True, min_size=1, max_size=5).map(tuple),
        **flags,
    ),
    st.builds(MessageFrame, id=ids, payload=blobs, streaming=st.booleans()),
    st.builds(RequestFrame, id=ids, payload=blobs, files=files, **flags),
    st.builds(ResponseFrame, id=ids, ref=ids, payload=blobs, files=files, **flags),
    st.builds(BinaryFrame, id=ids, ref=ids, **flags),
    st.builds(BinaryFrame, id=ids, ref=ids, kind=st.just(BinaryKind.DATA), data=blobs, **flags),
    st.builds(BinaryFrame, id=ids, ref=ids, kind=keyed, key=keys, data=blobs, **flags),
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A lawful frame, most of the time with something wrong."""
    data = bytearray(codec.encode(draw(whole), draw(st.sampled_from(BOTH))))
    for _ in range(draw(st.integers(0, 2))):
        how = draw(st.integers(0, 4))
        at = draw(st.integers(0, min(len(data), 30)))
        if how == 0 and at < len(data):
            data[at] ^= 1 << draw(st.integers(0, 7))
        elif how == 1 and at < len(data):
            data[at] = draw(st.sampled_from((0, 1, 4, 8, 255)))
        elif how == 2:
            del data[at : at + draw(st.integers(1, 4))]
        elif how == 3:
            data[at:at] = draw(st.binary(min_size=1, max_size=4))
        else:
            del data[len(data) - draw(st.integers(0, 5)) :]
    return bytes(data)


@given(st.lists(damaged(), min_size=1, max_size=12))
def test_damaged_frames_are_read_as_the_codec_reads_them(raws: list[bytes]) -> None:
    agrees(raws)


@given(st.lists(st.binary(max_size=24), min_size=1, max_size=12))
def test_any_bytes_are_read_as_the_codec_reads_them(raws: list[bytes]) -> None:
    agrees(raws)


def test_no_bytes_and_null_are_no_frame() -> None:
    told = decode_mfp.decode(Spans.of(pa.array([None, b"", None], pa.binary())))
    assert told.verdict.tolist() == [UNLAWFUL] * 3


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ("21000000010000000200", "1 trailing bytes at byte 9"),
        ("c000000001", "sub-protocol 6 is not in use at byte 0"),
        ("310000000000000002 00000000", "id 0 is not used at byte 1"),
        ("", "a frame has at least 5 bytes, this one 0 at byte 0"),
    ],
)
def test_the_reason_is_the_codecs(raw: str, why: str) -> None:
    assert agrees([bytes.fromhex(raw)]) == [UNLAWFUL]
    assert decode_mfp.reason(bytes.fromhex(raw)) == why


def test_a_wrong_sum_is_told_with_the_right_ones() -> None:
    raw = bytes.fromhex("31 00000001 00000002 0c2d88a4")
    assert agrees([raw]) == [WRONG_SUM]
    assert decode_mfp.wrong_sum(raw) == "ends with 0c2d88a4: its CRC-32 is 0c2d88a3, its XOR8 9b"
