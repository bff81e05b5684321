"""Rows for a list, and which are wanted."""

import subprocess
import sys
from typing import Any

import msgspec
import pytest

from framehub.codes import HubState, Service
from framehub.console.frame_rows import Filter, chosen, line, party, preview, says
from framehub.errors import ConfigError
from framehub.journal.mfp_rows import IN, OUT
from framehub.mfp.frames import ServiceFrame
from framehub.rpc import words
from tests.unit.console.rows import CALLED, CLIENT, WORKER, Script, pondered, timed_out


@pytest.fixture
def script() -> Script:
    return pondered(timed_out(Script()))


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        ({}, 13),
        ({"protocols": ["mfp"]}, 2),
        ({"protocols": ["mfp", "hub"], "directions": ["out"]}, 3),
        ({"kinds": ["query"]}, 2),
        ({"name": "QUOT"}, 4),
        ({"link": WORKER.hex()[:5]}, 4),
        ({"exchange": CALLED.hex()}, 7),
        ({"user": 7}, 6),
        ({"problems": True}, 4),
        ({"problems": True, "protocols": ["mfp"]}, 1),
    ],
)
def test_what_fits(script: Script, wanted: dict[str, Any], count: int) -> None:
    assert chosen(script.batch, msgspec.convert(wanted, Filter)).num_rows == count


@pytest.mark.parametrize(
    "wanted", [{"protocols": ["http"]}, {"directions": ["up"]}, {"kinds": ["x"]}, {"link": "zz"}]
)
def test_a_filter_that_cannot_be_says_so(wanted: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wanted))):
        Filter(**wanted)


def test_everything_that_filters_need_can_be_loaded_beforehand() -> None:
    """On the event loop it would keep everybody waiting."""
    code = (
        "import sys, framehub.console.frame_rows as rows; rows.load();"
        "from framehub.console.figures import Figures;"
        "from tests.unit.console.rows import Script, timed_out;"
        "before = set(sys.modules);"
        "batch = timed_out(Script()).batch;"
        "Figures().take(batch, 99);"
        "rows.chosen(batch, rows.Filter(problems=True, name='nap', kinds=['query']));"
        "late = {name for name in set(sys.modules) - before if not name.startswith('framehub')};"
        "assert not late, late"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_line_has_what_a_list_shows(script: Script) -> None:
    told = line(script.read[0])
    assert (told["seq"], told["name"], told["says"], told["user"]) == (1, "nap", "request", 7)
    assert told["preview"] == "3"
    assert "preview" not in line(script.read[0], inside=False)


def test_who_is_at_the_other_end(script: Script) -> None:
    assert [party(row) for row in script.read] == [
        *("client", "client", "worker", "client", "worker", "client", "client", "worker", "worker"),
        *("client", "service", "client", "service"),
    ]


def test_frames_in_words(script: Script) -> None:
    script.say(1, IN, ServiceFrame(id=3, code=Service.PING, ref=3, own=True))
    script.rows.append(script.mfp.closed((1, 1), 1001, "bye"))
    script.hub(1, OUT, HubState.MESSAGE, 0)
    told = [says(row) for row in script.read]
    assert [told[at] for at in (4, 5, 11)] == ["query received", "timeout", "stream error timeout"]
    assert told[-3:] == ["ping", "link closed 1001", "message"]


def test_of_an_envelope_the_name_is_not_shown_again() -> None:
    script = Script()
    script.request(0)
    script.respond(1, error="x")
    row = script.read[0]
    assert preview(row, 26) == "3…"
    assert preview({**row, "endpoint": "another"}) == '{"endpoint":"nap","data":3}'


def test_a_preview_is_text_or_hex_and_short() -> None:
    script = Script()
    script.rpc_says(1, OUT, CLIENT, words.RESPONSE_RESULT, b"id", b"\0\1" * 500)
    script.rpc_says(1, OUT, CLIENT, words.RESPONSE_RESULT, b"id", "ä".encode() * 500)
    binary, text = (preview(row, 40) for row in script.read)
    assert binary == "00 01 00 01 00 01 00 01 00 01…"
    assert text == "ä" * 20 + "…"
    assert preview({**script.read[0], "raw": None}) == ""
