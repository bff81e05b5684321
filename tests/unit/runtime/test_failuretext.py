from pathlib import Path

import pytest

from framehub.runtime.failuretext import MAX_TEXT_BYTES, failure_text, plain


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("never")


@pytest.mark.parametrize(
    ("exc", "text"),
    [
        (ValueError("no"), "ValueError: no"),
        (ValueError(), "ValueError"),
        (KeyError("a"), "KeyError: 'a'"),
        (SystemExit(2), "SystemExit: 2"),
        (Mute(), "Mute"),
        (
            ValueError("\x1b[31mred\x1b[0m \x1b]0;title\x07\x9b1m a\tb\nc\r\x00\u202e"),
            "ValueError: red 1m a\tb\nc",
        ),
        (ValueError("\ud800"), "ValueError: ?"),
    ],
)
def test_texts_are_the_kind_and_the_message(exc: BaseException, text: str) -> None:
    assert failure_text(exc) == text


def test_places_of_this_machine_are_not_told(tmp_path: Path) -> None:
    here = Path(__file__)
    try:
        (tmp_path / "secret" / "plan.txt").read_text()
    except OSError as exc:
        text = failure_text(exc)
    assert text == "FileNotFoundError: [Errno 2] No such file or directory: 'plan.txt'"
    assert plain(f"at {here}:12 and {here.parent}/.") == "at test_failuretext.py:12 and ."
    assert plain("see /etc/ssl/ and file:///etc/passwd") == "see ssl and passwd"


@pytest.mark.parametrize(
    "text", ["http://host/home/etc/x", "/api/v1/users", "and/or", "1 / 2", "/", "a/etc/passwd", "//etc/x"]
)
def test_what_only_looks_like_a_path_is_left_alone(text: str) -> None:
    assert plain(text) == text


@pytest.mark.parametrize(
    ("size", "kept"), [(65_535, 65_535), (65_536, 65_536), (65_537, 65_536), (10**7, 65_536)]
)
def test_texts_are_cut(size: int, kept: int) -> None:
    text = plain("x" * size)
    assert len(text) == kept
    assert text.endswith("(cut)") is (size > MAX_TEXT_BYTES)
    assert len(plain("ä" * size).encode()) <= MAX_TEXT_BYTES
