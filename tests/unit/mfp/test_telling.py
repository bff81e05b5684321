"""What we tell: whole messages, announced files, streams; and what the peer may refuse."""

from typing import Any

import pytest

from framehub.codes import BinaryKind, Service
from framehub.errors import LimitExceeded, LocalProtocolError, StreamAborted
from framehub.mfp.events import MessageRefused, StreamRefused
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, ServiceFrame
from framehub.mfp.outbox import Outbox
from framehub.mfp.remembered import Remembered
from framehub.mfp.settings import Settings
from framehub.mfp.telling import Telling

PLAIN: Any = {"need_ack": False, "checksum": False}


class Desk:
    """What we tell, with our outbox and memory."""

    def __init__(self, **limits: Any) -> None:
        settings = Settings(**limits)
        self.outbox = Outbox(settings, lambda id_: id_ in self.telling, first_id=1)
        self.past = Remembered(8)
        self.telling = Telling(settings, self.outbox, self.past)

    def tell(self, *, expected: tuple[int, ...] = (), streaming: bool = False) -> int:
        return self.telling.message(b"m", (), expected=expected, streaming=streaming, **PLAIN)[0]

    def chunk(self, ref: int, data: bytes = b"", *, key: int | None = None, final: bool = False) -> int:
        return self.telling.chunk(ref, data, key=key, final=final, **PLAIN)[0]

    def sent(self) -> list[Frame]:
        return [outgoing.frame for outgoing in self.outbox.drain()]


def test_a_message_is_told_at_once_and_may_be_refused_later() -> None:
    """[MFP-8.2.7]"""
    desk = Desk()
    id_ = desk.tell()
    assert (desk.sent(), len(desk.telling), desk.past.get(id_)) == ([MessageFrame(id=1, payload=b"m")], 0, 1)
    assert desk.telling.refused(id_, Service.UNKNOWN) is None
    assert desk.telling.refused(id_, Service.ABORT) == MessageRefused(id_, 1)
    assert desk.telling.refused(id_, Service.ABORT) is None


def test_announced_files_go_each_once_and_the_last_one_ends_it() -> None:
    """[MFP-6.4]"""
    desk = Desk()
    id_ = desk.tell(expected=(4, 2))
    assert id_ in desk.telling
    desk.telling.file(id_, 2, b"two", **PLAIN)
    with pytest.raises(LocalProtocolError, match="does not wait for file 2"):
        desk.telling.file(id_, 2, b"two", **PLAIN)
    desk.telling.file(id_, 4, b"", **PLAIN)
    assert id_ not in desk.telling
    assert [frame.final for frame in desk.sent() if isinstance(frame, BinaryFrame)] == [False, True]


def test_each_kind_of_chunk_has_its_frame() -> None:
    """[MFP-8.6.1] [MFP-8.6.2]"""
    desk = Desk()
    ref = desk.tell(streaming=True)
    desk.chunk(ref, b"a", key=5)
    desk.chunk(ref, key=6)
    desk.chunk(ref, b"d")
    desk.chunk(ref)
    desk.chunk(ref, final=True)
    binary = [frame for frame in desk.sent() if isinstance(frame, BinaryFrame)]
    assert [(frame.kind, frame.key, frame.data, frame.final) for frame in binary] == [
        (BinaryKind.STREAMING, 5, b"a", False),
        (BinaryKind.STREAMING, 6, b"", False),
        (BinaryKind.DATA, None, b"d", False),
        (BinaryKind.DATA, None, b"", False),
        (BinaryKind.NONE, None, b"", True),
    ]
    assert (len(desk.telling), desk.past.get(ref)) == (0, 1)
    with pytest.raises(StreamAborted, match="stream 1 is not open"):
        desk.chunk(ref, b"more")


def test_a_chunk_over_the_limit_changes_nothing() -> None:
    """[MFP-9.3.1]"""
    desk = Desk(max_frame_bytes=64)
    ref = desk.tell(streaming=True)
    with pytest.raises(LimitExceeded, match="max_frame_bytes"):
        desk.chunk(ref, bytes(64), final=True)
    assert ref in desk.telling
    assert len(desk.sent()) == 1


def test_as_many_streams_as_allowed_and_one_more() -> None:
    """[MFP-9.3.1]"""
    desk = Desk(max_streams=2)
    ref = desk.tell(streaming=True)
    desk.tell(streaming=True)
    with pytest.raises(LimitExceeded, match="max_streams"):
        desk.tell(streaming=True)
    assert len(desk.sent()) == len(desk.telling) == 2
    desk.chunk(ref, final=True)
    desk.tell(streaming=True)


@pytest.mark.parametrize("code", [Service.ABORT, Service.TIMEOUT, Service.UNKNOWN])
def test_a_refused_stream_sends_nothing_more(code: Service) -> None:
    """[MFP-8.6.4]"""
    desk = Desk()
    ref = desk.tell(streaming=True)
    assert desk.telling.refused(ref, code) == StreamRefused(ref, 1)
    assert desk.telling.refused(ref, code) is None
    desk.sent()
    with pytest.raises(StreamAborted):
        desk.chunk(ref, final=True)
    assert not desk.telling.give_up(ref)
    assert (desk.sent(), desk.past.get(ref)) == ([], 1)


@pytest.mark.parametrize("code", [Service.ABORT, Service.TIMEOUT, Service.UNKNOWN])
def test_a_refused_announcement_sends_nothing_more(code: Service) -> None:
    """[MFP-8.4.5]"""
    desk = Desk()
    ref = desk.tell(expected=(1,))
    assert desk.telling.refused(ref, code) == MessageRefused(ref, 1)
    with pytest.raises(LocalProtocolError):
        desk.telling.file(ref, 1, b"", **PLAIN)


@pytest.mark.parametrize("what", [{"expected": (1,)}, {"streaming": True}])
def test_we_give_up_once_and_say_so(what: dict[str, Any]) -> None:
    """[MFP-8.4.6] [MFP-8.6.5]"""
    desk = Desk()
    ref = desk.tell(**what)
    assert desk.telling.give_up(ref)
    assert not desk.telling.give_up(ref)
    assert desk.sent()[1:] == [ServiceFrame(id=2, code=Service.ABORT, ref=ref, own=True)]
    assert (len(desk.telling), desk.past.get(ref)) == (0, 1)


def test_a_stream_may_be_refused_after_its_end() -> None:
    desk = Desk()
    ref = desk.tell(streaming=True)
    desk.chunk(ref, final=True)
    assert desk.telling.refused(ref, Service.ABORT) == MessageRefused(ref, 1)


def test_clearing_forgets() -> None:
    desk = Desk()
    told, announced, streaming = desk.tell(), desk.tell(expected=(1,)), desk.tell(streaming=True)
    desk.telling.clear()
    assert len(desk.telling) == 0
    for ref in (told, announced, streaming):
        assert desk.telling.refused(ref, Service.ABORT) is None
