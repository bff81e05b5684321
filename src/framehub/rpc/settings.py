"""Limits and times of remote functions, each with its meaning (spec/rpc.md, section 9). Pure."""

from dataclasses import dataclass, fields
from typing import Final

from framehub.errors import ConfigError

MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """What a proxy allows, and how long it waits. Checked when made; ``ConfigError`` names what is wrong."""

    acknowledge: bool = True
    """Answer every query with QUERY_RECEIVED at once; some foreign clients cannot bear it."""
    ack_timeout: float = 5.0
    """Seconds that a worker has to acknowledge a query; then it counts as dead."""
    dead_after: float = 5.0
    """Seconds without a message after which a worker that ever sent HEART_BEAT counts as dead."""
    wait_gone: float = 10.0
    """Seconds that queries wait for a worker of a function whose workers have just gone."""
    wait_start: float = 5.0
    """Seconds after the proxy's start in which queries wait for workers to register."""
    max_queue: int = 10_000
    """Queries that may wait for a worker; one more is answered BUSY."""
    max_bytes: int = 256 * MIB
    """Bytes of all arguments of queries that are not answered yet; beyond it the answer is BUSY."""
    max_wait: float = 10.0
    """Seconds that a query may have to wait for a worker, as its workers get on now; one that would wait
    longer is answered BUSY, and so it is sooner where callers give up before. ``inf``: however long."""
    window: int = 64
    """Queries that one worker may have at a time."""
    attempts: int = 3
    """Workers that may die of one query before it is given up as poison."""
    kept_seconds: float = 300.0
    """How long a result is kept for a client that does not acknowledge it."""
    kept_bytes: int = 64 * MIB
    """Bytes of results kept for one client; the oldest make room."""
    kept_bytes_in_all: int = 256 * MIB
    """Bytes of results kept for all clients."""
    remembered_seconds: float = 60.0
    """How long the id of an acknowledged answer is known as used."""
    max_remembered: int = 32_768
    """How many of those are known at most."""
    max_workers: int = 4_096
    """Workers registered at a time; one more is refused."""
    max_clients: int = 20_000
    """Clients known at a time; those that have nothing here make room."""
    max_strikes: int = 16
    """Malformed messages of one peer in ten seconds; after one more it is not heard for a minute."""
    group_seconds: float = 600.0
    """How long the answers of a group are kept, acknowledged or not, for whoever asks again."""
    group_bytes: int = 128 * MIB
    """Bytes of answers kept of one group; the oldest acknowledged ones make room first."""
    group_running: int = 1_024
    """Queries of one group that may run at a time; a group may ask for fewer."""
    group_queue: int = 4_000
    """Queries of one group that may wait for a worker; one more is answered BUSY. All groups together may
    fill half of ``max_queue`` and of ``max_bytes``."""
    group_ahead: float = 0.01
    """Seconds of work of groups that a worker is given ahead, so that a query of a client finds no long line
    there; at least two queries for each that it runs at a time, and coroutines as many as it takes."""
    max_groups: int = 1_024
    """Groups known at a time; a query of one more is answered BUSY."""
    max_questions: int = 2_000
    """Questions about coders and functions of one client in a second; one more is answered BUSY."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """How a client repeats itself."""

    resend: float = 1.0
    """Seconds until a query without QUERY_RECEIVED is sent again; each time twice as long."""
    resend_most: float = 10.0
    """The longest of these waits."""
    ask_again: float = 15.0
    """Seconds after which a query that was received but not answered is sent again, to be sure."""
    spread: float = 0.5
    """Seconds over which everything is sent again after a reconnection."""
    silence: float = 3.0
    """Seconds without a word after which the proxy is asked something easy; after twice as many the socket
    is made anew."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """How a worker shows that it is there, and what it remembers."""

    heartbeat: float = 1.0
    """Seconds between two HEART_BEATs."""
    resend: float = 5.0
    """Seconds until an answer that was not acknowledged is sent again; each time twice as long."""
    silence: float = 3.0
    """Seconds without a word of the proxy after which it is asked; after twice as many the socket is made
    anew."""
    window: int = 64
    """Queries that it takes at a time."""
    attempts: int = 3
    """Processes that may die of one query, where the proxy cannot count them."""
    kept_seconds: float = 300.0
    """How long an answer is kept that the proxy does not acknowledge."""
    remembered_seconds: float = 60.0
    """How long an acknowledged answer is kept, should the proxy ask again."""
    max_remembered: int = 10_000
    """How many answers are kept at most."""
    kept_bytes: int = 64 * MIB
    """Bytes of answers kept at most; the oldest acknowledged ones make room first."""

    def __post_init__(self) -> None:
        check(self)


def check(settings: ProxySettings | ClientSettings | WorkerSettings) -> None:
    """Refuse what cannot be: every number is above zero."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        if type(value) is not bool and not value > 0:
            raise ConfigError(f"{field.name} must be above zero, not {value!r}")
