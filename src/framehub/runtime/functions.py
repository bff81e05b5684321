"""``Functions``: remote functions called from Python."""

import asyncio
import json
import os
from types import TracebackType
from typing import Any, Final, Self

from framehub.errors import (
    ConnectFailed,
    DecodingError,
    RemoteBusy,
    RemoteCallError,
    RemoteFunctionError,
    RemoteTimeout,
    UnsupportedFunctionName,
)
from framehub.rpc.calling import Calling
from framehub.rpc.settings import ClientSettings
from framehub.rpc.texts import BUSY
from framehub.runtime.blocking import BlockingFunctions
from framehub.runtime.curve import CurveClient
from framehub.runtime.files import received
from framehub.runtime.function_files import read_whole
from framehub.runtime.rpc_client import ClientLink, Ending, Settled
from framehub.runtime.zmq_setup import Options

DEFAULT_CLIENTS: Final = "tcp://127.0.0.1:7402"
TIMEOUT: Final = 30.0
_KNOWN_FOR: Final = 10.0
"""Seconds for which what was learnt of a function is believed without asking again."""


class Functions:
    """A client of a proxy; ``async with`` it. Calls of any number of tasks are under way at once.

    The address is the argument, else ``FRAMEHUB_CLIENTS``, else ``tcp://127.0.0.1:7402``.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        timeout: float = TIMEOUT,
        curve: CurveClient | None = None,
        settings: ClientSettings | None = None,
        options: Options | None = None,
    ) -> None:
        self.address = address or os.environ.get("FRAMEHUB_CLIENTS") or DEFAULT_CLIENTS
        self.timeout = timeout
        """Seconds that a call may take if it does not say otherwise."""
        self._curve = curve
        self._settings = settings
        self._options = options
        self._link: ClientLink | None = None
        self._known: dict[str, tuple[float, Calling]] = {}
        self._asking: dict[str, asyncio.Future[Calling]] = {}

    @staticmethod
    def blocking(
        address: str | None = None, *, timeout: float = TIMEOUT, curve: CurveClient | None = None
    ) -> BlockingFunctions:
        """The same for code without an event loop: ``with Functions.blocking() as functions: ...``."""
        return BlockingFunctions(lambda: Functions(address, timeout=timeout, curve=curve))

    async def call(self, name: str, /, *args: Any, timeout: float | None = None, **kwargs: Any) -> Any:
        """Call a function by its name and give its result.

        ``timeout`` is in seconds; a parameter of that name is given by its place.

        Raises:
            EncodingError: the arguments are not what it takes; nothing was sent.
            RemoteFunctionError: it failed; ``.message`` says why.
            RemoteBusy: too much is waiting already; it was not run.
            UnsupportedFunctionName: nobody offers it.
            RemoteTimeout: no answer came in time; whether it ran is not known.
            DecodingError: its result cannot be read.
        """
        seconds = self._seconds(timeout)
        until = asyncio.get_running_loop().time() + seconds
        calling = await self._calling(name, until, seconds)
        if calling.argument == "envelope":  # it may have files to read
            argument = await asyncio.to_thread(calling.encode, args, kwargs)
        else:
            argument = calling.encode(args, kwargs)
        try:
            return calling.decode(await self._query(name, argument, until, seconds))
        except (DecodingError, UnsupportedFunctionName):
            self._known.pop(name, None)  # perhaps others offer it now, in another way
            raise

    async def call_bytes(self, name: str, argument: bytes, *, timeout: float | None = None) -> bytes:
        """Call a function with an argument that is bytes already, and give the result's bytes."""
        seconds = self._seconds(timeout)
        until = asyncio.get_running_loop().time() + seconds
        return await self._query(name, argument, until, seconds)

    async def coders(self, name: str, *, timeout: float | None = None) -> tuple[str, str]:
        """The identities of a function's coders, for its argument and its result.

        Raises:
            UnsupportedFunctionName: nobody offers it.
        """
        seconds = self._seconds(timeout)
        settled = await self._open().coders(name.encode(), timeout=seconds)
        if settled.ending is Ending.CODERS:
            argument, result = settled.body
            return argument.decode(), result.decode()
        raise _error(name, settled, self.silence(seconds))

    async def list(self, *, timeout: float | None = None) -> list[dict[str, Any]]:
        """All functions that are offered now: names, coders, docs, schemas, live workers."""
        seconds = self._seconds(timeout)
        settled = await self._open().functions(timeout=seconds)
        if settled.ending is not Ending.FUNCTIONS:
            raise _error("the list of functions", settled, self.silence(seconds))
        listed: list[dict[str, Any]] = json.loads(settled.body[0])["functions"]
        return listed

    async def describe(self, name: str, *, timeout: float | None = None) -> dict[str, Any]:
        """One function as in ``list``; behind a proxy that has no list only its name and its coders.

        Raises:
            UnsupportedFunctionName: nobody offers it.
        """
        seconds = self._seconds(timeout)
        until = asyncio.get_running_loop().time() + seconds
        listing = asyncio.ensure_future(self._open().functions(timeout=seconds))
        try:
            await asyncio.sleep(0)
            argument, result = await self.coders(name, timeout=seconds)
            # Who answers the second question but not the first has no list.
            if listing.done() or self._open().extended:
                entry = _entry(name, await listing)
                if entry is None and self._open().extended:
                    # The list was of before its worker came: the other question waits for that.
                    entry = _entry(name, await self._open().functions(timeout=_left(until)))
                if entry is not None:
                    return entry
        finally:
            listing.cancel()
        return {"name": name, "argument": argument, "result": result}

    async def reach(self, timeout: float) -> None:
        """Until a connection has been made, which all else begins by itself.

        Raises:
            ConnectFailed: there was none in so many seconds.
        """
        link = self._open()
        try:
            await asyncio.wait_for(link.reached.wait(), timeout)
        except TimeoutError:
            raise ConnectFailed(self.address, self._absence()) from None

    async def close(self) -> None:
        """End the connection; calls that are under way fail with ``ConnectionClosed``."""
        if self._link is not None:
            self._link.close()

    async def __aenter__(self) -> Self:
        self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # --- inside ----------------------------------------------------------------------------------------

    def _open(self) -> ClientLink:
        if self._link is None:
            self._link = ClientLink(
                self.address, settings=self._settings, curve=self._curve, options=self._options
            )
        return self._link

    def _absence(self) -> str:
        """Why there has been no connection; empty if there has."""
        if self._link is None or self._link.reached.is_set():
            return ""
        if self._link.refused:
            return "we are not let in there: wrong keys, or not a proxy of functions"
        return "no proxy is there; `framehub serve` starts one"

    def silence(self, seconds: float) -> str:
        """What to say when no answer came in so long."""
        why = self._absence()
        return f"no answer from {self.address}{f': {why}' if why else ' in time'} ({round(seconds, 3):g} s)"

    def _seconds(self, timeout: float | None) -> float:
        return self.timeout if timeout is None else timeout

    async def _query(self, name: str, argument: bytes, until: float, seconds: float) -> bytes:
        settled = await self._open().query(name.encode(), argument, timeout=_left(until))
        if settled.ending is Ending.RESULT:
            return settled.body[0]
        raise _error(name, settled, self.silence(seconds))

    async def _calling(self, name: str, until: float, seconds: float) -> Calling:
        """How to call a function: known, or asked for once, however many calls want to know."""
        known = self._known.get(name)
        if known is not None and asyncio.get_running_loop().time() < known[0]:
            return known[1]
        try:
            async with asyncio.timeout_at(until):
                while True:
                    asking = self._asking.get(name)
                    if asking is None:
                        asking = asyncio.ensure_future(self._learn(name, until))
                        self._asking[name] = asking
                        asking.add_done_callback(lambda done: self._asked(name, done))
                    try:
                        return await asyncio.shield(asking)
                    except RemoteTimeout:
                        await asyncio.sleep(0)  # another call's patience may have ended before ours
        except TimeoutError:
            raise RemoteTimeout(name, self.silence(seconds)) from None

    def _asked(self, name: str, done: asyncio.Future[Calling]) -> None:
        del self._asking[name]
        if not done.cancelled():
            done.exception()  # whoever wanted to know has it; perhaps nobody does any more

    async def _learn(self, name: str, until: float) -> Calling:
        described = await self.describe(name, timeout=_left(until))
        calling = Calling(
            name,
            described["argument"],
            described["result"],
            described.get("parameters"),
            described.get("result_schema"),
            make_file=received,
            read_file=read_whole,
        )
        if "parameters" in described or not self._open().extended:  # else the next call knows more
            self._known[name] = (asyncio.get_running_loop().time() + _KNOWN_FOR, calling)
        return calling


def _entry(name: str, settled: Settled) -> dict[str, Any] | None:
    """What a list says of one function."""
    if settled.ending is Ending.FUNCTIONS:
        for entry in json.loads(settled.body[0])["functions"]:
            if entry["name"] == name:
                return dict(entry)
    return None


def _left(until: float) -> float:
    return max(0.001, until - asyncio.get_running_loop().time())


def _error(name: str, settled: Settled, silence: str) -> RemoteCallError:
    match settled.ending:
        case Ending.EXCEPTION:
            text = settled.body[0].decode(errors="replace")
            kind = RemoteBusy if settled.body[0].startswith(BUSY) else RemoteFunctionError
            return kind(name, text)
        case Ending.UNKNOWN_FUNCTION | Ending.NO_CODERS:
            return UnsupportedFunctionName(name)
        case _:
            return RemoteTimeout(name, silence)
