"""How often somebody failed lately, by address: after so many times they are not listened to for a while."""

from collections import OrderedDict
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

MOST_FAILURES: Final = 10
SECONDS: Final = 60.0
MOST_ADDRESSES: Final = 4_096


class Failures:
    """Counts by address, for a bounded number of addresses. Time is an argument."""

    def __init__(
        self, *, most: int = MOST_FAILURES, seconds: float = SECONDS, addresses: int = MOST_ADDRESSES
    ) -> None:
        self._most = most
        self._seconds = seconds
        self._addresses = addresses
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()  # since when; the oldest first

    def __len__(self) -> int:
        return len(self._counts)

    def count(self, address: str, now: float) -> None:
        """One more."""
        who = _whom(address)
        since, count = self._lately(who, now)
        if not count:
            self._counts.pop(who, None)
            if len(self._counts) >= self._addresses:
                self._counts.popitem(last=False)
        self._counts[who] = (since, count + 1)

    def too_many(self, address: str, now: float) -> bool:
        """Whether there were so many within the time that this address has to wait until it is over."""
        return self._lately(_whom(address), now)[1] >= self._most

    def left(self, address: str, now: float) -> float:
        """Seconds until they are forgotten."""
        return max(0.0, self._lately(_whom(address), now)[0] + self._seconds - now)

    def _lately(self, who: str, now: float) -> tuple[float, int]:
        since, count = self._counts.get(who, (now, 0))
        return (since, count) if now < since + self._seconds else (now, 0)


def _whom(address: str) -> str:
    """Of IPv6, the 64 bits that stand for one place: the rest is its own to choose."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed.packed[:8] + bytes(8), 64)))
    return address
