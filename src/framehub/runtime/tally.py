"""How requests ended and how long they took, by endpoint: counted as they end, for metrics."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final, Protocol

from framehub.codes import ErrorCode, Service
from framehub.mfp.envelope import Envelope
from framehub.mfp.frames import Files
from framehub.runtime.payloads import Opened

BOUNDS: Final = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
"""Seconds: the upper ends of buckets, but for the last, which has none."""
MOST_NAMES: Final = 200
OTHERS: Final = "(others)"
"""What is beyond these names."""
UNKNOWN: Final = "(unknown)"
"""What was asked for and is not here: such names are whatever clients make up."""
RAW: Final = "(raw)"
"""Requests that are no envelopes."""
OK: Final = "ok"
ERROR: Final = "error"
BUSY: Final = "busy"
TIMEOUT: Final = "timeout"
ABORTED: Final = "aborted"


class Ended:
    """What is known of one endpoint."""

    __slots__ = ("buckets", "outcomes", "seconds")

    def __init__(self) -> None:
        self.outcomes: dict[str, int] = {}
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0


class Tally:
    """Counts the requests of a listener."""

    def __init__(self, is_known: Callable[[str], bool]) -> None:
        """``is_known`` says whether there is an endpoint of this name; other names are not kept apart."""
        self._is_known = is_known
        self._ended: dict[str, Ended] = {}

    def ended(self, endpoint: str, outcome: str, seconds: float) -> None:
        """A request is over."""
        one = self._ended.get(endpoint) or self._another(endpoint)
        one.outcomes[outcome] = one.outcomes.get(outcome, 0) + 1
        one.buckets[bisect_left(BOUNDS, seconds)] += 1
        one.seconds += seconds

    def told(self) -> Sequence[tuple[str, Ended]]:
        """Every endpoint that was asked for, sorted."""
        return sorted(self._ended.items())

    def _another(self, endpoint: str) -> Ended:
        if endpoint != RAW and not self._is_known(endpoint):
            endpoint = UNKNOWN
        elif len(self._ended) >= MOST_NAMES:
            endpoint = OTHERS
        return self._ended.setdefault(endpoint, Ended())


class Respond(Protocol):
    """Who sends answers: a peer."""

    def respond(
        self, ref: int, payload: bytes, files: Files = (), *, endpoint: str | None, error: str | None = None
    ) -> None:
        """Nothing is sent if nobody waits for it."""


class Asked:
    """The requests of one connection that are not over; what ``peer`` is given to answer is."""

    def __init__(self, tally: Tally, peer: Respond) -> None:
        self._ended = tally.ended
        self._peer = peer
        self._open: dict[int, tuple[str, float]] = {}

    def begin(self, ref: int, opened: Opened) -> None:
        """One came."""
        self._open[ref] = opened.endpoint if type(opened) is Envelope else RAW, monotonic()

    def respond(
        self, ref: int, payload: bytes, files: Files = (), *, endpoint: str | None, error: str | None = None
    ) -> None:
        """Have it answered: it is over."""
        self._peer.respond(ref, payload, files, endpoint=endpoint, error=error)
        self._over(ref, OK if error is None else BUSY if error == ErrorCode.BUSY else ERROR)

    def given_up(self, ref: int, code: Service) -> None:
        """It will not be answered: its time is over, or somebody wants no answer any more."""
        self._over(ref, TIMEOUT if code is Service.TIMEOUT else ABORTED)

    def close(self) -> None:
        """The connection is gone."""
        for ref in list(self._open):
            self._over(ref, ABORTED)

    def _over(self, ref: int, outcome: str) -> None:
        if asked := self._open.pop(ref, None):
            endpoint, began = asked
            self._ended(endpoint, outcome, monotonic() - began)
