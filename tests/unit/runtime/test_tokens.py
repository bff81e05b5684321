"""The file of tokens: what is in it, what is not, and what can be wrong with it."""

import os
import stat
import threading
from collections.abc import Callable
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path

import pytest

from framehub.errors import ConfigError
from framehub.runtime import tokens

WHEN = "2026-03-01T09:30:00Z"
SUM = sha256(b"one").hexdigest()
OTHER = sha256(b"two").hexdigest()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens"


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_token_is_made_found_and_nowhere_to_be_seen(path: Path) -> None:
    """[MFP-9.7.4]"""
    token, entry = tokens.add(path, user=7, name="Anna's laptop")
    assert len(token) >= 43
    assert tokens.find(tokens.read(path), token) == entry
    assert (entry.user, entry.name) == (7, "Anna's laptop")
    assert tokens.find(tokens.read(path), token + "x") is None
    assert token not in path.read_text()
    assert token not in repr(entry)
    assert entry.digest.hex() in path.read_text()
    assert entry.digest.hex() not in repr(entry)


def test_a_new_file_is_its_owners_alone_and_a_file_stays_as_open_as_it_was(path: Path) -> None:
    tokens.add(path, user=7, name="a")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    tokens.add(path, user=7, name="b")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [file.name for file in path.parent.iterdir()] == ["tokens"]


def test_every_change_is_a_new_file(path: Path) -> None:
    tokens.add(path, user=7, name="a")
    with path.open() as before:
        tokens.add(path, user=7, name="b")
        assert os.fstat(before.fileno()).st_ino != path.stat().st_ino
        assert "b" not in before.read().splitlines()[-1].split()
    target = path.rename(path.with_name("real"))
    path.symlink_to(target)
    tokens.add(path, user=7, name="c")
    assert path.is_symlink()
    assert [entry.name for entry in tokens.read(target)] == ["a", "b", "c"]


def test_remarks_and_the_form_of_other_lines_are_kept(path: Path) -> None:
    text = f"# mine\n\n 7\t{WHEN}   {SUM}  one  \n  # 8 {OTHER} is a remark\n8 {WHEN} {OTHER} two"
    written(path, text)
    assert [(e.user, e.created, e.digest.hex(), e.name) for e in tokens.read(path)] == [
        (7, WHEN, SUM, "one"),
        (8, WHEN, OTHER, "two"),
    ]
    _, entry = tokens.add(path, user=9, name="three")
    assert path.read_text() == f"{text}\n{entry.line}"
    tokens.revoke(path, "two")
    assert path.read_text() == text.rpartition("\n")[0] + f"\n{entry.line}"


@pytest.mark.parametrize(
    "what", ["one", SUM, SUM[:6], SUM[: tokens.SHORT_ID]], ids=["name", "digest", "6 letters", "id"]
)
def test_a_token_is_revoked_by_name_or_id(path: Path, what: str) -> None:
    written(path, f"7 {WHEN} {SUM} one\n8 {WHEN} {OTHER} two\n")
    assert tokens.revoke(path, what).name == "one"
    assert [entry.name for entry in tokens.read(path)] == ["two"]
    assert tokens.revoke(path, "two").user == 8
    path.write_text("# none\n")
    assert tokens.read(path) == []


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("three", "no token is 'three'"),
        (SUM[:5], "no token is"),
        ("", "no token is ''"),
        (OTHER[:8], "more than one token is"),
    ],
)
def test_what_is_to_be_revoked_must_be_clear(path: Path, what: str, text: str) -> None:
    written(path, f"7 {WHEN} {SUM} {OTHER[:8]}\n8 {WHEN} {OTHER} two\n")
    with pytest.raises(ConfigError, match=text):
        tokens.revoke(path, what)
    assert len(tokens.read(path)) == 2


@pytest.mark.parametrize("user", [1, 65_535])
def test_users_at_their_bounds(path: Path, user: int) -> None:
    assert tokens.add(path, user=user, name="a")[1].user == user
    assert tokens.read(path)[0].user == user


@pytest.mark.parametrize("user", [0, -1, 65_536])
def test_no_token_is_for_nobody(path: Path, user: int) -> None:
    with pytest.raises(ConfigError, match="want a number from 1 to 65535"):
        tokens.add(path, user=user, name="a")
    assert not path.exists()


@pytest.mark.parametrize("name", ["", "   ", "two\nlines", "\x1b[1m", "x" * 101])
def test_names_can_be_printed(path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="name: want 1 to 100 letters"):
        tokens.add(path, user=7, name=name)


