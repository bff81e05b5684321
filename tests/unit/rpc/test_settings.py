"""Limits and times: the defaults of the spec, and what cannot be."""

import math
import re
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import ConfigError
from framehub.rpc.settings import MIB, ClientSettings, ProxySettings, WorkerSettings

SPEC = Path(__file__).parents[3] / "spec" / "rpc.md"


@pytest.mark.parametrize("kind", [ProxySettings, ClientSettings, WorkerSettings])
@pytest.mark.parametrize("value", [0, -1, math.nan, -math.inf])
def test_a_number_that_is_not_above_zero_is_refused(kind: Any, value: float) -> None:
    names = [name for name in kind.__slots__ if name != "acknowledge"]
    for name in names:
        with pytest.raises(ConfigError, match=f"{name} must be above zero"):
            kind(**{name: value})


def test_any_number_above_zero_is_taken() -> None:
    assert ProxySettings(window=1, wait_start=0.001).window == 1
    assert ClientSettings(silence=math.inf).silence == math.inf


def test_acknowledging_may_be_switched_off() -> None:
    assert not ProxySettings(acknowledge=False).acknowledge


def test_the_defaults_are_those_of_the_spec() -> None:
    """[RPC-9.1] The table of section 9, row by row."""
    proxy, client, worker = ProxySettings(), ClientSettings(), WorkerSettings()
    rows = {
        "queries waiting at the proxy": (proxy.max_queue, proxy.max_bytes // MIB),
        "window of a worker": (proxy.window,),
        "deaths of one query": (proxy.attempts,),
        "acknowledgement by a worker": (proxy.ack_timeout,),
        "HEART_BEAT": (proxy.dead_after,),
        "waiting for a function whose workers went; after a start": (proxy.wait_gone, proxy.wait_start),
        "an answer without RESPONSE_RECEIVED": (
            proxy.kept_seconds,
            proxy.kept_bytes // MIB,
            proxy.kept_bytes_in_all // MIB,
        ),
        "an id after RESPONSE_RECEIVED": (proxy.remembered_seconds, proxy.max_remembered),
        "at a worker: an answer before and after RESPONSE_RECEIVED": (
            worker.kept_seconds,
            worker.remembered_seconds,
            worker.max_remembered,
            worker.kept_bytes // MIB,
        ),
        "malformed messages": (proxy.max_strikes, 10),
        "questions": (proxy.max_questions,),
        "sending again": (client.resend, client.resend_most, client.ask_again, client.spread),
        "silence before asking, before a new socket": (client.silence, 2 * client.silence),
    }
    told = dict(re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|$", SPEC.read_text(), re.MULTILINE))
    for row, values in rows.items():
        numbers = [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", told[row])]
        assert numbers[: len(values)] == list(values), row
    assert (worker.silence, worker.window, worker.attempts) == (client.silence, proxy.window, proxy.attempts)
    assert worker.heartbeat == 1
