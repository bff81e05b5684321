"""The worker's side: what it was given, and its answers until they are safe (spec/rpc.md, section 5). Pure.

``said`` takes the proxy's messages; ``to_begin`` and ``to_cancel`` are for whoever runs functions;
``finished`` and ``died`` bring back what came of it. ``out`` holds messages to send. The owner calls ``tick``
a few times a second, and makes a new socket of the same identity when ``renew`` is set.
"""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, Final

from framehub.errors import IncompatibleSpecs
from framehub.rpc import words
from framehub.rpc.messages import Parts, Way, fault, registration
from framehub.rpc.settings import WorkerSettings
from framehub.rpc.texts import NO_WORKER, POISON, UNKNOWN_ANSWER, UNKNOWN_OUTCOME, tidy

MAX_BEGUN: Final = 100_000
_TRIES: Final = 3
"""Times that a worker describes itself again to a proxy that does not answer: it may know no descriptions."""


class _Run:
    """A query that is being run, or about to be."""

    __slots__ = ("argument", "deaths", "name")

    def __init__(self, name: bytes, argument: bytes) -> None:
        self.name = name
        self.argument = argument
        self.deaths = 0


class _Answer:
    """An answer, and how long it is kept."""

    __slots__ = ("again_at", "parts", "until", "wait")

    def __init__(self, parts: list[bytes], *, again_at: float, wait: float, until: float) -> None:
        self.parts = parts
        self.again_at = again_at
        self.wait = wait
        self.until = until


