"""Every message at the proxy's two sockets becomes a row of the journal (spec/journal.md, section 3.4)."""

from collections.abc import Sequence
from struct import Struct
from time import monotonic, monotonic_ns, time_ns
from typing import Final

from framehub.journal.record import NO_ID
from framehub.journal.rpc_rows import IN, OUT, RpcRows, Side, joined
from framehub.rpc import words
from framehub.rpc.asking import About
from framehub.rpc.jobs import Job
from framehub.rpc.texts import error_code
from framehub.runtime.tap import Tap

_MOST_NAMES: Final = 4_096
_HALVES: Final = Struct(">QQ")


class RpcTap:
    """Records what comes from peers and what goes to them."""

    def __init__(self, tap: Tap) -> None:
        self._append = tap.append
        self._light = -1
        if tap.takes_brief:
            self._attend = tap.writer.attend
            self._gathering = tap.writer.gathering
            self._light = tap.writer.gathering.light
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
        error: str | None = None
        if type_ == words.RESPONSE_EXCEPTION:
            error = error_code(parts[2])
        elif type_ == words.RESPONSE_UNKNOWN_FUNCTION:
            error = "unknown_function"
        if job is None:
            at = (time_ns(), monotonic_ns())
            self._append(self._rows.row(at, direction, identity, parts, link=link, error=error))
            return
        coder = None
        parent = NO_ID
        spec = job.spec
        if type_ == words.QUERY:
            coder = self._text(spec.argument) if spec else None
            parent = job.parent if direction == IN else NO_ID
        elif type_ == words.RESPONSE_RESULT:
            coder = self._text(spec.result) if spec else None
        function = self._text(job.function)
        raw = joined(identity, parts)
        if parent is NO_ID and len(raw) <= self._light:
            constant = self._rows.constant(link, direction, identity, parts)
            exchange = _HALVES.unpack(job.wid)
            if self._gathering.note(monotonic(), exchange, constant, (function, error, coder), raw):
                self._attend()
            return
        at = (time_ns(), monotonic_ns())
        row = self._rows.row(
            at,
            direction,
            identity,
            parts,
            link=link,
            exchange=job.wid,
            function=function,
            coder=coder,
            parent=parent,
            error=error,
        )
        self._append(row)

    def _text(self, data: bytes) -> str:
        text = self._texts.get(data)
        if text is None:
            if len(self._texts) >= _MOST_NAMES:
                self._texts.clear()
            text = self._texts[data] = data.decode(errors="replace")
        return text
