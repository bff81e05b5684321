"""Who may come in (spec/mfp.md, 9.7): knows the tokens, counts wrong ones, and shows out who is revoked."""

import asyncio
import logging
import os
from http import HTTPStatus
from pathlib import Path
from time import monotonic
from typing import Final
from weakref import WeakSet

from framehub.codes import CloseCode
from framehub.errors import ConfigError
from framehub.runtime.entrance import Refused
from framehub.runtime.failures import Failures
from framehub.runtime.tokens import Entry, digest, find, read
from framehub.runtime.websocket import WebSocketLink

log = logging.getLogger("framehub.tokens")

LOOK_SECONDS: Final = 1.0


class TokensInForce:
    """The tokens of a file, as it is now; of one that is wrong after a change, as it was before."""

    def __init__(self, path: Path) -> None:
        """Read it.

        Raises:
            ConfigError: it cannot be read, or a line is wrong.
        """
        self._path = path
        self._seen = _state(path)
        self._entries = read(path)
        if not self._entries:
            log.warning("there is no token in %s", path)

    def find(self, token: str) -> Entry | None:
        """Whose token that is."""
        return find(self._entries, token)

    def look(self) -> list[Entry]:
        """Read the file again if it has changed; gives what is no longer in force."""
        state = _state(self._path)
        if state == self._seen:
            return []
        self._seen = state
        try:
            entries = read(self._path)
        except ConfigError as exc:
            log.error("%s; the tokens read before stay in force", exc)
            return []
        log.info("%d tokens read again from %s", len(entries), self._path)
        before, self._entries = self._entries, entries
        still = {(entry.digest, entry.user) for entry in entries}
        return [entry for entry in before if (entry.digest, entry.user) not in still]


def _state(path: Path) -> tuple[int, ...]:
    """What changes when a file does."""
    try:
        found = os.stat(path)  # noqa: PTH116 - many times; a Path costs more than the call
    except OSError as exc:
        return (exc.errno or 0,)
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev


class Doorkeeper:
    """Stands at every path of a listener. Without tokens anybody may come in."""

    def __init__(self, tokens: Path | None = None, *, allow_anonymous: bool = False) -> None:
        """Read the tokens.

        Raises:
            ConfigError: the file cannot be read, or a line is wrong.
        """
        self._tokens = TokensInForce(tokens) if tokens is not None else None
        self._allow_anonymous = allow_anonymous
        self._failures = Failures()
        self._inside: dict[bytes, WeakSet[WebSocketLink]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def ask(self, token: str | None, address: str) -> Entry | None:
        """Whose token that is; None is somebody without one who may come in all the same.

        Raises:
            Refused: with 401, or 429 after too many wrong ones. A right one is never refused for others.
        """
        if self._tokens is None:
            return None
        if token is None:
            if self._allow_anonymous:
                return None
            raise _unknown("a token is needed")
        self._look()  # a token may have been made, or revoked, a moment ago
        entry = self._tokens.find(token)
        if entry is not None:
            return entry
        now = monotonic()
        if self._failures.count(address, digest(token), now):
            wait = {"Retry-After": str(int(self._failures.left(address, now)) + 1)}
            text = "too many wrong tokens from your address, and this one is wrong too"
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, text, wait)
        raise _unknown("no such token")

    def came_in(self, link: WebSocketLink, entry: Entry) -> None:
        """That WebSocket is open by that token."""
        self._inside.setdefault(entry.digest, WeakSet()).add(link)

    def start(self) -> None:
        """Look after the file from now on."""
        if self._tokens is not None:
            self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._ring)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # --- inside ----------------------------------------------------------------------------------------

    def _ring(self) -> None:
        self._look()
        self.start()

    def _look(self) -> None:
        assert self._tokens is not None
        for entry in self._tokens.look():
            links = self._inside.pop(entry.digest, ())
            log.warning("token %s (%s) of user %d is revoked", entry.id, entry.name, entry.user)
            for link in list(links):
                link.close(CloseCode.POLICY, "token revoked")


def _unknown(text: str) -> Refused:
    return Refused(HTTPStatus.UNAUTHORIZED, text, {"WWW-Authenticate": "Bearer"})
