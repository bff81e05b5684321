"""What failed lately, by address: so many different things, and the address has to wait with more."""

from collections import OrderedDict
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

MOST_FAILURES: Final = 10
SECONDS: Final = 60.0
MOST_ADDRESSES: Final = 4_096


class Failures:
    """Remembers few things of each address, for a bounded number of addresses. Time is an argument."""

    def __init__(
        self, *, most: int = MOST_FAILURES, seconds: float = SECONDS, addresses: int = MOST_ADDRESSES
    ) -> None:
        self._most = most
        self._seconds = seconds
        self._addresses = addresses
        self._failed: OrderedDict[str, tuple[float, tuple[bytes, ...]]] = OrderedDict()
        """Since when, and what; the oldest first."""

    def __len__(self) -> int:
        return len(self._failed)

    def count(self, address: str, what: bytes, now: float) -> bool:
        """Remember that ``what`` failed; whether as many as there may be had failed before.

        The same thing again counts once, so give something short that stands for it.
        """
        who = _whom(address)
        since, failed = self._lately(who, now)
        if len(failed) >= self._most:
            return True
        if what in failed:
            return False
        if not failed:
            self._failed.pop(who, None)
            if len(self._failed) >= self._addresses:
                self._failed.popitem(last=False)
        self._failed[who] = (since, (*failed, what))
        return False

    def left(self, address: str, now: float) -> float:
        """Seconds until what failed is forgotten."""
        return max(0.0, self._lately(_whom(address), now)[0] + self._seconds - now)

    def _lately(self, who: str, now: float) -> tuple[float, tuple[bytes, ...]]:
        since, failed = self._failed.get(who, (now, ()))
        return (since, failed) if now < since + self._seconds else (now, ())


def _whom(address: str) -> str:
    """Of IPv6, the 64 bits that stand for one place: the rest is its own to choose."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed.packed[:8] + bytes(8), 64)))
    return address
