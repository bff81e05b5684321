"""What one user may take: connections, requests a second, bytes a second, how much at a time.

A user is whoever has a token; who has none is known by its address. All connections of a user share its
account. Whoever asks for too much is told which limit that was and when to try again; who sends too many
bytes is read more slowly.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from http import HTTPStatus
from math import inf
from time import monotonic
from typing import Final, Protocol, runtime_checkable

from framehub.errors import ConfigError, FramehubError
from framehub.runtime.entrance import ANONYMOUS, Refused
from framehub.runtime.link import Link, LinkOwner

MOST_ACCOUNTS: Final = 10_000
"""Of those that nobody is connected with, remembered for what they took lately."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """What each user may take. Checked when made; ``ConfigError`` names what is wrong."""

    max_connections: int | None = None
    """WebSockets that one user may have open; one more is refused with HTTP 429."""
    requests_per_second: float | None = None
    """Requests, messages and streams that one user may begin in a second; one more is answered ``limit``."""
    max_open: int | None = None
    """Requests and streams of one user that may be under way; one more is answered ``limit``."""
    bytes_per_second: float | None = None
    """Bytes that one user may send in a second; beyond it its connections are read more slowly."""
    burst: float = 2.0
    """Seconds' worth of requests and bytes that may come at once."""
    users: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Other limits for a user, by its number; "0" is whoever has no token. ``inf``: none."""

    def __post_init__(self) -> None:
        for name in (*OF_ONE, "burst"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"{name} must be above zero, not {value!r}")
        for user, limits in self.users.items():
            if not (user.isascii() and user.isdigit() and int(user) <= 65_535):
                raise ConfigError(f"users: {user!r} is no user: want a number from 0 to 65535")
            for name, value in limits.items():
                if name not in OF_ONE:
                    close = get_close_matches(name, OF_ONE, n=1, cutoff=0.5)
                    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(OF_ONE)}"
                    raise ConfigError(f"users.{user}: {name} is no limit; {hint}")
                if not value > 0:
                    raise ConfigError(f"users.{user}: {name} must be above zero, not {value!r}")

    @property
    def is_on(self) -> bool:
        """Whether anything is limited."""
        return bool(self.users) or any(getattr(self, name) is not None for name in OF_ONE)

    def of(self, user: int) -> dict[str, float]:
        """The limits of one user."""
        own = self.users.get(str(user), {})
        for_all = {name: getattr(self, name) for name in OF_ONE}
        return {name: own.get(name, inf if all_ is None else all_) for name, all_ in for_all.items()}


OF_ONE: Final = tuple(one.name for one in fields(LimitSettings) if one.name not in ("burst", "users"))
"""What can be limited for each user."""


class OverLimit(FramehubError):
    """A user asked for more than it may; the text says which limit, and when to try again."""


class Bucket:
    """So much at once, and so much a second after that."""

    __slots__ = ("_at", "_left", "_most", "_rate")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._most = self._left = max(1.0, rate * burst)
        self._at = now

    def take(self, amount: float, now: float, *, owing: bool = False) -> float:
        """Take; or give the seconds until there is enough. ``owing`` takes in any case."""
        self._left = min(self._most, self._left + (now - self._at) * self._rate)
        self._at = now
        missing = (0.0 if owing else amount) - self._left
        if owing or missing <= 0:
            self._left -= amount
        return max(0.0, (-self._left if owing else missing) / self._rate)

    def is_full(self, now: float) -> bool:
        """Whether nothing was taken of late."""
        return self._left + (now - self._at) * self._rate >= self._most


class Account:
    """One user's, or one address's."""

    __slots__ = ("_bytes", "_counts", "_limits", "_open", "_requests", "connections", "refused", "who")

    def __init__(
        self, who: str, limits: Mapping[str, float], burst: float, counts: Counter[str], now: float
    ) -> None:
        self.who = who
        """``user 7``, or an address."""
        self.connections = 0
        self.refused = 0
        """How often it asked for too much."""
        self._limits = limits
        self._counts = counts
        self._requests = _bucket(limits["requests_per_second"], burst, now)
        self._bytes = _bucket(limits["bytes_per_second"], burst, now)
        self._open: dict[object, Callable[[], int]] = {}

    @property
    def open(self) -> int:
        """Requests and streams under way."""
        return sum(count() for count in self._open.values())

    def connect(self) -> None:
        """One more connection wants to come.

        Raises:
            Refused: there are too many.
        """
        most = self._limits["max_connections"]
        if self.connections >= most:
            self._count("max_connections")
            text = f"{self.who} has {most:g} connections open (max_connections); close one, then try again"
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, text, {"Retry-After": "1"})

    def joined(self, owner: object, count: Callable[[], int]) -> None:
        """A connection is open; ``count`` tells what is under way there."""
        self._open[owner] = count

    def left(self, owner: object) -> None:
        """It is not any more."""
        self._open.pop(owner, None)
        self.connections -= 1

    def begin(self, now: float, *, counted: bool) -> None:
        """Something new is asked for; ``counted`` if it is among what is under way already.

        Raises:
            OverLimit: that is too much.
        """
        most = self._limits["max_open"]
        if most < inf and self.open + (not counted) > most:
            raise self._over("max_open", f"{most:g} requests and streams at a time", "when one has ended")
        if self._requests is not None and (wait := self._requests.take(1, now)):
            rate = self._limits["requests_per_second"]
            raise self._over("requests_per_second", f"{rate:g} requests a second", f"in {wait:.2g} s")

    def refusal(self, now: float) -> str:
        """As ``begin`` for what is not counted yet: why not, or nothing."""
        try:
            self.begin(now, counted=False)
        except OverLimit as exc:
            return str(exc)
        return ""

    def read(self, size: int, now: float) -> float:
        """So many bytes came; the seconds for which no more should."""
        wait = self._bytes.take(size, now, owing=True) if self._bytes is not None else 0.0
        if wait:
            self._counts["bytes_per_second"] += 1
        return wait

    def is_idle(self, now: float) -> bool:
        """Whether there is nothing to remember."""
        buckets = (self._requests, self._bytes)
        return not self.connections and all(one is None or one.is_full(now) for one in buckets)

    def _over(self, limit: str, most: str, again: str) -> OverLimit:
        self._count(limit)
        return OverLimit(f"over {most} for {self.who} ({limit}); it was not begun, try again {again}")

    def _count(self, limit: str) -> None:
        self.refused += 1
        self._counts[limit] += 1


class Accounts:
    """Those of one listener; without limits there are none."""

    def __init__(self, settings: LimitSettings | None = None) -> None:
        self.counts: Counter[str] = Counter()
        """How often each limit was met."""
        self.open: dict[str, Account] = {}
        self._settings = settings or LimitSettings()

    def of(self, user: int, address: str) -> Account | None:
        """Whose connection that would be; None if nothing is limited.

        Raises:
            Refused: it has too many.
        """
        if not self._settings.is_on:
            return None
        who = f"user {user}" if user != ANONYMOUS else f"address {address}"
        account = self.open.get(who)
        if account is None:
            now = monotonic()
            if len(self.open) >= MOST_ACCOUNTS:
                self.open = {name: one for name, one in self.open.items() if not one.is_idle(now)}
            limits = self._settings.of(user)
            account = self.open[who] = Account(who, limits, self._settings.burst, self.counts, now)
        account.connect()
        return account


@runtime_checkable
class Limited(Protocol):
    """An owner of a link that begins only what its account allows."""

    def keep_to(self, account: Account) -> None:
        """Ask this account from now on."""


class Metered:
    """Stands before the owner of a link whose user has limits."""

    __slots__ = ("_account", "_link", "_owner", "_timer")

    def __init__(self, owner: LinkOwner, link: Link, account: Account) -> None:
        self._owner = owner
        self._link = link
        self._account = account
        self._timer: asyncio.TimerHandle | None = None
        account.connections += 1
        if isinstance(owner, Limited):
            owner.keep_to(account)

    def frame_received(self, data: bytes | memoryview) -> None:
        """Count it, and pass it on."""
        wait = self._account.read(len(data), monotonic())
        if wait and self._timer is None:
            self._link.pause("bytes")
            self._timer = asyncio.get_running_loop().call_later(wait, self._read_on)
        self._owner.frame_received(data)

    def link_full(self) -> None:
        """Pass it on."""
        self._owner.link_full()

    def link_ready(self) -> None:
        """Pass it on."""
        self._owner.link_ready()

    def link_lost(self, code: int, reason: str) -> None:
        """The user has a connection less."""
        if self._timer is not None:
            self._timer.cancel()
        self._account.left(self._owner)
        self._owner.link_lost(code, reason)

    def _read_on(self) -> None:
        self._timer = None
        self._link.resume("bytes")


def _bucket(rate: float, burst: float, now: float) -> Bucket | None:
    return Bucket(rate, burst, now) if rate < inf else None
