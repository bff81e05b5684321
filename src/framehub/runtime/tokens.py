"""A file of tokens: a line for each, with its user, when it was made, its SHA-256 and its name.

    7 2026-03-01T09:30:00Z 9f86d081884c7d65...  Anna's laptop

The tokens themselves are nowhere. Each has 256 random bits, so that a plain SHA-256 is enough: there is
nothing to guess it from. Empty lines and what begins with ``#`` are remarks, and are kept.
"""

import fcntl
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from typing import Final

from framehub.errors import ConfigError

MOST_BYTES: Final = 1024 * 1024
MOST_TOKENS: Final = 4_096
"""Each upgrade looks at all of them."""
LONGEST_NAME: Final = 100
LAST_USER: Final = 65_535
SHORT_ID: Final = 12
"""Letters of the SHA-256 that stand for a token in lists."""
FEWEST_ID: Final = 6
FILE_MODE: Final = 0o600
PREFIX: Final = "fh_"
"""So that a token is known for one where it is found, and never begins like an option."""
HEAD: Final = "# Tokens of framehub: user, when it was made, SHA-256 of the token, name.\n"

_LINE: Final = re.compile(r"([0-9]{1,9})\s+(\S+)\s+([0-9a-f]{64})\s+(\S.*)")
_WHEN: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True, slots=True)
class Entry:
    """One token, as the file knows it."""

    user: int
    created: str
    digest: bytes = field(repr=False)
    name: str

    @property
    def id(self) -> str:
        """What people call it by: the beginning of its digest."""
        return self.digest.hex()[:SHORT_ID]

    @property
    def line(self) -> str:
        """Its line in the file."""
        return f"{self.user} {self.created} {self.digest.hex()} {self.name}\n"


def digest(token: str) -> bytes:
    """What is kept of a token."""
    return sha256(token.encode()).digest()


def find(entries: Iterable[Entry], token: str) -> Entry | None:
    """Whose token that is. Every entry is looked at, to its end: the time it takes tells nothing."""
    wanted = digest(token)
    found = None
    for entry in entries:
        if compare_digest(entry.digest, wanted):
            found = entry
    return found


# --- reading -----------------------------------------------------------------------------------------------


def read(path: Path) -> list[Entry]:
    """All tokens of a file.

    Raises:
        ConfigError: it cannot be read, anybody may write it, or a line is wrong; names file and line.
    """
    return _parse(path, _text(path))


def _text(path: Path) -> str:
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe that nobody writes to would wait
        try:
            mode = os.fstat(number).st_mode
            if not stat.S_ISREG(mode):
                raise ConfigError(f"tokens in {path}: it is no file")
            if mode & stat.S_IWOTH:
                raise ConfigError(f"anybody can write the tokens in {path}: chmod o-w {path}")
            with os.fdopen(number, "rb", closefd=False) as file:
                data = file.read(MOST_BYTES + 1)
        finally:
            os.close(number)
    except OSError as exc:
        raise ConfigError(f"cannot read the tokens in {path}: {exc.strerror}") from exc
    if len(data) > MOST_BYTES:
        raise ConfigError(f"tokens in {path}: over {MOST_BYTES} bytes")
    if not data:
        # Or it is about to be written. A file that is meant to have none has a remark.
        raise ConfigError(f"tokens in {path}: it is empty; `framehub token add` makes one")
    try:
        return data.decode()
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise ConfigError(f"{path}, line {line}: it is no text") from exc