def test_a_name_is_given_once(path: Path) -> None:
    tokens.add(path, user=7, name="a")
    with pytest.raises(ConfigError, match=r"tokens: there is a token named 'a' already"):
        tokens.add(path, user=8, name=" a ")
    assert len(tokens.read(path)) == 1


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (f"0 {WHEN} {SUM} one", "user: want a number from 1 to 65535"),
        (f"65536 {WHEN} {SUM} one", "user: want a number"),
        (f"-1 {WHEN} {SUM} one", "want USER WHEN SHA256 NAME"),
        (f"\u0667 {WHEN} {SUM} one", "want USER WHEN SHA256 NAME"),
        (f"{'9' * 5000} {WHEN} {SUM} one", "want USER WHEN SHA256 NAME"),
        (f"7 {WHEN} {SUM}", "want USER WHEN SHA256 NAME"),
        (f"7 {WHEN} {SUM[:-1]} one", "want USER WHEN SHA256 NAME"),
        (f"7 {WHEN} {SUM.upper()} one", "want USER WHEN SHA256 NAME"),
        (f"7 yesterday {SUM} one", "when it was made must be like"),
        (f"7 {WHEN} {SUM} {'x' * 101}", "name: want 1 to 100 letters"),
        (f"7 {WHEN} {SUM} a\x1b[1m", "name: want 1 to 100 letters"),
        (f"7 {WHEN} {OTHER} one", "the same token as in line 2"),
        (f"7 {WHEN} {SUM} two", "the same name as in line 2"),
        ("s3cret", "want USER WHEN SHA256 NAME"),
    ],
)
def test_a_wrong_line_is_named_and_not_repeated(path: Path, line: str, text: str) -> None:
    written(path, f"# remark\n8 {WHEN} {OTHER} two\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        tokens.read(path)
    assert str(caught.value).startswith(f"{path}, line 3: ")
    assert text in str(caught.value)
    assert line not in str(caught.value)
    before = path.read_bytes()
    for change in (lambda: tokens.add(path, user=9, name="n"), lambda: tokens.revoke(path, "two")):
        with pytest.raises(ConfigError, match="line 3"):
            change()
    assert path.read_bytes() == before


def test_bytes_that_are_no_text_are_named_by_their_line(path: Path) -> None:
    written(path, b"# remark\n# \xff\n")
    with pytest.raises(ConfigError, match=r"tokens, line 2: it is no text"):
        tokens.read(path)


def test_an_empty_file_may_be_half_written(path: Path) -> None:
    written(path, "")
    with pytest.raises(ConfigError, match="it is empty"):
        tokens.read(path)


def test_there_are_so_many_tokens_and_no_more(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST_TOKENS", 2)
    tokens.add(path, user=7, name="a")
    tokens.add(path, user=7, name="b")
    with pytest.raises(ConfigError, match="over 2 tokens"):
        tokens.add(path, user=7, name="c")
    assert len(tokens.read(path)) == 2


@pytest.mark.parametrize(("more", "is_read"), [(0, True), (1, False)])
def test_a_file_has_its_limit(path: Path, more: int, is_read: bool) -> None:
    written(path, "#" * (tokens.MOST_BYTES + more))
    if is_read:
        assert tokens.read(path) == []
    else:
        with pytest.raises(ConfigError, match="over 1048576 bytes"):
            tokens.read(path)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda path: None, "cannot read the tokens in .*: No such file"),
        (lambda path: path.mkdir(), "it is no file"),
        (os.mkfifo, "it is no file"),
        (lambda path: path.symlink_to(path), "cannot read the tokens in .*: Too many levels"),
        (lambda path: written(path, "# none\n").chmod(0o602), "anybody can write the tokens in"),
    ],
)
def test_what_cannot_be_read_is_said_so(path: Path, make: Callable[[Path], None], text: str) -> None:
    open_before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    make(path)
    with pytest.raises(ConfigError, match=text):
        tokens.read(path)
    with pytest.raises(ConfigError):
        tokens.revoke(path, "a")
    assert len(os.listdir("/proc/self/fd")) == open_before  # noqa: PTH208


def test_where_nothing_can_be_written_nothing_is_left(path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot write the tokens in .*: No such file"):
        tokens.add(path / "x", user=7, name="a")
    path.mkdir()
    with pytest.raises(ConfigError, match="it is no file"):
        tokens.add(path, user=7, name="a")
    long = path / ("x" * 250)
    with pytest.raises(ConfigError, match="File name too long"):
        tokens.add(long, user=7, name="a")
    assert list(path.iterdir()) == []


def test_two_who_add_at_once_lose_nothing(path: Path) -> None:
    def add(first: int) -> None:
        for number in range(first, first + 20):
            tokens.add(path, user=7, name=f"n{number}")

    threads = [threading.Thread(target=add, args=(20 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {entry.name for entry in tokens.read(path)} == {f"n{n}" for n in range(80)}


def test_every_entry_is_compared_whichever_it_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[MFP-9.7.4] By ``hmac.compare_digest``, over SHA-256 sums, without leaving early."""
    made = [tokens.add(path, user=n + 1, name=f"n{n}")[0] for n in range(5)]
    entries = tokens.read(path)
    assert vars(tokens)["compare_digest"] is compare_digest
    seen: list[tuple[bytes, bytes]] = []

    def counted(one: bytes, other: bytes) -> bool:
        seen.append((one, other))
        return compare_digest(one, other)

    monkeypatch.setattr(tokens, "compare_digest", counted)
    for token in (made[0], made[2], made[4], "no such token", made[0][:-1]):
        seen.clear()
        found = tokens.find(entries, token)
        assert found is (entries[made.index(token)] if token in made else None)
        wanted = sha256(token.encode()).digest()
        assert seen == [(entry.digest, wanted) for entry in entries]
