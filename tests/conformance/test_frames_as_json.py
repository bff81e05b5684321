"""docs/reference/frames-as-json.md shows what the library prints."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from framehub.cli.frames import decode, encode
from framehub.errors import MalformedFrame
from framehub.mfp import codec, plain

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "frames-as-json.md").read_text()
OBJECTS = [json.loads(text) for text in re.findall(r"```json\n(.*?)\n```", PAGE, re.DOTALL)]
FRAMES = [value for value in OBJECTS if "type" in value]


@pytest.mark.parametrize("value", FRAMES, ids=lambda value: value["type"])
def test_every_frame_on_the_page_is_one(value: dict[str, Any]) -> None:
    frame = plain.from_plain(value)
    assert plain.to_plain(codec.decode(codec.encode(frame))) == value


@pytest.mark.parametrize("value", FRAMES, ids=lambda value: value["type"])
def test_the_command_line_prints_it_both_ways(value: dict[str, Any]) -> None:
    hexed = CliRunner().invoke(encode, ["mfp", json.dumps(value)]).output.strip()
    assert json.loads(CliRunner().invoke(decode, ["mfp", hexed, "--json"]).output) == value


def test_the_command_on_the_page_prints_what_the_page_says() -> None:
    command, printed = re.findall(r"\$ framehub decode mfp (\w+) --json\n(.*)\n", PAGE)[0]
    assert CliRunner().invoke(decode, ["mfp", command, "--json"]).output == printed + "\n"


def test_the_malformed_frame_on_the_page_is_refused_like_that() -> None:
    (shown,) = [value["malformed"] for value in OBJECTS if "malformed" in value]
    with pytest.raises(MalformedFrame) as caught:
        codec.decode(bytes.fromhex("4000000000"))
    assert {"reason": caught.value.reason, "offset": caught.value.offset} == shown
