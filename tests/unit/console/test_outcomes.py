"""What one row says of its conversation."""

import pytest

from framehub.codes import HubError, HubState
from framehub.console.outcomes import called, step
from framehub.journal.mfp_rows import IN, OUT
from framehub.mfp.frames import MessageFrame
from framehub.rpc import words
from tests.unit.console.rows import CLIENT, WORKER, Script, closed, pondered, timed_out


def steps(script: Script) -> list[str | None]:
    return [step(row) for row in script.read]


def test_of_a_call_that_went_to_a_worker_only_the_rows_at_the_client_count() -> None:
    found = steps(timed_out(Script()))
    assert found == ["opened", "opened", None, None, None, "timeout", "aborted", None, None]


def test_answers_of_functions() -> None:
    script = Script()
    for kind, error in (
        (words.RESPONSE_RESULT, None),
        (words.RESPONSE_EXCEPTION, "function_failed"),
        (words.RESPONSE_EXCEPTION, "timeout"),
        (words.RESPONSE_EXCEPTION, "cancelled"),
        (words.RESPONSE_UNKNOWN_FUNCTION, "unknown_function"),
    ):
        script.rpc_says(1, OUT, CLIENT, kind, b"id", b"nap", error=error)
        script.rpc_says(1, IN, WORKER, kind, b"id", b"nap", error=error)
    assert steps(script)[::2] == ["ok", "error", "timeout", "aborted", "error"]
    assert set(steps(script)[1::2]) == {None}


def test_streams_of_the_hub() -> None:
    assert steps(pondered(Script())) == ["opened", None, "timeout", None]
    assert steps(closed(Script())) == ["opened", None, None, None, "aborted"]
    script = Script()
    script.hub(1, OUT, HubState.LAST, 0)
    script.hub(1, OUT, HubState.SERVICE_ERROR, 0)
    script.hub(1, OUT, HubState.STREAM_ERROR, HubError.BUSY)
    assert steps(script) == ["ok", "error", "error"]


def test_streams_of_mfp_begin_with_a_message_and_end_with_the_last_frame() -> None:
    script = Script()
    script.stream(0)
    script.chunk(1)
    script.chunk(2, final=True)
    script.refuse(3)
    script.say(4, IN, MessageFrame(id=5, payload=b"x", expected=(1,)), endpoint="album")
    script.say(5, IN, MessageFrame(id=6, payload=b"x", files=((1, b"y"),)), endpoint="picture")
    script.say(6, IN, MessageFrame(id=7, payload=b"x"), endpoint="chat")
    assert steps(script) == ["opened", None, "ok", "aborted", None, None, None]


@pytest.mark.parametrize(("error", "outcome"), [(None, "ok"), ("application", "error")])
def test_answers_of_endpoints(error: str | None, outcome: str) -> None:
    script = Script()
    script.respond(1, error=error)
    assert steps(script) == [outcome]


def test_names_are_as_a_client_would_call_them() -> None:
    names = [called(row) for row in (*timed_out(Script()).read, *pondered(Script()).read)]
    assert set(names) == {"nap", "quotes.3", ""}
