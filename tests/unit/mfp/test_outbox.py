"""Frames on their way out."""

from typing import Any

import pytest

from framehub.codes import Service
from framehub.errors import ConnectionClosed, LimitExceeded, LocalProtocolError
from framehub.mfp import codec
from framehub.mfp.checksum import MODES, Checksums, Mode
from framehub.mfp.frames import RequestFrame, ResponseFrame, ServiceFrame
from framehub.mfp.outbox import FRAME_OVERHEAD, Outbox
from framehub.mfp.settings import Settings


def outbox(**limits: Any) -> Outbox:
    return Outbox(Settings(**limits), lambda _: False, first_id=1)


def test_frames_leave_in_order_and_once() -> None:
    box = outbox()
    box.send(RequestFrame(id=box.new_id()), 1)
    box.service(Service.ACK, 9, 2, own=True)
    first, second = box.drain()
    assert (first.data, first.exchange) == (codec.encode(first.frame), 1)
    assert (second.frame, second.exchange) == (ServiceFrame(id=2, code=Service.ACK, ref=9, own=True), 2)
    assert box.drain() == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", ["", "seal", "verify_always"])
def test_a_sealed_box_sends_no_frame_without_a_sum(mode: Mode, how: str) -> None:
    """[MFP-3.8] Unless checksums are off."""
    if (mode, how) == ("off", "verify_always"):
        return
    box = outbox(checksums=Checksums(mode), verify_always=how == "verify_always")
    if how == "seal":
        box.seal()
    box.service(Service.ACK, 9, 2)
    (sent,) = box.drain()
    summed = mode == "always" or (mode == "flag" and how != "")
    assert codec.decode(sent.data, Checksums(mode)).checksum is summed


def test_exchanges_count_from_one() -> None:
    box = outbox()
    assert [box.new_exchange(), box.new_exchange()] == [1, 2]


def test_what_cannot_be_encoded_is_not_queued() -> None:
    """[MFP-2.9]"""
    box = outbox()
    with pytest.raises(LocalProtocolError):
        box.send(RequestFrame(id=0), 1)
    assert box.drain() == []


def test_a_closed_box_drops_what_waits_and_takes_nothing() -> None:
    box = outbox()
    box.send(RequestFrame(id=1), 1)
    box.close()
    assert box.drain() == []
    with pytest.raises(ConnectionClosed):
        box.send(RequestFrame(id=2), 1)


def test_a_payload_fits_up_to_the_limit() -> None:
    """[MFP-9.3.1]"""
    box = outbox(max_frame_bytes=100)
    box.check_fits(b"x" * (100 - FRAME_OVERHEAD))
    with pytest.raises(
        LimitExceeded, match=r"bytes of one frame: 101 is over the limit of 100 \(max_frame_bytes"
    ):
        box.check_fits(b"x" * (101 - FRAME_OVERHEAD))


def test_files_and_announced_keys_count_with_their_tables() -> None:
    """[MFP-9.3.1]"""
    box = outbox(max_frame_bytes=100)
    room = 100 - FRAME_OVERHEAD
    box.check_fits(b"", ((1, b"x" * (room - 8)),))
    box.check_fits(b"x" * (room - 4), expected=(1,))
    with pytest.raises(LimitExceeded):
        box.check_fits(b"", ((1, b"x" * (room - 7)),))
    with pytest.raises(LimitExceeded):
        box.check_fits(b"x" * (room - 3), expected=(1,))


def test_as_many_files_as_allowed_and_one_more() -> None:
    """[MFP-9.3.1] Attached or announced."""
    box = outbox(max_files=2)
    box.check_fits(b"", ((1, b""), (2, b"")))
    box.check_fits(b"", expected=(1, 2))
    with pytest.raises(LimitExceeded, match=r"files of one message: 3 is over the limit of 2 \(max_files"):
        box.check_fits(b"", ((1, b""), (2, b""), (3, b"")))
    with pytest.raises(LimitExceeded, match="max_files"):
        box.check_fits(b"", expected=(1, 2, 3))


@pytest.mark.parametrize("files", [(), ((1, b"abc"), (2, b""))])
def test_the_overhead_covers_the_longest_frame(files: tuple[tuple[int, bytes], ...]) -> None:
    frame = ResponseFrame(id=1, ref=1, payload=b"x" * 50, files=files, checksum=True)
    assert len(codec.encode(frame)) <= FRAME_OVERHEAD + 50 + sum(8 + len(blob) for _, blob in files)


def test_what_is_not_read_yet_is_held_to_the_same_limits_by_its_size() -> None:
    """[MFP-9.3.1]"""
    box = outbox(max_frame_bytes=100, max_files=2)
    room = 100 - FRAME_OVERHEAD
    box.check_sizes(room, [])
    box.check_sizes(10, [room - 10 - 16, 0])
    for payload, files in ((room + 1, []), (10, [room - 10 - 15, 0])):
        with pytest.raises(LimitExceeded, match=r"101 is over the limit of 100 \(max_frame_bytes.*stream"):
            box.check_sizes(payload, files)
    with pytest.raises(LimitExceeded, match="max_files"):
        box.check_sizes(0, [0, 0, 0])
