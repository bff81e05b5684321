"""The client's side: queries until their answers (spec/rpc.md, section 3). Pure.

``ask`` and its kin put messages into ``out``; ``said`` takes what the proxy says; what has come to an end
stands in ``settled``. The owner calls ``tick`` a few times a second while anything is pending, sends what is
in ``out``, and makes a new socket of the same identity when ``renew`` is set.
"""

from collections.abc import Callable
from enum import StrEnum, auto
from typing import Final

from msgspec import Struct

from framehub.rpc import words
from framehub.rpc.messages import Parts, Way, fault
from framehub.rpc.settings import ClientSettings
from framehub.rpc.texts import BUSY_TEXTS


class Ending(StrEnum):
    """How a query or question ended."""

    RESULT = auto()
    EXCEPTION = auto()
    UNKNOWN_FUNCTION = auto()
    CODERS = auto()
    NO_CODERS = auto()
    FUNCTIONS = auto()
    TIMEOUT = auto()


class Settled(Struct, frozen=True, gc=False):
    """The end of one query or question: ``body`` is the answer's parts after the id."""

    id: bytes
    ending: Ending
    body: tuple[bytes, ...] = ()


_ENDINGS: Final = {
    words.RESPONSE_RESULT: Ending.RESULT,
    words.RESPONSE_EXCEPTION: Ending.EXCEPTION,
    words.RESPONSE_UNKNOWN_FUNCTION: Ending.UNKNOWN_FUNCTION,
    words.CODER_IDENTITY_FOUND: Ending.CODERS,
    words.CODER_IDENTITY_NOT_FOUND: Ending.NO_CODERS,
    words.FUNCTIONS_LIST: Ending.FUNCTIONS,
}
_TO_ACKNOWLEDGE: Final = frozenset(
    (words.RESPONSE_RESULT, words.RESPONSE_EXCEPTION, words.RESPONSE_UNKNOWN_FUNCTION)
)


class _Open:
    """One query or question without an answer."""

    __slots__ = ("acked", "again_at", "deadline", "parts", "taken", "wait")

    def __init__(self, parts: list[bytes], *, deadline: float, again_at: float, wait: float) -> None:
        self.parts = parts
        self.deadline = deadline
        self.again_at = again_at
        self.wait = wait
        self.acked = False
        self.taken = False
        """Whether some proxy has ever acknowledged it: then somebody may be running it."""


