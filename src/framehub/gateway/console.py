"""What the admin port's page asks for: the state, figures, frames, conversations, what can be called.

These are endpoints of MFP at the admin port's ``/mfp``; their frames are not recorded. Calls from the page go
another way, ``/call``: there it is a client as any other, and recorded as such.
"""

import asyncio
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import msgspec

from framehub.codes import ErrorCode
from framehub.console import explained, frame_rows
from framehub.console.frame_rows import Filter
from framehub.console.past import Older, older
from framehub.console.timeline import timeline
from framehub.errors import ConfigError, JournalError
from framehub.gateway import state
from framehub.gateway.arguments import refusal
from framehub.gateway.callables import callables, service_names
from framehub.gateway.live import Live, Watcher, named
from framehub.journal.reader import read_part, snapshot
from framehub.journal.writer import JournalWriter
from framehub.runtime.calls import Call
from framehub.runtime.endpoints import Endpoints

if TYPE_CHECKING:
    from framehub.gateway.gateway import Gateway

STORY_SECONDS: Final = 10.0
STORY_ROWS: Final = 2_000
STORY_RAW: Final = 512
LONGEST_NAME: Final = 256
_A = TypeVar("_A")
_T = TypeVar("_T")
PAST_ROWS: Final = 100


class Console:
    """Endpoints for a page."""

    def __init__(self, gateway: "Gateway", *, inside: bool) -> None:
        """``inside``: whether what frames carry may be seen, and calls be made."""
        self.live = Live(gateway, inside=inside)
        self.endpoints = Endpoints()
        self._gateway = gateway
        self._inside = inside
        self._reading = asyncio.Lock()  # one reads the journal at a time
        for name, handler in (
            ("watch", self._watch),
            ("frames.watch", self._frames),
            ("frames.past", self._past),
            ("frame", self._frame),
            ("story", self._story),
            ("callables", self._callables),
        ):
            self.endpoints.on(name)(handler)
        for part in (state.connections, state.services, state.functions, state.journal):
            self.endpoints.on(part.__name__)(lambda _call, part=part: part(gateway))

    async def _join(self, call: Call) -> Watcher:
        if not self.live.watchers:
            # What figures are made with loads for a while: not while everybody waits for it.
            await asyncio.to_thread(frame_rows.load)
        return await self.live.join(call.peer)

    async def _watch(self, call: Call) -> dict[str, Any]:
        """Begin to be told ``state`` each second; what there is, and the past minutes."""
        await self._join(call)
        gateway = self._gateway
        return {
            **self.live.now(),
            "version": version("framehub"),
            "inside": self._inside,
            "user": call.user,
            "points": list(self.live.figures.points),
            "ready_line": gateway.ready_line,
            "addresses": state.addresses(gateway),
        }

    async def _frames(self, call: Call) -> dict[str, Any]:
        """Begin to be told ``frames`` that fit, from the row ``before`` on; null ends that."""
        watcher = await self._join(call)
        if call.data is None:
            watcher.watch(None)
            return {"watching": False}
        try:
            watcher.watch(msgspec.convert(call.data, Filter))
        except (msgspec.ValidationError, ConfigError) as exc:
            raise refusal(ErrorCode.BAD_REQUEST, str(exc)) from exc
        return {"watching": True, "before": self.live.upto}

    async def _past(self, call: Call) -> dict[str, Any]:
        """Frames that fit before some row, or the newest, the newest first; and how far back was looked."""
        try:
            asked = msgspec.convert(call.data, _Asked)
        except (msgspec.ValidationError, ConfigError) as exc:
            raise refusal(ErrorCode.BAD_REQUEST, str(exc)) from exc
        found = await self._read_journal(self._older, asked)
        names = service_names(self._gateway)
        return {**found._asdict(), "lines": [named(line, names) for line in found.lines]}

    def _older(self, asked: "_Asked") -> Older:
        return older(self._writer().node, asked.wanted, asked.before, most=PAST_ROWS, inside=self._inside)

    async def _frame(self, call: Call) -> dict[str, Any]:
        """One frame by its number in this node's journal, explained."""
        seq = call.data
        if type(seq) is not int or seq < 1:
            raise refusal(ErrorCode.BAD_REQUEST, "a frame is asked for by its number in the journal")
        row = self.live.recent.get(seq)
        if row is None:
            row = await self._read_journal(self._read, seq)
        if row is None:
            raise refusal(ErrorCode.BAD_REQUEST, f"row {seq} is not in the journal (any more)")
        return explained.explained(row, inside=self._inside)

    def _read(self, seq: int) -> dict[str, Any] | None:
        directory, node = self._journal()
        for part in snapshot(directory, after={node: seq - 1}, upto={node: seq}):
            for batch in read_part(part):
                for row in batch.to_pylist():
                    found: dict[str, Any] = row
                    return found
        return None

    async def _story(self, call: Call) -> dict[str, Any]:
        """One conversation by its name, as a timeline."""
        name = call.data
        if not isinstance(name, str) or not 4 <= len(name.strip()) <= LONGEST_NAME:
            raise refusal(ErrorCode.BAD_REQUEST, "a conversation is named by 32 hex digits, or by LINK:ID")
        return await self._read_journal(self._tell, name)

    async def _read_journal(self, work: Callable[[_A], _T], asked: _A) -> _T:
        """In a thread, one at a time, also where who asked has given up.

        Raises:
            EndpointError: the journal cannot be read, or has not what was asked for.
        """
        await self._reading.acquire()
        reading = asyncio.get_running_loop().run_in_executor(None, work, asked)
        reading.add_done_callback(self._has_read)
        try:
            return await asyncio.shield(reading)
        except JournalError as exc:
            raise refusal(ErrorCode.BAD_REQUEST, str(exc)) from exc

    def _has_read(self, reading: "asyncio.Future[Any]") -> None:
        self._reading.release()
        if not reading.cancelled():
            reading.exception()  # somebody was told, or nobody wants to know any more

    def _tell(self, name: str) -> dict[str, Any]:
        from framehub.report.story import tell_newest  # on this thread: it loads for a while

        directory, _ = self._journal()
        found = tell_newest(name, directory, seconds=STORY_SECONDS, most_rows=STORY_ROWS, most_raw=STORY_RAW)
        rows = found.everything
        if not self._inside:
            rows = [{**row, "raw": None} for row in rows]
        names = service_names(self._gateway)
        told = timeline(found.exchange, found.family, rows, time_ns(), names, found.left_out)
        told["journal"] = str(directory.absolute())
        return told

    def _callables(self, _call: Call) -> list[dict[str, Any]]:
        return callables(self._gateway)

    def _journal(self) -> tuple[Path, str]:
        node = self._writer().node
        return node.directory, node.name

    def _writer(self) -> JournalWriter:
        writer = self._gateway.writer
        if writer is None:
            raise refusal(
                ErrorCode.BAD_REQUEST, "this gateway records nothing: start it with a journal (--journal DIR)"
            )
        return writer


class _Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which frames of the past."""

    wanted: Filter
    before: Annotated[int, msgspec.Meta(ge=1)] | None = None
