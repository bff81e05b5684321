"""What may be the name of a function or a service."""

import unicodedata

import pytest

from framehub.names import unfit

DIRECTIONS = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]


@pytest.mark.parametrize(
    "name",
    [
        "square",
        "a.b",
        "...",
        ".a",
        "a.",
        "a b",
        "größe",
        "функция",
        "計算",
        "👩\u200d🔬",
        "a:b",
        "~",
        "$(x)",
        "",
    ],
)
def test_most_names_are_fit(name: str) -> None:
    """[RPC-2.8]"""
    assert unfit(name) == ""


@pytest.mark.parametrize("name", [".", ".."])
def test_a_place_is_no_name(name: str) -> None:
    """[RPC-2.8]"""
    assert unfit(name) == "a name is not . or .."


def test_every_character_that_steers_is_refused_and_no_other() -> None:
    """[RPC-2.8]"""
    refused = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000 and unfit(f"a{chr(code)}b")]
    controls = [code for code in range(0x110000) if unicodedata.category(chr(code)) == "Cc"]
    assert refused == sorted([*controls, *DIRECTIONS, ord("/"), ord("\\")])


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a/b", "/ cannot stand in a name"),
        ("\\", "\\ cannot stand in a name"),
        ("a\n/", "U+000A cannot stand in a name"),
        ("\u202egpj.exe", "U+202E cannot stand in a name"),
    ],
)
def test_the_first_that_is_wrong_is_named(name: str, why: str) -> None:
    assert unfit(name) == why
