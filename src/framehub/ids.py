"""32-bit ids that wrap past the living (spec/mfp.md, section 8.1), and no id at all. Pure."""

from collections.abc import Callable
from typing import Final

from framehub.errors import LimitExceeded

LAST: Final = 2**32 - 1
NO_ID: Final = b"\0" * 16
"""Stands for no conversation. It is always this very object: ``is`` tells."""


class Ids:
    """Count 1, 2, ... 2^32-1, 1, ...; after the first wrap, pass over ids that are still alive."""

    def __init__(self, *, first: int = 1, tries: int = 65_536) -> None:
        self._next = first
        self._first = first
        self._wrapped = first != 1
        self._tries = tries

    @property
    def taken(self) -> int:
        """How many ids were counted since the first, modulo 2^32-1."""
        return (self._next - self._first) % LAST

    def has_given(self, id_: int) -> bool:
        """Whether ``id_`` was ever taken; of any id, once they have wrapped."""
        return self._wrapped or id_ < self._next

    def take(self, is_live: Callable[[int], bool]) -> int:
        """The next free id; ``is_live`` is only asked once ids can meet again.

        Raises:
            LimitExceeded: a long run of ids is alive; nothing sane holds so many.
        """
        taken = self._next
        if not self._wrapped and taken < LAST:
            self._next = taken + 1
            return taken
        if not self._wrapped:
            self._advance()
            return taken
        for _ in range(self._tries):
            taken = self._next
            self._advance()
            if not is_live(taken):
                return taken
        raise LimitExceeded("live ids", allowed=self._tries, got=self._tries + 1)

    def _advance(self) -> None:
        if self._next == LAST:
            self._next = 1
            self._wrapped = True
        else:
            self._next += 1
