"""Telling the peer that a frame of its refers to nothing, without being made to tell it for ever."""

from framehub.codes import Service
from framehub.mfp.frames import ServiceFrame
from framehub.mfp.outbox import Outbox
from framehub.mfp.settings import Settings
from framehub.mfp.unknowns import BOUND, Unknowns


class Mouth:
    """Unknowns with their outbox."""

    def __init__(self) -> None:
        self.outbox = Outbox(Settings(), lambda _: False, first_id=1)
        self.unknowns = Unknowns(self.outbox)

    def told(self, ref: int, now: float) -> bool:
        """Whether it is told that nothing has this ref."""
        self.unknowns.tell(70, 7, ref=ref, now=now)
        sent = self.outbox.drain()
        for outgoing in sent:
            assert isinstance(outgoing.frame, ServiceFrame)
            assert (outgoing.frame.code, outgoing.frame.ref, outgoing.frame.own) == (
                Service.UNKNOWN,
                70,
                False,
            )
            assert outgoing.exchange == 7
        return bool(sent)


def test_the_same_ref_is_told_of_once_in_five_seconds() -> None:
    """[MFP-8.8.3]"""
    mouth = Mouth()
    assert [mouth.told(9, now) for now in (0.0, 0.1, 4.9, 5.0, 9.9, 10.0)] == [
        True,
        False,
        False,
        True,
        False,
        True,
    ]


def test_each_ref_is_told_of_by_itself() -> None:
    mouth = Mouth()
    assert [mouth.told(ref, 0.0) for ref in (1, 2, 1, 2)] == [True, True, False, False]


def test_only_the_last_few_are_remembered() -> None:
    """[MFP-8.8.3]"""
    mouth = Mouth()
    for ref in range(BOUND):
        assert mouth.told(ref, 0.0)
    assert not mouth.told(0, 1.0)
    assert mouth.told(BOUND, 1.0)
    assert mouth.told(0, 1.0)
    assert not mouth.told(2, 1.0)
    assert len(mouth.unknowns._said) == BOUND


def test_clearing_forgets() -> None:
    mouth = Mouth()
    mouth.told(9, 0.0)
    mouth.unknowns.clear()
    assert mouth.told(9, 0.0)