def _parse(path: Path, text: str) -> list[Entry]:
    entries: list[Entry] = []
    seen: dict[bytes | str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        where = f"{path}, line {number}"
        if _is_remark(line):
            continue
        entry = _entry(line.strip(), where)
        for what, key in (("token", entry.digest), ("name", entry.name)):
            if key in seen:
                raise ConfigError(f"{where}: the same {what} as in line {seen[key]}")
            seen[key] = number
        entries.append(entry)
        if len(entries) > MOST_TOKENS:
            raise ConfigError(f"{where}: over {MOST_TOKENS} tokens")
    return entries


def _is_remark(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _entry(line: str, where: str) -> Entry:
    # The line is not repeated: somebody may have put a token there.
    if not (parts := _LINE.fullmatch(line)):
        raise ConfigError(f"{where}: want USER WHEN SHA256 NAME, the SHA-256 in 64 letters 0-9 and a-f")
    user, created, digest_, name = parts.groups()
    if not _WHEN.fullmatch(created):
        raise ConfigError(f"{where}: when it was made must be like 2026-03-01T09:30:00Z")
    number = _checked_user(int(user), f"{where}: ")
    return Entry(number, created, bytes.fromhex(digest_), _checked_name(name, f"{where}: "))


def _checked_user(user: int, where: str = "") -> int:
    if not 1 <= user <= LAST_USER:
        raise ConfigError(f"{where}user: want a number from 1 to {LAST_USER}")
    return user


def _checked_name(name: str, where: str = "") -> str:
    if not (name.strip() and name.isprintable() and len(name) <= LONGEST_NAME):
        raise ConfigError(f"{where}name: want 1 to {LONGEST_NAME} letters that can be printed")
    return name.strip()


# --- writing -----------------------------------------------------------------------------------------------


def add(path: Path, *, user: int, name: str) -> tuple[str, Entry]:
    """Make a token for ``user`` and put it into the file, which is made if there is none; gives the token.

    Raises:
        ConfigError: that cannot be, or the file cannot be read or written.
    """
    token = PREFIX + secrets.token_urlsafe(32)
    when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    entry = Entry(_checked_user(user), when, digest(token), _checked_name(name))

    def added(text: str) -> str:
        if any(other.name == entry.name for other in _parse(path, text)):
            raise ConfigError(f"{path}: there is a token named {entry.name!r} already")
        return text + ("" if text.endswith("\n") else "\n") + entry.line

    _change(path, added, make=True)
    return token, entry


def revoke(path: Path, what: str) -> Entry:
    """Take a token out of the file; ``what`` is its name, or the beginning of its SHA-256.

    Raises:
        ConfigError: there is none, or more than one, or the file cannot be read or written.
    """
    gone: list[Entry] = []

    def without(text: str) -> str:
        gone[:] = [entry for entry in _parse(path, text) if _is_meant(entry, what)]
        if len(gone) != 1:
            why = f"more than one token is {what!r}" if gone else f"no token is {what!r}"
            raise ConfigError(f"{path}: {why}; give a name, or {FEWEST_ID} or more letters of an id")
        sum_ = gone[0].digest.hex()
        return "\n".join(line for line in text.split("\n") if _is_remark(line) or line.split()[2] != sum_)

    _change(path, without)
    return gone[0]


def _is_meant(entry: Entry, what: str) -> bool:
    return entry.name == what or (len(what) >= FEWEST_ID and entry.digest.hex().startswith(what))


def _change(path: Path, edit: Callable[[str], str], *, make: bool = False) -> None:
    """Replace the file as a whole, and never by one that is wrong; nobody else changes it meanwhile."""
    target = Path(os.path.realpath(path))
    try:
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            is_new = make and not target.exists()
            text = edit(HEAD if is_new else _text(path))
            _parse(path, text)
            _replace(target, text, None if is_new else target.stat())
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as exc:
        raise ConfigError(f"cannot write the tokens in {path}: {exc.strerror}") from exc


def _replace(target: Path, text: str, old: os.stat_result | None) -> None:
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    number = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(text.encode())
            file.flush()
            if old is not None:  # whoever could read it still can
                os.fchown(number, old.st_uid, old.st_gid)
                os.fchmod(number, stat.S_IMODE(old.st_mode))
            os.fsync(number)
        beside.replace(target)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
