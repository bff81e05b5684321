"""While a peer lives, its identity belongs to its key (spec/rpc.md, section 10)."""

from collections.abc import Sequence
from typing import Final

FREE_AFTER: Final = 60.0
"""Seconds of silence after which an identity may come with another key."""
_MOST: Final = 20_000
_SWEEP: Final = 1.0
"""Seconds between two looks for identities that are free."""


class KeyBook:
    """Which public key each identity came with first. Time is an argument."""

    def __init__(self) -> None:
        self.foreign = 0
        """Messages dropped: another key's identity."""
        self._keys: dict[bytes, tuple[str, float]] = {}
        self._sweep_at = 0.0

    def rightful(self, batch: list[list[bytes]], keys: Sequence[str], now: float) -> list[list[bytes]]:
        """Those messages whose identity, their first part, is their sender's own."""
        return [
            message for message, key in zip(batch, keys, strict=True) if self._is_own(message[0], key, now)
        ]

    def _is_own(self, identity: bytes, key: str, now: float) -> bool:
        known, until = self._keys.get(identity, (key, 0.0))
        if known != key and now < until:
            self.foreign += 1
            return False
        if now >= self._sweep_at and len(self._keys) >= _MOST and identity not in self._keys:
            self._sweep_at = now + _SWEEP
            self._keys = {name: entry for name, entry in self._keys.items() if entry[1] > now}
        self._keys[identity] = (key, now + FREE_AFTER)
        return True