class Queries:
    """Keeps each query until its answer and sends it again when that is needed."""

    def __init__(
        self, settings: ClientSettings, *, random: Callable[[], float], new_id: Callable[[], bytes]
    ) -> None:
        """``random`` gives numbers from 0 up to 1, ``new_id`` ids that were never used."""
        self.out: list[list[bytes]] = []
        self.settled: list[Settled] = []
        self.renew = False
        """The link seems dead: a new socket is wanted. The owner resets it."""
        self.extended = False
        """The proxy has shown that it knows the extensions."""
        self.resent = 0
        """Queries that were sent more than once, counted each time."""
        self.ignored = 0
        """Messages that meant nothing to us."""
        self._settings = settings
        self._random = random
        self._new_id = new_id
        self._open: dict[bytes, _Open] = {}
        self._heard = 0.0
        self._probed = False

    @property
    def pending(self) -> int:
        """Queries and questions without an answer."""
        return len(self._open)

    def ask(self, id_: bytes, function: bytes, argument: bytes, *, now: float, timeout: float) -> None:
        """Ask for a function to be run."""
        self._send(id_, [words.QUERY, id_, argument, function], now, timeout)

    def ask_coders(self, id_: bytes, function: bytes, *, now: float, timeout: float) -> None:
        """Ask which coders a function has."""
        self._send(id_, [words.CODER_IDENTITY_QUERY, id_, function], now, timeout)

    def ask_functions(self, id_: bytes, *, now: float, timeout: float) -> None:
        """Ask what functions there are; a foreign proxy never answers."""
        self._send(id_, [words.FUNCTIONS_QUERY, id_], now, timeout)

    def cancel(self, id_: bytes) -> None:
        """Nobody waits for this any more; the proxy is told if it would understand."""
        gone = self._open.pop(id_, None)
        if gone is not None and gone.parts[0] == words.QUERY and self.extended:
            self.out.append([words.CANCEL, id_])

    def said(self, parts: Parts, now: float) -> str | None:
        """Take a message of the proxy's; why it was ignored, if it was."""
        self._heard = now
        self._probed = False
        type_ = parts[0] if parts else b""
        if type_ == words.QUERY_RECEIVED and len(parts) == 2:
            if waiting := self._open.get(parts[1]):
                waiting.acked = waiting.taken = True
                waiting.again_at = now + self._settings.ask_again
            return None
        if type_ == words.RESPONSE_RESULT and len(parts) == 3 and parts[1] in self._open:
            self.out.append([words.RESPONSE_RECEIVED, parts[1]])  # what comes most is looked at least
            del self._open[parts[1]]
            self.settled.append(Settled(parts[1], Ending.RESULT, (parts[2],)))
            return None
        ending = _ENDINGS.get(type_)
        reason = fault(Way.PROXY_TO_CLIENT, parts)
        if ending is None or reason is not None:
            self.ignored += 1
            return reason
        if type_ == words.RESPONSE_EXCEPTION and parts[2] in BUSY_TEXTS and self._is_taken(parts[1], now):
            return None
        if type_ in _TO_ACKNOWLEDGE:
            self.out.append([words.RESPONSE_RECEIVED, parts[1]])
        if ending is Ending.FUNCTIONS:
            self.extended = True
        if self._open.pop(parts[1], None) is not None:
            self.settled.append(Settled(parts[1], ending, tuple(parts[2:])))
        return None

    def connected(self, now: float) -> None:
        """The link is up again: whoever is there now may know nothing of us."""
        self._heard = now
        self._probed = False
        spread = self._settings.spread
        for waiting in self._open.values():
            waiting.acked = False
            waiting.wait = self._settings.resend
            waiting.again_at = now + self._random() * spread

    def tick(self, now: float) -> None:
        """Look at the clock: what is late, what is to be sent again, whether anybody is there."""
        late = [id_ for id_, waiting in self._open.items() if waiting.deadline <= now]
        for id_ in late:
            self.cancel(id_)
            self.settled.append(Settled(id_, Ending.TIMEOUT))
        for waiting in self._open.values():
            if waiting.again_at <= now:
                self._again(waiting, now)
        self._listen(now)

    # --- inside ----------------------------------------------------------------------------------------

    def _send(self, id_: bytes, parts: list[bytes], now: float, timeout: float) -> None:
        if not self._open:
            self._heard = now  # while nothing was asked, silence meant nothing
            self._probed = False
        wait = self._settings.resend
        self._open[id_] = _Open(parts, deadline=now + timeout, again_at=now + wait, wait=wait)
        self.out.append(parts)

    def _is_taken(self, id_: bytes, now: float) -> bool:
        """Whether an earlier proxy took what this one is too busy for: it may be running, so ask again."""
        waiting = self._open.get(id_)
        if waiting is None or not waiting.taken:
            return False
        waiting.again_at = now + self._settings.resend_most * (0.5 + 0.5 * self._random())
        return True

    def _again(self, waiting: _Open, now: float) -> None:
        self.resent += 1
        self.out.append(waiting.parts)
        if waiting.acked:
            waiting.again_at = now + self._settings.ask_again
            return
        waiting.wait = min(2 * waiting.wait, self._settings.resend_most)
        waiting.again_at = now + waiting.wait * (0.5 + 0.5 * self._random())

    def _listen(self, now: float) -> None:
        """Ask something that is answered at once; without an answer the socket is made anew."""
        silent = now - self._heard
        if not self._open or silent < self._settings.silence:
            return
        if not self._probed:
            self._probed = True
            if self.extended:
                self.out.append([words.FUNCTIONS_QUERY, self._new_id()])
            else:
                self.out.append([words.CODER_IDENTITY_QUERY, self._new_id(), self._any_function()])
        elif silent >= 2 * self._settings.silence:
            self.renew = True
            self._heard = now
            self._probed = False

    def _any_function(self) -> bytes:
        for waiting in self._open.values():
            if waiting.parts[0] != words.FUNCTIONS_QUERY:
                return waiting.parts[-1]
        return b"?"
