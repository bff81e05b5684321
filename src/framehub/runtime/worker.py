"""``Worker``: Python functions that anybody may call."""

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar, overload

import uvloop

from framehub.errors import ConfigError, FramehubError
from framehub.rpc.settings import WorkerSettings
from framehub.runtime.addresses import Addresses, several
from framehub.runtime.curve import CurveClient
from framehub.runtime.functionset import FunctionSet, Redispatch
from framehub.runtime.signals import on_ending
from framehub.runtime.workdone import Leftover
from framehub.runtime.worker_link import WorkerLink
from framehub.runtime.worker_links import WorkerLinks
from framehub.runtime.workshop import Workshop
from framehub.runtime.worksource import main_source, stop_here
from framehub.runtime.workthreads import ThreadWorkshop
from framehub.runtime.zmq_setup import Options

log = logging.getLogger("framehub.worker")

DEFAULT_WORKERS: Final = "tcp://127.0.0.1:7403"
DRAIN: Final = 30.0
PATIENCE: Final = 5.0
"""Seconds after which a proxy that has not answered is worth a word."""
_LAST_WORDS: Final = 2.0
"""Seconds that the last answers have to be acknowledged when a worker ends."""
_F = TypeVar("_F", bound=Callable[..., Any])


class Worker:
    """Offers functions to a proxy and runs them, by default in processes of their own.

    The address is the argument, else ``FRAMEHUB_WORKERS``, else ``tcp://127.0.0.1:7403``. There may be
    several, ``["tcp://one:7403", "tcp://other:7403"]``: the worker serves all these gateways at once.
    """

    def __init__(
        self,
        address: Addresses | None = None,
        *,
        processes: int | None = None,
        threads: int | None = None,
        curve: CurveClient | None = None,
        drain: float = DRAIN,
        settings: WorkerSettings | None = None,
        options: Options | None = None,
    ) -> None:
        """``threads`` runs functions in threads of this process instead of ``processes``.

        Raises:
            ConfigError: both are given, or a number that cannot be.
        """
        if processes is not None and threads is not None:
            raise ConfigError("functions run in processes or in threads: give one of the two numbers")
        for name, number in (("processes", processes), ("threads", threads)):
            if number is not None and number < 1:
                raise ConfigError(f"{name} must be at least 1, not {number!r}")
        self.functions = FunctionSet()
        self.address = address
        self.processes = processes
        self.threads = threads
        self.curve = curve
        self.drain = drain
        """Seconds that running functions have to finish when the worker stops."""
        self._settings = settings or WorkerSettings()
        self._options = options
        self._stopping: asyncio.Event | None = None

    @overload
    def function(self, function: _F, /) -> _F: ...

    @overload
    def function(
        self,
        *,
        name: str | None = None,
        coders: tuple[str, str] | None = None,
        redispatch: Redispatch = "always",
        max_runtime: float | None = None,
    ) -> Callable[[_F], _F]: ...

    def function(
        self,
        function: _F | None = None,
        *,
        name: str | None = None,
        coders: tuple[str, str] | None = None,
        redispatch: Redispatch = "always",
        max_runtime: float | None = None,
    ) -> _F | Callable[[_F], _F]:
        """Offer the decorated function, plain or async, under its own name or ``name``.

        ``coders`` say how argument and result become bytes; ``("json", "json")`` by default, typed by the
        annotations. ``redispatch="unacknowledged"``: never run it twice, even if a worker died in the middle.
        ``max_runtime``: end it after so many seconds.
        """

        def offer(function: _F) -> _F:
            self.functions.add(
                function, name=name, coders=coders, redispatch=redispatch, max_runtime=max_runtime
            )
            return function

        return offer if function is None else offer(function)

    def run(self, address: Addresses | None = None) -> None:
        """Serve until SIGTERM, SIGHUP or Ctrl-C: the last line of a script.

        An error of ours ends it with one line.

        Raises:
            SystemExit: there is nothing to offer, the functions cannot be found again by a process, or others
                offer a function of ours with other coders.
        """
        stop_here()
        logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        if log.level == logging.NOTSET:
            log.setLevel(logging.INFO)
        try:
            uvloop.run(self._run(address))
        except FramehubError as exc:
            raise SystemExit(f"Error: {exc}") from exc

    async def _run(self, address: Addresses | None) -> None:
        on_ending(self.stop)
        await self.serve(address)

    def stop(self) -> None:
        """Say goodbye and finish what runs; ``serve`` returns then. A second time, do not wait."""
        if self._stopping is not None:
            if self._stopping.is_set():
                self.drain = 0
                if self._draining is not None:
                    self._draining.cancel()
            self._stopping.set()

    async def serve(
        self,
        address: Addresses | None = None,
        *,
        source: str | None = None,
        on_ready: Callable[[str], None] | None = None,
        on_alone: Callable[[str], None] = log.warning,
        on_stopping: Callable[[int], None] = lambda _running: None,
    ) -> None:
        """Serve until ``stop``; ``on_ready`` is told each address once the functions can be called there.

        ``on_alone`` is told in words that no proxy has answered for a while. Without them both are logged.
        ``on_stopping`` is told how many calls are waited for.
        ``source`` is where processes find the functions, ``module:attribute``; else what is running now.
        """
        stop_here()
        if not self.functions:
            raise ConfigError("this worker has no functions: decorate some with @worker.function")
        addresses = several(address, self.address, os.environ.get("FRAMEHUB_WORKERS"), DEFAULT_WORKERS)
        self._stopping = asyncio.Event()
        self._draining: asyncio.Task[Leftover] | None = None
        loop = asyncio.get_running_loop()
        failed: asyncio.Future[None] = loop.create_future()
        waiting: dict[str, asyncio.TimerHandle] = {}

        def fail(error: Exception) -> None:
            if not failed.done():
                failed.set_exception(error)

        def ready(address: str) -> None:
            if address in waiting:
                waiting.pop(address).cancel()
            if on_ready is None:
                log.info("%s", self.ready_line(address))
            else:
                on_ready(address)

        links = WorkerLinks(
            [
                WorkerLink(
                    address,
                    self.functions,
                    processes=self.threads or self.processes or _cores(),
                    settings=self._settings,
                    curve=self.curve,
                    options=self._options,
                    on_ready=partial(ready, address),
                    on_refused=fail,
                )
                for address in addresses
            ]
        )
        shop = self._shop(source, links)
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            if not await _started(shop, stopping):
                return
            try:
                links.serve(shop)
                for each in addresses:
                    waiting[each] = loop.call_later(PATIENCE, on_alone, _alone(each))
                await asyncio.wait((stopping, failed), return_when=asyncio.FIRST_COMPLETED)
                _cancel(waiting)
                if not failed.done():
                    on_stopping(shop.running)
                    await self._say_goodbye(links, shop)
            finally:
                _cancel(waiting)
                links.close()
                await shop.stop(0)
            if failed.done():
                failed.result()
        finally:
            stopping.cancel()
            failed.cancel()

    def ready_line(self, address: str) -> str:
        """What is said when the functions can be called."""
        where = f"threads={self.threads}" if self.threads else f"processes={self.processes or _cores()}"
        return f"ready workers={address} functions={','.join(self.functions)} {where}"

    def _shop(self, source: str | None, links: WorkerLinks) -> Workshop | ThreadWorkshop:
        if self.threads is not None:
            return ThreadWorkshop(self.functions, threads=self.threads, on_outcome=links.outcome)
        return Workshop(
            source or main_source(),
            self.functions,
            processes=self.processes or _cores(),
            on_outcome=links.outcome,
            on_died=links.died,
            on_broken=lambda text: log.error("a process cannot start: %s", text),
        )

    async def _say_goodbye(self, links: WorkerLinks, shop: Workshop | ThreadWorkshop) -> None:
        """Take nothing new, give back what was not begun, finish the rest, and see the answers off."""
        links.drain()
        self._draining = asyncio.ensure_future(shop.stop(self.drain, on_waiting=links.give_back))
        with suppress(asyncio.CancelledError):
            leftover = await self._draining
            links.died(leftover.cut_off)
        until = asyncio.get_running_loop().time() + _LAST_WORDS
        # Only while stopping: look, do not wire.
        while links.unacknowledged and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def _started(shop: Workshop | ThreadWorkshop, stopping: asyncio.Future[Any]) -> bool:
    """Start the workshop; False if the worker is to stop before that is done."""
    starting = asyncio.ensure_future(shop.start())
    try:
        await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            return True
        return False
    finally:
        if not starting.done():
            starting.cancel()
            with suppress(asyncio.CancelledError):
                await starting


def _cancel(timers: dict[str, asyncio.TimerHandle]) -> None:
    for timer in timers.values():
        timer.cancel()


def _alone(address: str) -> str:
    text = f"no answer from a proxy at {address} yet: is `framehub serve` up, and are the keys right?"
    return f"{text} Still trying"


def _cores() -> int:
    return len(os.sched_getaffinity(0))
