"""Every message at the proxy's two sockets becomes a row of the journal (spec/journal.md, section 3.4)."""

from collections.abc import Sequence
from time import monotonic_ns, time_ns
from typing import Final

from framehub.journal.notes import Label, Shape
from framehub.journal.record import NO_ID
from framehub.journal.rpc_rows import IN, OUT, RpcRows, Side
from framehub.rpc import words
from framehub.rpc.asking import About
from framehub.rpc.jobs import Job
from framehub.rpc.texts import error_code
from framehub.runtime.tap import Tap

_MOST_NAMES: Final = 4_096
_CODED, _FAILS = 1, 2
_SAYS: Final = {
    words.QUERY: _CODED,
    words.RESPONSE_RESULT: _CODED,
    words.RESPONSE_EXCEPTION: _FAILS,
    words.RESPONSE_UNKNOWN_FUNCTION: _FAILS,
}
"""Messages that have something coded in them, and those that say why there is no result."""


class RpcTap:
    """Records what comes from peers and what goes to them."""

    def __init__(self, tap: Tap) -> None:
        self._append = tap.append
        self._note = tap.writer.notes.shapes(self._label).message if tap.takes_brief else None
        self._rows = RpcRows()
        self._texts: dict[bytes, str] = {}

    def came(
        self, side: Side, identity: bytes, parts: Sequence[bytes], about: About, link: bytes | None = None
    ) -> None:
        """Record a message that came; ``link`` is that of the MFP client which it came from, if it did."""
        link = link or self._rows.link_of(side, identity)
        if isinstance(about, str):
            at = (time_ns(), monotonic_ns())
            self._append(self._rows.refused(at, identity, parts, about, link))
        else:
            self._record(IN, identity, parts, about, link)

    def went(
        self, side: Side, identity: bytes, parts: Sequence[bytes], job: Job | None, link: bytes | None = None
    ) -> None:
        """Record a message that was sent."""
        link = link or self._rows.link_of(side, identity)
        self._record(OUT, identity, parts, job, link)

    def flooded(self, side: Side, identity: bytes) -> None:
        """Record that a message of too many parts or bytes was thrown away."""
        link = self._rows.link_of(side, identity)
        reason = "too many parts or bytes"
        self._append(self._rows.refused((time_ns(), monotonic_ns()), identity, (), reason, link))

    def _record(
        self,
        direction: int,
        identity: bytes,
        parts: Sequence[bytes],
        job: Job | None,
        link: bytes,
    ) -> None:
        type_ = parts[0]
        says = _SAYS.get(type_, 0)
        coder: bytes | None = None
        error: str | None = None
        parent = NO_ID
        if says == _CODED and job is not None:
            spec = job.spec
            if type_ == words.QUERY:
                coder = spec.argument if spec else None
                parent = job.parent if direction == IN else NO_ID
            else:
                coder = spec.result if spec else None
        elif says == _FAILS:
            error = error_code(parts[2]) if type_ == words.RESPONSE_EXCEPTION else "unknown_function"
        if job is None:
            at = (time_ns(), monotonic_ns())
            self._append(self._rows.row(at, direction, identity, parts, link=link, error=error))
            return
        if parent is NO_ID and self._note is not None:
            first = len(parts[1]) if len(parts) > 1 else 0
            shape = link, direction, type_, len(identity), first, job.function, error, coder
            if self._note(shape, job.wid, identity, parts):
                return
        at = (time_ns(), monotonic_ns())
        row = self._rows.row(
            at,
            direction,
            identity,
            parts,
            link=link,
            exchange=job.wid,
            function=self._text(job.function),
            coder=None if coder is None else self._text(coder),
            parent=parent,
            error=error,
        )
        self._append(row)

    def _label(self, shape: Shape) -> Label:
        link, direction, type_, identity, first, function, error, coder = shape
        constant = self._rows.constant(link, direction, type_, identity, first)
        return constant, self._text(function), error, None if coder is None else self._text(coder)

    def _text(self, data: bytes) -> str:
        text = self._texts.get(data)
        if text is None:
            if len(self._texts) >= _MOST_NAMES:
                self._texts.clear()
            text = self._texts[data] = data.decode(errors="replace")
        return text
