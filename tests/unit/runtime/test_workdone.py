import asyncio
import logging
from typing import Any

import pytest

from framehub.runtime.functionset import Function, FunctionSet
from framehub.runtime.workdone import Doing, Outcome, call, too_long

from . import workfunctions

FUNCTIONS = workfunctions.functions


def test_from_bytes_to_bytes() -> None:
    doing = Doing(1000)
    assert doing.run(FUNCTIONS["square"], b"12") == Outcome(b"144")
    assert doing.run(FUNCTIONS["fail"], b'"no"') == Outcome(error="ValueError: no")
    assert doing.run(FUNCTIONS["square"], b"{").error.startswith("bad argument: ")
    assert doing.run(FUNCTIONS["opaque"], b"null").error.startswith("bad result: ")
    assert doing.run(FUNCTIONS["many"], b"1000").result == b"x" * 1000
    assert doing.run(FUNCTIONS["many"], b"1001").error.startswith("bad result: 1001 bytes are over the limit")


async def test_coroutines_too() -> None:
    doing = Doing(1000)
    assert await doing.run_async(FUNCTIONS["square_later"], b"12") == Outcome(b"144")
    assert await doing.run_async(FUNCTIONS["fail_later"], b'"no"') == Outcome(error="ValueError: no")
    assert await doing.run_async(FUNCTIONS["exit_later"], b"null") == Outcome(error="SystemExit: 3")
    assert (await doing.run_async(FUNCTIONS["square_later"], b"{")).error.startswith("bad argument: ")
    with pytest.raises(asyncio.CancelledError):
        await doing.run_async(FUNCTIONS["cancel_itself"], b"null")


def test_a_coder_that_fails_in_its_own_way_is_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    function = FunctionSet().add(workfunctions.square)

    def fails(*_: Any) -> Any:
        raise RuntimeError("coder")

    monkeypatch.setattr(function, "write", fails)
    assert Doing(9).run(function, b"1") == Outcome(error="bad result: RuntimeError: coder")
    monkeypatch.setattr(function, "read", fails)
    assert Doing(9).run(function, b"1") == Outcome(error="bad argument: RuntimeError: coder")


def test_the_log_has_the_traceback_but_not_every_time(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    doing = Doing(1000, clock=lambda: now)

    def fail(function: Function = FUNCTIONS["fail"]) -> None:
        caplog.clear()
        doing.run(function, b'"no"')

    fail()
    assert "function fail failed" in caplog.text
    assert "raise ValueError(message)" in caplog.text
    for _ in range(3):
        fail()
        assert caplog.text == ""
    now = 10.0
    fail()
    assert "function fail failed (3 more failures since the last report)" in caplog.text


def test_listeners_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        call(lambda value: 1 / value, 0)
    assert "a callback of the workshop failed" in caplog.text


def test_what_is_said_of_long_calls() -> None:
    assert too_long(FUNCTIONS["spin_briefly"]) == "timeout: took longer than its max_runtime of 0.05 s"
