"""Announced messages of the peer, until each is whole or lost."""

from typing import Any

import pytest

from framehub.codes import BinaryKind, Service
from framehub.mfp.announced import Announced
from framehub.mfp.dropped import Dropped
from framehub.mfp.events import MessageLost, MessageReceived
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, ServiceFrame
from framehub.mfp.outbox import Outbox
from framehub.mfp.remembered import Remembered
from framehub.mfp.settings import Settings

KEYS = (4, 2)


class Shelf:
    """Announced messages with our outbox and memory."""

    def __init__(self, **limits: Any) -> None:
        settings = Settings(**limits, progress_timeout=10.0)
        self.outbox = Outbox(settings, lambda _: False, first_id=1)
        self.past = Remembered(8)
        self.dropped = Dropped(settings, self.outbox, self.past)
        self.announced = Announced(settings, self.dropped, self.past)

    def open(self, id_: int = 7, keys: tuple[int, ...] = KEYS, now: float = 0.0) -> None:
        self.announced.opened(MessageFrame(id=id_, payload=b"p", expected=keys), id_ * 10, now)

    def file(
        self, key: int, data: bytes = b"", *, ref: int = 7, final: bool = False, now: float = 0.0
    ) -> MessageReceived | MessageLost | None:
        frame = BinaryFrame(id=99, ref=ref, kind=BinaryKind.EXPECTED, key=key, data=data, final=final)
        return self.announced.received(frame, now)

    def sent(self) -> list[Frame]:
        return [outgoing.frame for outgoing in self.outbox.drain()]


def test_a_message_is_delivered_whole_in_the_announced_order() -> None:
    """[MFP-8.4.1]"""
    shelf = Shelf()
    shelf.open()
    assert 7 in shelf.announced.sets
    assert shelf.file(2, b"two") is None
    whole = MessageFrame(id=7, payload=b"p", files=((4, b"four"), (2, b"two")), expected=KEYS)
    assert shelf.file(4, b"four", final=True) == MessageReceived(whole, 70)
    assert (len(shelf.announced), shelf.sent(), shelf.past.get(7)) == (0, [], 70)


def test_every_file_renews_the_time() -> None:
    """[MFP-8.3.2]"""
    shelf = Shelf()
    shelf.open(now=0.0)
    shelf.file(2, now=9.0)
    assert shelf.announced.due(18.9) == []
    assert shelf.announced.next_deadline == pytest.approx(19.0)
    assert shelf.announced.due(19.0) == [MessageLost(7, "no file came in time", 70)]
    assert shelf.sent() == [ServiceFrame(id=1, code=Service.ABORT, ref=7)]


@pytest.mark.parametrize("final", [False, True])
def test_after_our_abort_what_is_under_way_is_swallowed(final: bool) -> None:
    """[MFP-8.4.4] A wrong last file leaves nothing to swallow."""
    shelf = Shelf()
    shelf.open()
    assert isinstance(shelf.file(9, final=final), MessageLost)
    assert (7 in shelf.announced.sets, shelf.announced.exchange(7)) == (False, 0)
    shelf.sent()
    shelf.dropped.late(BinaryFrame(id=99, ref=7, final=False), 70, 0.0)
    assert shelf.sent() == ([ServiceFrame(id=2, code=Service.UNKNOWN, ref=7)] if final else [])


@pytest.mark.parametrize("size", [5, 6])
def test_as_many_waiting_bytes_as_allowed_and_one_more(size: int) -> None:
    """[MFP-8.4.7] All waiting messages together."""
    shelf = Shelf(max_waiting_bytes=12)  # two payloads of one byte, two files of five
    shelf.open(7)
    shelf.open(8)
    shelf.file(4, b"x" * 5)
    event = shelf.file(4, b"x" * size, ref=8)
    if size == 5:
        assert event is None
    else:
        assert event == MessageLost(8, "key 4 is over max_waiting_bytes, 12", 80)


def test_bytes_of_finished_and_lost_messages_no_longer_wait() -> None:
    shelf = Shelf(max_waiting_bytes=6)
    for id_ in range(1, 4):
        shelf.open(id_)
        shelf.file(4, b"xxxxx", ref=id_)
        assert isinstance(shelf.file(2, ref=id_, final=True), MessageReceived)
        shelf.open(id_)
        shelf.file(4, b"xxxxx", ref=id_)
        assert isinstance(shelf.file(9, ref=id_), MessageLost)


def test_as_many_messages_as_allowed_and_one_more() -> None:
    """[MFP-8.4.7]"""
    shelf = Shelf(max_announced=2)
    for id_ in (1, 2, 3):
        shelf.open(id_)
    assert len(shelf.announced) == 2
    assert shelf.sent() == [ServiceFrame(id=1, code=Service.ABORT, ref=3)]
    assert shelf.past.get(3) == 30


def test_a_sender_may_give_up_what_is_whole_waiting_or_unknown() -> None:
    """[MFP-8.4.6]"""
    shelf = Shelf()
    assert shelf.announced.given_up(7) is None
    shelf.open()
    assert shelf.announced.given_up(7) == MessageLost(7, "the sender gave it up", 70)
    assert shelf.announced.given_up(7) is None
    assert shelf.sent() == []


