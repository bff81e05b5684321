"""``framehub decode`` and ``encode`` over every shared vector."""

import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Cli

VECTORS = Path(__file__).parents[2] / "spec" / "vectors" / "mfp"


def test_a_frame_is_explained_to_people(cli: Cli) -> None:
    done = cli("decode", "mfp", "690000000700000013 7b22656e64706f696e74223a2263616c63227d".replace(" ", ""))
    assert done.returncode == 0
    for text in ("request frame", "sub-protocol 3", "id       7", "calc", "ack      wanted"):
        assert text in done.stdout


@pytest.mark.parametrize(
    ("hex_", "said"),
    [
        ("c000000001", "sub-protocol 6 is not in use at byte 0"),
        ("210000000100000000", "ref 0 is not used at byte 5"),
        ("", "at least 5 bytes, this one 0 at byte 0"),
    ],
)
def test_a_malformed_frame_exits_1_with_reason_and_offset(cli: Cli, hex_: str, said: str) -> None:
    done = cli("decode", "mfp", hex_, "--json")
    assert done.returncode == 1
    assert said in done.stderr
    told = json.loads(done.stdout)["malformed"]
    assert f"{told['reason']} at byte {told['offset']}" in done.stderr


def test_what_is_no_hex_or_no_json_is_wrong_usage(cli: Cli) -> None:
    assert cli("decode", "mfp", "xyz").returncode == 2
    assert cli("encode", "mfp", "{").returncode == 2


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ({"type": "ping"}, "type: want one of"),
        ({"type": "request", "id": 0}, "id 0 is not used"),
        ({"type": "request", "id": 1, "colour": 1}, "unknown field colour"),
        ({"type": "message", "id": 1, "files": [[0, 5, "00"]]}, "size 5 declared, 1 bytes given"),
    ],
)
def test_a_frame_that_cannot_be_names_its_field(cli: Cli, frame: dict[str, Any], said: str) -> None:
    done = cli("encode", "mfp", json.dumps(frame))
    assert done.returncode == 1
    assert said in done.stderr


def test_lines_of_stdin_go_there_and_back(cli: Cli) -> None:
    frames = ["400000000d", "2f0000000100000001", "84000000010000000200000003"]
    decoded = cli("decode", "mfp", "-", "--json", stdin="\n".join(frames))
    assert decoded.returncode == 0
    encoded = cli("encode", "mfp", "-", stdin=decoded.stdout)
    assert encoded.stdout.split() == frames


def test_a_bad_line_does_not_stop_the_others(cli: Cli) -> None:
    done = cli("decode", "mfp", "-", "--json", stdin="400000000d\n00\n400000000e\n")
    assert done.returncode == 1
    assert [json.loads(line).get("id") for line in done.stdout.splitlines()] == [13, None, 14]
    assert "line 2: malformed" in done.stderr


HUB = Path(__file__).parents[2] / "spec" / "vectors" / "hub"


def test_a_frame_of_the_hub_is_explained_to_people(cli: Cli) -> None:
    first = cli("decode", "hub", "000000070f02012c6869").stdout
    for text in (
        "FIRST frame, version 2, 10 bytes",
        "client to hub or hub to service",
        "service or user 300",
    ):
        assert text in first
    configuration = cli("decode", "hub", "00000f0001000013880007", "--version", "1").stdout
    for text in ("service to hub", "0, the link itself", "timeout  5 s", "service  7"):
        assert text in configuration
    ready = cli("decode", "hub", "000000000e030200000000012c").stdout
    for text in ("hub to client or hub to service", "3, READY", "timeout  the default", "service  300"):
        assert text in ready
    assert "error    1, TIMEOUT" in cli("decode", "hub", "000000070d01").stdout
    assert "cut short inside the settings" in cli("decode", "hub", "000000000e03").stdout


def test_every_frame_of_the_hub_is_decoded(cli: Cli) -> None:
    cases = json.loads((HUB / "frames.json").read_text())["cases"]
    ways = {(case["version"], case["way"]) for case in cases}
    for version, way in sorted(ways):
        some = [case for case in cases if (case["version"], case["way"]) == (version, way)]
        done = cli(
            *("decode", "hub", "-", "--json", "--version", str(version), "--way", way),
            stdin="\n".join(case["hex"] for case in some),
        )
        assert done.returncode == 0
        told = [json.loads(line) for line in done.stdout.splitlines()]
        want = [case["frame"] | {"ways": [way]} for case in some]
        assert told == [
            {**one, **({"body": one["body"].replace(" ", "")} if "body" in one else {})} for one in want
        ]


def test_a_malformed_frame_of_the_hub_exits_1_with_reason_and_offset(cli: Cli) -> None:
    done = cli("decode", "hub", "-", "--json", stdin="0000000701\n00000007000000\n000000000f0002")
    assert done.returncode == 1
    assert "line 1: malformed: a frame has at least 6 bytes, this one 5 at byte 5" in done.stderr
    first, second, third = (json.loads(line) for line in done.stdout.splitlines())
    assert first["malformed"]["offset"] == 5
    assert second["state"] == "MESSAGE"
    assert third["malformed"]["reason"] == "cut short inside the settings"
    assert cli("decode", "hub", "000000070d01", "--way", "client-hub").returncode == 0
    assert cli("decode", "hub", "xyz").returncode == 2
    assert cli("decode", "hub", "00", "--way", "nowhere").returncode == 2
