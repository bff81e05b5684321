import pytest

from framehub.codes import HubError
from framehub.errors import HubStreamError, LocalProtocolError
from framehub.hub.called import CalledStream, HubClientSettings


def test_what_can_be_sent_on_is_neither_done_nor_over_nor_cut_off() -> None:
    stream = CalledStream(1, 7, 1, None, 0.0)
    stream.check()
    stream.is_done = True
    with pytest.raises(LocalProtocolError, match="had its last frame"):
        stream.check()
    stream.is_over = True
    with pytest.raises(LocalProtocolError, match="is over"):
        stream.check()
    stream.error = HubStreamError(HubError.TIMEOUT)
    with pytest.raises(HubStreamError, match="TIMEOUT"):
        stream.check()


def test_silence_is_counted_from_what_was_not_answered() -> None:
    stream = CalledStream(1, 7, 1, 5.0, 10.0)
    assert stream.deadline == 15.0
    stream.unanswered = None
    stream.last = 12.0
    assert stream.deadline == 17.0
    stream.timeout = None
    assert stream.deadline is None


def test_who_reads_nothing_is_given_up_before_the_connection_is() -> None:
    settings = HubClientSettings()
    assert settings.patience < settings.keepalive
