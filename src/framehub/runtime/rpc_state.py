"""What a proxy has to know again after a restart (spec/rpc.md, section 4.1).

DIR/key           makes the ids that workers see; the same for ever
DIR/roster        workers that were there: one identity in hex a line
DIR/begun-0, -1   queries begun that may not be run twice: 16 bytes each, two files in turn
DIR/quarantine/   queries of which every worker died; arguments only of functions that are recorded whole

Nothing of it is synced to the disk: it is for a proxy that was killed, not for a machine that lost its power.
"""

import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from framehub.errors import ConfigError, JournalError
from framehub.private import make_directory, new_file, open_file, read_file, shared
from framehub.rpc.placing import MAX_BEGUN

KEY_BYTES: Final = 32
_WID: Final = 16
_MOST_POISON: Final = 100


class ProxyState:
    """One proxy's directory, locked; without a directory nothing outlives the process."""

    def __init__(self, directory: Path | None, keeps: Callable[[str], bool] | None = None) -> None:
        """Read what is there, or begin. ``keeps`` says of which functions arguments may be written down.

        Raises:
            ConfigError: the directory cannot be used, or another proxy uses it.
        """
        self._directory = directory
        self._keeps = keeps
        self._begun: int | None = None
        self._begun_bytes = 0
        self._turn = 0
        self.roster: list[bytes] = []
        """Workers that were there when the last proxy ended."""
        self.begun: list[bytes] = []
        """Queries that were begun and may not be run twice."""
        if directory is None:
            self.key = secrets.token_bytes(KEY_BYTES)
            return
        try:
            make_directory(directory)
            if (why := shared(directory)) is not None:
                raise ConfigError(why)
            self._lock = open_file(directory / "lock", os.O_RDWR | os.O_CREAT)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as exc:
                os.close(self._lock)
                raise ConfigError(f"{directory}: another proxy uses it") from exc
            self.key = self._load_key(directory / "key")
            self.roster = self._load_roster(directory / "roster")
            self.begun = self._load_begun()
            self._open_begun()
        except OSError as exc:
            raise ConfigError(f"{exc.filename or directory}: cannot be used: {exc.strerror or exc}") from exc

    def note(self, wids: Sequence[bytes]) -> None:
        """Write down, before they are given away, queries that may not be run twice.

        Raises:
            JournalError: it cannot be written down.
        """
        if self._begun is None:
            return
        data = b"".join(wids)
        try:
            if self._begun_bytes > MAX_BEGUN * _WID:
                self._turn = 1 - self._turn
                self._open_begun(fresh=True)
            while data:
                data = data[os.write(self._begun, data) :]
        except OSError as exc:
            raise JournalError(f"{self._directory}: cannot be written: {exc.strerror or exc}") from exc
        self._begun_bytes += _WID * len(wids)

    def save_roster(self, identities: Iterable[bytes]) -> None:
        """Note who is there.

        Raises:
            JournalError: it cannot be written down.
        """
        if self._directory is None:
            return
        text = "".join(f"{identity.hex()}\n" for identity in identities)
        new = self._directory / "roster.new"
        try:
            with new_file(new) as file:
                file.write(text.encode())
            new.replace(self._directory / "roster")
        except OSError as exc:
            raise JournalError(f"{self._directory}: cannot be written: {exc.strerror or exc}") from exc

    def quarantine(self, wid: bytes, function: str, argument: bytes, deaths: int) -> Path | None:
        """Keep a query that killed every worker, for somebody to look at; where it is kept, if it is."""
        if self._directory is None:
            return None
        place = self._directory / "quarantine"
        try:
            place.mkdir(exist_ok=True, mode=0o700)
            if sum(1 for _ in place.glob("*.json")) >= _MOST_POISON:
                return None
            about = {"function": function, "deaths": deaths, "argument_bytes": len(argument)}
            if self._keeps is None or self._keeps(function):
                _write_new(place / f"{wid.hex()}.bin", argument)
            _write_new(place / f"{wid.hex()}.json", json.dumps(about).encode())
        except OSError:
            return None  # it is only for people: nothing depends on it
        return place / f"{wid.hex()}.json"

    def close(self) -> None:
        """Let another proxy use the directory."""
        if self._directory is not None and self._begun is not None:
            os.close(self._begun)
            os.close(self._lock)
            self._begun = None

    def _load_key(self, path: Path) -> bytes:
        if not path.exists():
            new = path.with_suffix(".new")
            with new_file(new) as file:
                file.write(secrets.token_bytes(KEY_BYTES))
            new.rename(path)
        key = read_file(path)
        if len(key) != KEY_BYTES:
            raise ConfigError(f"{path}: a key has {KEY_BYTES} bytes, not {len(key)}; remove it for a new one")
        return key

    @staticmethod
    def _load_roster(path: Path) -> list[bytes]:
        try:
            return [bytes.fromhex(line) for line in read_file(path).decode().split()]
        except FileNotFoundError:
            return []
        except ValueError as exc:
            raise ConfigError(f"{path}: not a list of identities in hex; remove it") from exc

    def _begun_path(self, turn: int) -> Path:
        assert self._directory is not None
        return self._directory / f"begun-{turn}"

    def _load_begun(self) -> list[bytes]:
        paths = [path for path in (self._begun_path(0), self._begun_path(1)) if path.exists()]
        paths.sort(key=lambda path: path.stat().st_mtime_ns)
        if paths:
            self._turn = int(paths[-1].name[-1])
        kept = [read_file(path) for path in paths]
        data = b"".join(told[: len(told) // _WID * _WID] for told in kept)
        wids = [data[at : at + _WID] for at in range(0, len(data), _WID)]
        return wids[-MAX_BEGUN:]

    def _open_begun(self, *, fresh: bool = False) -> None:
        if self._begun is not None:
            os.close(self._begun)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_TRUNC if fresh else 0)
        self._begun = open_file(self._begun_path(self._turn), flags)
        self._begun_bytes = os.fstat(self._begun).st_size
        if self._begun_bytes % _WID:  # a write that was cut short
            os.ftruncate(self._begun, self._begun_bytes // _WID * _WID)


def _write_new(path: Path, data: bytes) -> None:
    with os.fdopen(open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(data)
