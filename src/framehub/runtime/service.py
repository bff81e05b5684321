"""``Service``: long conversations with clients of a hub."""

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, Final, TypeVar

import uvloop

from framehub.errors import ConfigError, FramehubError
from framehub.hub.served import ServiceSettings
from framehub.hub.serving import ServiceSide
from framehub.runtime.addresses import Addresses, several
from framehub.runtime.curve import CurveClient
from framehub.runtime.service_desk import Desk
from framehub.runtime.service_functions import ServiceFunctions, checked_name
from framehub.runtime.service_link import ServiceLink
from framehub.runtime.service_running import Running
from framehub.runtime.signals import on_ending
from framehub.runtime.worksource import stop_here
from framehub.runtime.zmq_setup import Options

log = logging.getLogger("framehub.service")

DEFAULT_SERVICES: Final = "tcp://127.0.0.1:7401"
DRAIN: Final = 30.0
THREADS: Final = 8
LAST_WORDS: Final = 2.0
"""Seconds that the hub has to take the last frames when a service ends."""
LONGEST_TIMEOUT: Final = 2**32 / 1000
_LOOK: Final = 0.02
_F = TypeVar("_F", bound=Callable[..., Any])


class Service:
    """Offers functions to the clients of a hub, under a number.

    The address is the argument, else ``FRAMEHUB_SERVICES``, else ``tcp://127.0.0.1:7401``. There may be
    several, ``["tcp://one:7401", "tcp://other:7401"]``: the service serves all these gateways at once.
    """

    def __init__(
        self,
        number: int,
        name: str = "",
        *,
        doc: str = "",
        timeout: float | None = None,
        version: int = 2,
        address: Addresses | None = None,
        threads: int = THREADS,
        curve: CurveClient | None = None,
        drain: float = DRAIN,
        settings: ServiceSettings | None = None,
        options: Options | None = None,
    ) -> None:
        """``timeout`` is how many seconds a stream may be silent where its client does not say.

        ``threads`` run the functions that are not async. ``version`` is that of the frames, 1 or 2.

        Raises:
            ConfigError: a number or a name that cannot be.
        """
        if type(number) is not int or not 1 <= number <= 65_535:
            raise ConfigError(f"a service's number is 1 to 65535, not {number!r}")
        if version not in (1, 2):
            raise ConfigError(f"version is 1 or 2, not {version!r}")
        if timeout is not None and not (isfinite(timeout) and 0 < timeout < LONGEST_TIMEOUT):
            raise ConfigError(f"timeout must be above zero and at most 49 days, not {timeout!r}")
        if threads < 1:
            raise ConfigError(f"threads must be at least 1, not {threads!r}")
        self.number = number
        self.name = checked_name("service", name) if name else ""
        self.doc = doc
        self.timeout = timeout
        self.version = version
        self.address = address
        self.threads = threads
        self.curve = curve
        self.drain = drain
        """Seconds that open streams have to finish when the service stops."""
        self.functions = ServiceFunctions()
        self._settings = settings
        self._options = options
        self._stopping: asyncio.Event | None = None
        self._draining: asyncio.Task[None] | None = None
        self._in_haste = False

    def function(self, number: int, *, name: str | None = None) -> Callable[[_F], _F]:
        """Offer the decorated function under ``number``, and its own name or ``name``.

        ``async def f(stream: framehub.ServiceStream)`` has the whole conversation. Any other is called with
        what the first body says, JSON typed by its annotations or bytes; what it returns is the answer, and
        what an async generator yields are answers one by one.

        Raises:
            ConfigError: the number or the name is taken, or it cannot be offered like that.
        """
        if callable(number):
            raise ConfigError("a function of a service has a number: write @service.function(1)")

        def offer(function: _F) -> _F:
            self.functions.add(number, function, name)
            return function

        return offer

    def run(self, address: Addresses | None = None) -> None:
        """Serve until SIGTERM, SIGHUP or Ctrl-C: the last line of a script.

        An error of ours ends it with one line.

        Raises:
            SystemExit: there is nothing to offer, or that is no address.
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
        """Say goodbye and finish open streams; ``serve`` returns then. A second time, do not wait."""
        if self._stopping is not None:
            if self._stopping.is_set():
                self._in_haste = True
                if self._draining is not None:
                    self._draining.cancel()
            self._stopping.set()

    async def serve(
        self,
        address: Addresses | None = None,
        *,
        on_ready: Callable[[str], None] | None = None,
        on_alone: Callable[[str], None] = log.warning,
        on_stopping: Callable[[int], None] = lambda _running: None,
    ) -> None:
        """Serve until ``stop``; ``on_ready`` is told each address once streams can be opened there.

        ``on_alone`` is told in words that no hub has answered for a while. Without them both are logged.
        ``on_stopping`` is told how many streams are waited for.

        Raises:
            ConfigError: there is nothing to offer, or that is no address.
        """
        stop_here()
        if not self.functions:
            raise ConfigError("this service has no functions: decorate some with @service.function(1)")
        addresses = several(address, self.address, os.environ.get("FRAMEHUB_SERVICES"), DEFAULT_SERVICES)
        self._stopping = stopping = asyncio.Event()
        self._draining, self._in_haste = None, False
        desks = [self._desk(each, on_ready) for each in addresses]
        try:
            for desk in desks:
                await desk.running.start()
            for desk in desks:
                desk.open(on_alone)
            await stopping.wait()
            on_stopping(sum(desk.running.running for desk in desks))
            await self._say_goodbye(desks)
        finally:
            for desk in desks:
                desk.close()
                await desk.running.stop()
                desk.link.close()

    def _desk(self, address: str, on_ready: Callable[[str], None] | None) -> Desk:
        """One hub that we serve: a machine, a link and what runs of its own."""
        machine = ServiceSide(
            self.number,
            self.functions,
            interface=self.functions.interface(self.name, self.doc),
            version=self.version,
            timeout=self.timeout or 0,
            settings=self._settings,
        )
        line = self.ready_line(address)
        link = ServiceLink(address, machine, curve=self.curve, options=self._options)
        running = Running(link, self.functions, threads=self.threads)
        return Desk(link, running, on_ready or (lambda _address: log.info("%s", line)))

    def ready_line(self, address: str) -> str:
        """What is said when streams can be opened."""
        name = f" name={self.name}" if self.name else ""
        functions = ",".join(one.name for one in self.functions.values())
        return f"ready services={address} service={self.number}{name} functions={functions}"

    async def _say_goodbye(self, desks: Sequence[Desk]) -> None:
        """Take nothing new, finish the rest, tell whoever is left, and see the last frames off."""
        for desk in desks:
            desk.link.drain()
        self._draining = asyncio.ensure_future(_finished(desks))
        await asyncio.wait((self._draining,), timeout=0 if self._in_haste else self.drain)
        self._draining.cancel()
        for desk in desks:
            await desk.running.stop()
            desk.link.ping()
        await _until(lambda: all(desk.link.machine.is_settled for desk in desks), LAST_WORDS)


async def _finished(desks: Sequence[Desk]) -> None:
    """Until no function runs, and nothing is on its way to us from before our goodbye."""
    while any(desk.running.running or not desk.link.machine.is_settled for desk in desks):
        for desk in desks:
            await desk.running.finish()
        await asyncio.sleep(_LOOK)


async def _until(condition: Callable[[], bool], seconds: float) -> None:
    # Only while stopping: look, do not wire.
    until = asyncio.get_running_loop().time() + seconds
    while not condition() and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110
        await asyncio.sleep(_LOOK)
