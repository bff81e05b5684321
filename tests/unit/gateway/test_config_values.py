import tomllib
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any, Literal

import pytest

from framehub.gateway.config_values import Unfit, as_toml, from_text, from_toml, is_for_files, want
from framehub.mfp.checksum import Checksums

Word = Literal["full", "head"]


@pytest.mark.parametrize(
    ("wanted", "value", "text"),
    [
        (str, "a", "a"),
        (str | None, None, "off"),
        (Path | None, Path("a/b"), "a/b"),
        (int, 7, "7"),
        (int | None, 7, "7"),
        (float, 1.5, "1.5"),
        (float, inf, "inf"),
        (float, 3.0, "3"),
        (bool, True, "yes"),
        (bool, False, "0"),
        (tuple[str, ...], ("a", "b"), "a, b"),
        (tuple[str, ...], (), ""),
        (Word, "head", "head"),
        (Mapping[str, Word], {"a.b": "head", "*": "full"}, "a.b=head, *=full"),
        (Mapping[str, Word], {}, ""),
        (Checksums, Checksums("always", "xor8"), "always xor8"),
        (Checksums, Checksums("off", "crc32"), "off"),
    ],
)
def test_a_value_is_the_same_from_the_environment_and_from_a_file(wanted: Any, value: Any, text: str) -> None:
    assert from_text(text, wanted) == value
    assert from_toml(tomllib.loads(f"x = {as_toml(value)}")["x"], wanted) == value


@pytest.mark.parametrize(
    ("wanted", "wrong"),
    [
        (str, 1),
        (str, ""),
        (int, True),
        (int, 1.0),
        (int, "1"),
        (float, True),
        (float, "1"),
        (bool, 1),
        (Path, 1),
        (tuple[str, ...], "a"),
        (tuple[str, ...], [1]),
        (Word, "tail"),
        (Word, 1),
        (Mapping[str, Word], []),
        (Mapping[str, Word], {"a": "tail"}),
        (Checksums, "sometimes"),
        (Checksums, 1),
    ],
)
def test_what_does_not_fit_is_refused(wanted: Any, wrong: Any) -> None:
    with pytest.raises(Unfit):
        from_toml(wrong, wanted)


@pytest.mark.parametrize(
    ("wanted", "text"), [(int, "1.5"), (float, "x"), (bool, "maybe"), (Word, "x"), (Mapping[str, Word], "a")]
)
def test_nor_does_a_text(wanted: Any, text: str) -> None:
    with pytest.raises(Unfit):
        from_text(text, wanted)


def test_what_is_wanted_is_said_in_words() -> None:
    assert want(int | None) == 'a whole number or "off"'
    assert want(Word) == '"full" or "head"'
    assert want(Mapping[str, Word]) == 'a table of names, each with "full" or "head"'
    assert want(tuple[str, ...]) == "a list of strings"
    assert want(Checksums).startswith('"MODE ALGORITHM"')


def test_texts_are_quoted_so_that_toml_reads_them() -> None:
    for text in ('a"b', "a\\b", "a\nb", "\x7f", "\x00", "é"):
        assert tomllib.loads(f"x = {as_toml(text)}")["x"] == text


def test_a_table_of_tables_or_lists_is_for_files() -> None:
    assert is_for_files(Mapping[str, tuple[str, ...]])
    assert is_for_files(Mapping[str, Mapping[str, float]])
    assert not any(map(is_for_files, (Mapping[str, Word], tuple[str, ...], int | None, Path)))
