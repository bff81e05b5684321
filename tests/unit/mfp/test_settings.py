"""Settings that cannot be are refused when they are made."""

import re
from dataclasses import fields
from math import inf
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import ConfigError
from framehub.mfp.checksum import OFF
from framehub.mfp.settings import CHOICES, Settings

NUMBERS = [field.name for field in fields(Settings) if field.name not in {"checksums", *CHOICES}]
SPEC = (Path(__file__).parents[3] / "spec" / "mfp.md").read_text()


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_every_limit_is_above_zero(name: str, value: float) -> None:
    wrong: dict[str, Any] = {name: value}
    with pytest.raises(ConfigError, match=name):
        Settings(**wrong)


def test_a_frame_may_be_64_bytes_long_at_least() -> None:
    assert Settings(max_frame_bytes=64).max_frame_bytes == 64
    with pytest.raises(ConfigError, match="at least 64, not 63"):
        Settings(max_frame_bytes=63)


def test_the_spec_names_every_setting_with_its_default() -> None:
    table = re.findall(r"\| `(\w+)` \| ([\d.,]+|never)( MiB)? \|", SPEC[SPEC.index("### 9.3") :])
    told = {
        name: inf if number == "never" else float(number.replace(",", "")) * (2**20 if mib else 1)
        for name, number, mib in table
    }
    assert told == {name: getattr(Settings(), name) for name in NUMBERS}


@pytest.mark.parametrize(("name", "words"), CHOICES.items())
def test_a_choice_is_one_of_its_words(name: str, words: tuple[Any, ...]) -> None:
    for word in words:
        choice: dict[str, Any] = {name: word}
        assert getattr(Settings(**choice), name) == word
    wrong: dict[str, Any] = {name: "other"}
    with pytest.raises(ConfigError, match=f"{name} is {words[0]} or {words[1]}, not 'other'"):
        Settings(**wrong)


def test_there_is_nothing_to_verify_where_checksums_are_off() -> None:
    """[MFP-3.8]"""
    with pytest.raises(ConfigError, match="verify_always needs a checksum"):
        Settings(checksums=OFF, verify_always=True)


def test_the_spec_names_every_choice_with_its_default() -> None:
    text = " ".join(SPEC.split())
    for name, words in CHOICES.items():
        default = getattr(Settings(), name)
        assert f"`{name}` is {' or '.join(f'`{word}`' for word in words)}, by default `{default}`" in text
