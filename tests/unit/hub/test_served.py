import pytest

from framehub.errors import LocalProtocolError, StreamAborted
from framehub.hub.served import ServedStream, ServiceSettings


def test_what_can_be_sent_on_is_neither_ended_nor_cut_off() -> None:
    stream = ServedStream(9, 1, 42, b"hi")
    stream.check()
    stream.is_ended = True
    with pytest.raises(LocalProtocolError, match="has ended"):
        stream.check()
    stream.over = "the client has gone"
    with pytest.raises(StreamAborted, match="the client has gone"):
        stream.check()


def test_a_service_is_patient_for_longer_than_it_is_silent() -> None:
    settings = ServiceSettings()
    assert settings.heartbeat < settings.silence
    assert settings.max_waiting_bytes < settings.max_waiting_bytes_in_all
