"""One hub that a service serves: when it is ready, and when nobody answers."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from framehub.runtime import service_desk
from framehub.runtime.service_desk import Desk


def desk(told: list[str]) -> tuple[Desk, Any]:
    machine = SimpleNamespace(refusal="")
    link = SimpleNamespace(
        address="tcp://a:1", machine=machine, open=lambda: told.append("open"), on_ready=None
    )
    return Desk(cast(Any, link), cast(Any, None), told.append), link


async def test_it_is_ready_once_and_has_us_again_after_that(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    told: list[str] = []
    made, link = desk(told)
    made.open(told.append)
    link.on_ready()
    link.on_ready()
    assert told == ["open", "tcp://a:1"]
    assert "the hub at tcp://a:1 has us again" in caplog.text


async def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_desk, "PATIENCE", 0.01)
    told: list[str] = []
    made, _ = desk(told)
    made.open(told.append)
    async with asyncio.timeout(10):
        while len(told) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    assert told[1].startswith("no answer from a hub at tcp://a:1 yet")