def test_clearing_forgets_messages_bytes_and_deadlines() -> None:
    shelf = Shelf(max_waiting_bytes=6)
    shelf.open()
    shelf.file(4, b"xxxxx")
    shelf.announced.clear()
    assert (len(shelf.announced), shelf.announced.due(99.0), shelf.announced.exchange(7)) == (0, [], 0)
    shelf.open()
    assert shelf.file(4, b"xxxxx") is None


@pytest.mark.parametrize("size", [40, 41])
def test_the_payloads_of_waiting_messages_count_too(size: int) -> None:
    """[MFP-8.4.7]"""
    shelf = Shelf(max_waiting_bytes=100)
    for id_, length in ((1, 60), (2, size)):
        shelf.announced.opened(MessageFrame(id=id_, payload=b"x" * length, expected=KEYS), id_, 0.0)
    assert len(shelf.announced) == (2 if size == 40 else 1)
    assert shelf.sent() == ([] if size == 40 else [ServiceFrame(id=1, code=Service.ABORT, ref=2)])


def test_as_many_strange_keys_are_noted_as_a_message_may_have_files_and_no_more() -> None:
    """[MFP-8.4.8]"""
    shelf = Shelf(bad_files="deliver", max_files=2)
    shelf.open()
    for key in (10, 11, 12):
        assert shelf.file(key, b"x") is None
    assert shelf.file(2, b"two") is None
    assert shelf.file(2, b"again") is None
    event = shelf.file(4, b"four", final=True)
    assert isinstance(event, MessageReceived)
    assert event.left_out == ((2, "came twice"), (10, "was not announced"), (11, "was not announced"))
    assert event.frame.files == ((4, b"four"), (2, b"two"))


@pytest.mark.parametrize("size", [5, 6])
def test_a_file_over_the_waiting_bytes_is_left_out_once(size: int) -> None:
    """[MFP-8.4.8] Its key has come: a second one came twice, whatever its size."""
    shelf = Shelf(bad_files="deliver", max_waiting_bytes=6)
    shelf.open()
    shelf.file(4, b"x" * size)
    shelf.file(4, b"x")
    event = shelf.file(2, final=True)
    assert isinstance(event, MessageReceived)
    why = "came twice" if size == 5 else "is over max_waiting_bytes, 6"
    assert event.left_out == ((4, why),)
    assert len(event.frame.files) == (2 if size == 5 else 1)


def test_a_file_that_is_left_out_for_its_size_is_progress_all_the_same() -> None:
    """[MFP-8.3.2] [MFP-8.4.8]"""
    shelf = Shelf(bad_files="deliver", max_waiting_bytes=6)
    shelf.open(now=0.0)
    shelf.file(4, b"x" * 9, now=9.0)
    assert shelf.announced.due(18.9) == []
    shelf.file(4, b"x", now=18.0)
    (event,) = shelf.announced.due(19.0)
    assert isinstance(event, MessageReceived)
    assert [key for key, _ in event.left_out] == [2, 4]
    assert shelf.sent() == [ServiceFrame(id=1, code=Service.ABORT, ref=7)]
    assert (len(shelf.announced), shelf.past.get(7)) == (0, 70)


@pytest.mark.parametrize(
    ("frame", "under_drop", "under_deliver"),
    [
        (BinaryFrame(id=9, ref=7, kind=BinaryKind.EXPECTED, key=4, final=False), None, None),
        (
            BinaryFrame(id=9, ref=7, kind=BinaryKind.EXPECTED, key=9, final=False),
            *["key 9 was not announced"] * 2,
        ),
        (
            BinaryFrame(id=9, ref=7, kind=BinaryKind.EXPECTED, key=4, data=b"x" * 9, final=False),
            *["key 4 is over max_waiting_bytes, 9"] * 2,
        ),
        (
            BinaryFrame(id=9, ref=7, kind=BinaryKind.DATA, final=False),
            *["a binary frame is no announced file"] * 2,
        ),
        (BinaryFrame(id=9, ref=7, kind=BinaryKind.EXPECTED, key=4), "ended with 1 files missing", None),
        (BinaryFrame(id=9, ref=7), "ended with 2 files missing", None),
    ],
    ids=["right", "not announced", "too much", "another kind", "early end", "bare end"],
)
def test_what_loses_a_message_or_is_left_out_is_a_fault(
    frame: BinaryFrame, under_drop: str | None, under_deliver: str | None
) -> None:
    """[MFP-8.8.1] Found out before anything comes of it."""
    for policy, fault in (("drop", under_drop), ("deliver", under_deliver)):
        shelf = Shelf(bad_files=policy, max_waiting_bytes=9)
        shelf.open()
        assert shelf.announced.fault(frame) == fault
        assert (len(shelf.announced), shelf.sent()) == (1, [])


def test_there_is_room_up_to_the_limit() -> None:
    """[MFP-8.4.7]"""
    shelf = Shelf(max_announced=2, max_waiting_bytes=10)
    shelf.open(1)
    assert shelf.announced.has_room(MessageFrame(id=2, payload=b"x" * 9, expected=KEYS))
    assert not shelf.announced.has_room(MessageFrame(id=2, payload=b"x" * 10, expected=KEYS))
    shelf.open(2)
    assert not shelf.announced.has_room(MessageFrame(id=3, expected=KEYS))