class Workbench:
    """Runs no query twice, and loses no answer; see the module."""

    def __init__(
        self,
        settings: WorkerSettings,
        functions: Sequence[tuple[str, str, str]],
        about: Mapping[str, Any],
        *,
        once: Sequence[str] = (),
    ) -> None:
        """``functions`` are names with their coders.

        ``about`` is what WORKER_DESCRIBE says besides what is held; ``once`` names the functions that may not
        be run again when a process dies of them.
        """
        self.out: list[list[bytes]] = []
        self.to_begin: list[tuple[bytes, str, bytes]] = []
        """Queries to run: id, function, argument."""
        self.to_cancel: list[bytes] = []
        """Queries that nobody wants the answer of."""
        self.refused: IncompatibleSpecs | None = None
        """The proxy will not have us: others offer a function of ours with other coders."""
        self.renew = False
        """The link seems dead: a new socket is wanted. The owner resets it."""
        self.welcomed = False
        """The proxy said that it has us, and so that it knows the extensions."""
        self.ignored = 0
        self.dropped = 0
        """Answers that were given up: nobody had acknowledged them for too long, or they were too many."""
        self._settings = settings
        self._functions = functions
        self._names = {name.encode(): name for name, _, _ in functions}
        self._about = about
        self._once = {name.encode() for name in once}
        self._running: dict[bytes, _Run] = {}
        self._unconfirmed: dict[bytes, float] = {}  # not begun before the proxy knows that we have it
        self._answers: OrderedDict[bytes, _Answer] = OrderedDict()  # not acknowledged
        self._remembered: OrderedDict[bytes, _Answer] = OrderedDict()  # acknowledged
        self._kept_bytes = 0
        self._draining = False
        self._beat_at = inf  # not before we have said who we are
        self._heard = 0.0
        self._asked_at = 0.0
        self._registered_at = 0.0
        self._now = 0.0
        self._unanswered = 0  # times that we describe ourselves again
        self._begun: OrderedDict[bytes, None] = OrderedDict()  # what may not be run twice, the oldest first

    @property
    def running(self) -> int:
        """Queries without an answer."""
        return len(self._running)

    @property
    def unacknowledged(self) -> int:
        """Answers that the proxy may not have."""
        return len(self._answers)

    @property
    def holds(self) -> list[str]:
        """Ids of what is running or answered, in hex."""
        returned = {wid for wid, answer in self._answers.items() if answer.parts[0] == words.QUERY_RETURNED}
        held = (*self._running, *self._answers, *self._remembered)
        return [wid.hex() for wid in held if wid not in returned]

    # --- the link --------------------------------------------------------------------------------------

    def connected(self, now: float) -> None:
        """The link is up, for the first time or again: say who we are and what we have."""
        self._heard = self._asked_at = self._now = now
        self._register(now)

    def said(self, parts: Parts, now: float) -> str | None:
        """Take a message of the proxy's; why it was ignored, if it was."""
        self._heard = self._now = now
        type_ = parts[0] if parts else b""
        # What comes most is looked at least.
        if type_ == words.QUERY:
            is_common = len(parts) == 4 and parts[3] in self._names and len(parts[1]) > 0
        else:
            is_common = type_ == words.RESPONSE_RECEIVED and len(parts) == 2 and parts[1] in self._answers
        if not is_common and (reason := fault(Way.PROXY_TO_WORKER, parts)):
            self.ignored += 1
            return reason
        if type_ == words.QUERY:
            self._given(parts, now)
        elif type_ == words.RESPONSE_RECEIVED:
            self._acknowledged(parts[1], now)
        elif type_ == words.QUERY_CONFIRMED:
            if self._unconfirmed.pop(parts[1], None) is not None:
                self._begin(parts[1])
        elif type_ == words.CANCEL:
            self._cancelled(parts[1], now)
        elif type_ == words.WORKER_DESCRIBE:
            self.welcomed = True
            self._unanswered = 0
        elif type_ == words.INCOMPATIBLE_SPECS_FAILURE:
            self.refused = IncompatibleSpecs(*(part.decode(errors="replace") for part in parts[1:]))
        elif now - self._registered_at >= self._settings.heartbeat:
            self._register(now)  # HEART_BEAT: the proxy does not know us
        return None

    def drain(self) -> None:
        """Say goodbye: finish what is there, take nothing new."""
        self._draining = True
        self.out.append(registration(()))
        self.give_back(list(self._unconfirmed), self._now)

    def tick(self, now: float) -> None:
        """Look at the clock: a heart beat, answers to send again, whether anybody is there."""
        settings = self._settings
        self._now = now
        if now >= self._beat_at:
            self._beat_at = now + settings.heartbeat
            self.out.append([words.HEART_BEAT])
            if self._unanswered:  # perhaps there was no room for what we said of ourselves
                self._unanswered -= 1
                self.out.append(self._description())
        self._repeat(now)
        self._forget(now)
        silent = now - self._heard
        if not self.welcomed or silent < settings.silence:
            return
        if silent >= 2 * settings.silence:
            self.renew = True
            self._heard = now
        elif now - self._asked_at >= settings.heartbeat:
            self._asked_at = now
            self.out.append(self._description())

    # --- the work --------------------------------------------------------------------------------------

    def finished(self, wid: bytes, *, result: bytes | None = None, exception: str = "", now: float) -> None:
        """A function returned or failed."""
        if self._running.pop(wid, None) is None:
            return
        self._unconfirmed.pop(wid, None)
        if result is not None:
            self._answer(wid, [words.RESPONSE_RESULT, wid, result], now)
        else:
            self._fail(wid, tidy(exception.encode(errors="replace")), now)

    def died(self, wids: Sequence[bytes], now: float) -> None:
        """The process that ran these has died: the proxy counts that, or we do where it cannot."""
        for wid in wids:
            run = self._running.get(wid)
            if run is None:
                continue
            run.deaths += 1
            if self.welcomed and run.deaths == 1:
                self._return(wid, words.DIED, now)
            elif run.name in self._once:
                del self._running[wid]
                self._fail(wid, UNKNOWN_OUTCOME, now)
            elif run.deaths >= self._settings.attempts:
                del self._running[wid]
                self._fail(wid, POISON, now)
            elif self._draining:
                del self._running[wid]
                self._fail(wid, NO_WORKER, now)
            else:
                self._begin(wid)

    def give_back(self, wids: Sequence[bytes], now: float) -> None:
        """These were never begun and will not be: others may have them."""
        for wid in wids:
            if wid in self._running:
                self._return(wid, words.UNSTARTED, now)

    # --- inside ----------------------------------------------------------------------------------------

    def _register(self, now: float) -> None:
        self._registered_at = now
        self._unanswered = _TRIES
        for wid in self._unconfirmed:  # not begun: if it is still for us, it comes again
            del self._running[wid]
        self._unconfirmed.clear()
        self.out.append(self._description())
        self.out.append(registration(self._functions))
        if self._draining and not self.welcomed:
            self.out.append(registration(()))  # the description says it to those who understand it
        self.out.append([words.HEART_BEAT])
        self._beat_at = now + self._settings.heartbeat
        for answer in self._answers.values():
            self.out.append(answer.parts)
            answer.again_at = now + answer.wait

    def _description(self) -> list[bytes]:
        told = json.dumps({**self._about, "holds": self.holds, "leaving": self._draining}, ensure_ascii=False)
        return [words.WORKER_DESCRIBE, told.encode()]

    def _given(self, parts: Parts, now: float) -> None:
        _, wid, argument, name = parts
        self.out.append([words.QUERY_RECEIVED, wid])
        if wid in self._running:
            return
        kept = self._answers.get(wid) or self._remembered.get(wid)
        if kept is not None:
            if kept.parts[0] != words.QUERY_RETURNED:  # which was sent; twice would count as two deaths
                self.out.append(kept.parts)
            if self._remembered.pop(wid, None):
                self._answers[wid] = self._kept(kept.parts, now)
        elif name not in self._names:
            self._answer(wid, [words.RESPONSE_UNKNOWN_FUNCTION, wid, name], now)
        elif wid in self._begun:
            self._fail(wid, UNKNOWN_ANSWER, now)  # its answer was pushed out
        elif self._draining and self.welcomed:
            self._answer(wid, [words.QUERY_RETURNED, wid, words.UNSTARTED], now)
        else:
            self._running[wid] = _Run(name, argument)
            if self.welcomed and name in self._once:
                self._unconfirmed[wid] = now + self._settings.resend
            else:
                self._begin(wid)

    def _begin(self, wid: bytes) -> None:
        run = self._running[wid]
        self.to_begin.append((wid, self._names[run.name], run.argument))
        if run.name in self._once:
            self._begun[wid] = None
            if len(self._begun) > MAX_BEGUN:
                self._begun.popitem(last=False)

    def _cancelled(self, wid: bytes, now: float) -> None:
        if wid in self._unconfirmed:
            self._return(wid, words.UNSTARTED, now)  # the proxy knows why
        elif wid in self._running:
            self.to_cancel.append(wid)

    def _return(self, wid: bytes, reason: bytes, now: float) -> None:
        del self._running[wid]
        self._unconfirmed.pop(wid, None)
        if reason == words.UNSTARTED:
            self._begun.pop(wid, None)
        self._answer(wid, [words.QUERY_RETURNED, wid, reason], now)

    def _fail(self, wid: bytes, text: bytes, now: float) -> None:
        self._answer(wid, [words.RESPONSE_EXCEPTION, wid, text], now)

    def _answer(self, wid: bytes, parts: list[bytes], now: float) -> None:
        self._answers[wid] = self._kept(parts, now)
        self._kept_bytes += len(parts[2])
        self.out.append(parts)

    def _kept(self, parts: list[bytes], now: float) -> _Answer:
        wait = self._settings.resend
        return _Answer(parts, again_at=now + wait, wait=wait, until=now + self._settings.kept_seconds)

    def _acknowledged(self, wid: bytes, now: float) -> None:
        answer = self._answers.pop(wid, None)
        if answer is None:
            return
        if answer.parts[0] == words.QUERY_RETURNED:
            self._kept_bytes -= len(answer.parts[2])  # should it come again, it is to be run
        else:
            answer.until = now + self._settings.remembered_seconds
            self._remembered[wid] = answer
            if self._is_full():
                self._drop(self._remembered)

    def _repeat(self, now: float) -> None:
        for wid, again_at in self._unconfirmed.items():
            if again_at <= now:
                self._unconfirmed[wid] = now + self._settings.resend
                self.out.append([words.QUERY_RECEIVED, wid])
        for answer in self._answers.values():
            if answer.again_at <= now:
                answer.wait *= 2
                answer.again_at = now + answer.wait
                self.out.append(answer.parts)

    def _forget(self, now: float) -> None:
        for kept in (self._remembered, self._answers):
            while kept and (self._is_full() or _first(kept).until <= now):
                self.dropped += kept is self._answers
                self._drop(kept)

    def _is_full(self) -> bool:
        most = self._settings
        count = len(self._answers) + len(self._remembered)
        return self._kept_bytes > most.kept_bytes or count > most.max_remembered

    def _drop(self, kept: OrderedDict[bytes, _Answer]) -> None:
        _, oldest = kept.popitem(last=False)
        self._kept_bytes -= len(oldest.parts[2])


def _first(kept: OrderedDict[bytes, _Answer]) -> _Answer:
    return next(iter(kept.values()))
