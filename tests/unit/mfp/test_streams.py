"""Streams of the peer's, until each ends or is lost."""

from typing import Any

import pytest

from framehub.codes import BinaryKind, Service
from framehub.mfp.dropped import Dropped
from framehub.mfp.events import StreamChunk, StreamLost, StreamOpened
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, ServiceFrame
from framehub.mfp.outbox import Outbox
from framehub.mfp.remembered import Remembered
from framehub.mfp.settings import Settings
from framehub.mfp.streams import Streams


class Bench:
    """Streams with our outbox and memory."""

    def __init__(self, **limits: Any) -> None:
        settings = Settings(**limits)
        self.outbox = Outbox(settings, lambda _: False, first_id=1)
        self.past = Remembered(8)
        self.streams = Streams(settings, Dropped(settings, self.outbox, self.past), self.past)

    def open(self, id_: int = 7) -> StreamOpened | None:
        return self.streams.opened(MessageFrame(id=id_, streaming=True), id_ * 10)

    def chunk(self, kind: BinaryKind = BinaryKind.STREAMING, *, final: bool = False) -> BinaryFrame:
        key = 0 if kind in (BinaryKind.STREAMING, BinaryKind.EXPECTED) else None
        return BinaryFrame(id=99, ref=7, kind=kind, key=key, final=final)

    def sent(self) -> list[Frame]:
        return [outgoing.frame for outgoing in self.outbox.drain()]


ABORT = ServiceFrame(id=1, code=Service.ABORT, ref=7)


def test_a_stream_opens_under_its_id_and_exchange() -> None:
    """[MFP-8.6.1]"""
    bench = Bench()
    assert bench.streams.exchange(7) == 0
    assert bench.open() == StreamOpened(MessageFrame(id=7, streaming=True), 70)
    assert (7 in bench.streams.open, len(bench.streams), bench.streams.exchange(7)) == (True, 1, 70)


@pytest.mark.parametrize("kind", [BinaryKind.NONE, BinaryKind.STREAMING, BinaryKind.DATA])
def test_it_ends_at_the_first_last_frame_of_whatever_kind(kind: BinaryKind) -> None:
    """[MFP-8.6.2]"""
    bench = Bench()
    bench.open()
    for final in (False, True):
        frame = bench.chunk(kind, final=final)
        assert bench.streams.received(frame) == StreamChunk(frame, 70)
    assert (7 in bench.streams.open, bench.past.get(7), bench.sent()) == (False, 70, [])


@pytest.mark.parametrize("final", [False, True])
def test_an_announced_file_loses_it(final: bool) -> None:
    """[MFP-8.6.6]"""
    bench = Bench()
    bench.open()
    lost = bench.streams.received(bench.chunk(BinaryKind.EXPECTED, final=final))
    assert lost == StreamLost(7, "an announced file in a stream", 70)
    assert (7 in bench.streams.open, bench.sent()) == (False, [ABORT])


def test_as_many_streams_as_allowed_and_one_more() -> None:
    """[MFP-8.6.7]"""
    bench = Bench(max_streams=2)
    assert bench.open(1)
    assert bench.open(2)
    assert bench.open(7) is None
    assert (len(bench.streams), bench.sent()) == (2, [ABORT])
    bench.streams.given_up(1)
    assert bench.open(8)


def test_we_abort_once() -> None:
    """[MFP-8.6.3]"""
    bench = Bench()
    bench.open()
    assert bench.streams.abort(7)
    assert not bench.streams.abort(7)
    assert (len(bench.streams), bench.past.get(7), bench.sent()) == (0, 70, [ABORT])


def test_the_sender_may_give_up_what_is_open_over_or_unknown() -> None:
    """[MFP-8.6.5]"""
    bench = Bench()
    assert bench.streams.given_up(7) is None
    bench.open()
    assert bench.streams.given_up(7) == StreamLost(7, "the sender gave it up", 70)
    assert bench.streams.given_up(7) is None
    assert (bench.past.get(7), bench.sent()) == (70, [])


def test_clearing_forgets() -> None:
    bench = Bench()
    bench.open()
    bench.streams.clear()
    assert (len(bench.streams), bench.streams.abort(7), bench.sent()) == (0, False, [])
