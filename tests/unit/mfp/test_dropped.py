"""Transfers that we aborted, and what of them still comes."""

from framehub.codes import Service
from framehub.mfp.dropped import Dropped
from framehub.mfp.frames import BinaryFrame, Frame, ServiceFrame
from framehub.mfp.outbox import Outbox
from framehub.mfp.remembered import Remembered
from framehub.mfp.settings import Settings


class Bin:
    """Dropped transfers with an outbox and a memory."""

    def __init__(self, remembered: int = 8) -> None:
        settings = Settings(remembered=remembered)
        self.now = 0.0
        self.forgiven = False
        self.outbox = Outbox(settings, lambda _: False, first_id=1)
        self.past = Remembered(remembered)
        self.dropped = Dropped(settings, self.outbox, self.past)

    def late(self, *, final: bool = False, ref: int = 7) -> list[Frame]:
        """What a frame of it causes."""
        self.now += 5.0
        self.forgiven = self.dropped.forgives(ref)
        self.dropped.late(BinaryFrame(id=99, ref=ref, final=final), 70, self.now)
        return self.sent()

    def sent(self) -> list[Frame]:
        return [outgoing.frame for outgoing in self.outbox.drain()]


def unknown(id_: int, ref: int = 7) -> list[Frame]:
    return [ServiceFrame(id=id_, code=Service.UNKNOWN, ref=ref)]


def test_what_comes_after_an_abort_is_swallowed_up_to_the_last() -> None:
    """[MFP-8.4.4] [MFP-8.6.3]"""
    bin_ = Bin()
    bin_.dropped.abort(7, 70)
    assert bin_.sent() == [ServiceFrame(id=1, code=Service.ABORT, ref=7)]
    assert bin_.past.get(7) == 70
    assert (bin_.late(), bin_.forgiven) == ([], True)
    assert (bin_.late(final=True), bin_.forgiven) == ([], True)
    assert (bin_.late(final=True), bin_.forgiven) == (unknown(2), False)


def test_an_end_that_was_said_to_follow_is_swallowed_once() -> None:
    """[MFP-8.4.4]"""
    bin_ = Bin()
    bin_.dropped.swallow_rest(7, 70)
    assert (bin_.late(final=True), bin_.forgiven) == ([], True)
    assert (bin_.late(final=True), bin_.forgiven) == (unknown(1), False)


def test_after_a_last_frame_nothing_is_in_flight() -> None:
    bin_ = Bin()
    bin_.dropped.abort(7, 70, in_flight=False)
    bin_.sent()
    assert bin_.late() == unknown(2)


def test_what_was_never_dropped_is_unknown_in_the_exchange_it_is_told() -> None:
    """[MFP-8.4.3]"""
    bin_ = Bin()
    bin_.dropped.late(BinaryFrame(id=99, ref=7), 55, 0.0)
    assert [(outgoing.frame, outgoing.exchange) for outgoing in bin_.outbox.drain()] == [(unknown(1)[0], 55)]


def test_an_id_used_anew_is_no_longer_swallowed() -> None:
    """[MFP-8.4.4]"""
    bin_ = Bin()
    bin_.dropped.abort(7, 70)
    bin_.dropped.forget(7)
    bin_.dropped.forget(8)
    bin_.sent()
    assert bin_.late() == unknown(2)


def test_the_memory_is_bounded() -> None:
    bin_ = Bin(remembered=2)
    for ref in range(1, 100):
        bin_.dropped.abort(ref, ref)
    assert len(bin_.dropped._refs) <= 4
    bin_.sent()
    assert bin_.late(ref=99) == []
    assert bin_.late(ref=1) == unknown(100, ref=1)


def test_clearing_forgets() -> None:
    bin_ = Bin()
    bin_.dropped.abort(7, 70)
    bin_.dropped.clear()
    bin_.sent()
    assert bin_.late() == unknown(2)
