"""``Service``: long conversations with clients of a hub."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from math import isfinite
from typing import Any, Final, TypeVar

import uvloop

from framehub.errors import ConfigError, FramehubError
from framehub.hub.served import ServiceSettings
from framehub.hub.serving import ServiceSide
from framehub.runtime.curve import CurveClient
from framehub.runtime.service_functions import ServiceFunctions, checked_name
from framehub.runtime.service_link import ServiceLink
from framehub.runtime.service_running import Running
from framehub.runtime.worksource import stop_here
from framehub.runtime.zmq_setup import Options

log = logging.getLogger("framehub.service")

DEFAULT_SERVICES: Final = "tcp://127.0.0.1:7401"
DRAIN: Final = 30.0
PATIENCE: Final = 5.0
"""Seconds after which a hub that has not answered is worth a word."""
THREADS: Final = 8
LAST_WORDS: Final = 2.0
"""Seconds that the hub has to take the last frames when a service ends."""
LONGEST_TIMEOUT: Final = 2**32 / 1000
_LOOK: Final = 0.02
_F = TypeVar("_F", bound=Callable[..., Any])


class Service:
    """Offers functions to the clients of a hub, under a number.

    The address is the argument, else ``FRAMEHUB_SERVICES``, else ``tcp://127.0.0.1:7401``.
    """

    def __init__(
        self,
        number: int,
        name: str = "",
        *,
        doc: str = "",
        timeout: float | None = None,
        version: int = 2,
        address: str | None = None,
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

    def run(self, address: str | None = None) -> None:
        """Serve until SIGTERM or Ctrl-C: the last line of a script. An error of ours ends it with one line.

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

    async def _run(self, address: str | None) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
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
        address: str | None = None,
        *,
        on_ready: Callable[[str], None] | None = None,
        on_alone: Callable[[str], None] = log.warning,
        on_stopping: Callable[[int], None] = lambda _running: None,
    ) -> None:
        """Serve until ``stop``; ``on_ready`` is told the address once streams can be opened.

        ``on_alone`` is told in words that no hub has answered for a while. Without them both are logged.
        ``on_stopping`` is told how many streams are waited for.

        Raises:
            ConfigError: there is nothing to offer, or that is no address.
        """
        stop_here()
        if not self.functions:
            raise ConfigError("this service has no functions: decorate some with @service.function(1)")
        address = address or self.address or os.environ.get("FRAMEHUB_SERVICES") or DEFAULT_SERVICES
        machine = ServiceSide(
            self.number,
            self.functions,
            interface=self.functions.interface(self.name, self.doc),
            version=self.version,
            timeout=self.timeout or 0,
            settings=self._settings,
        )
        self._stopping = stopping = asyncio.Event()
        self._draining, self._in_haste = None, False
        waiting: asyncio.TimerHandle | None = None
        was_ready = False

        def ready() -> None:
            nonlocal was_ready
            if waiting is not None:
                waiting.cancel()
            if was_ready:
                log.info("the hub at %s has us again", address)
            elif on_ready is None:
                log.info("%s", self.ready_line(address))
            else:
                on_ready(address)
            was_ready = True

        link = ServiceLink(address, machine, curve=self.curve, options=self._options, on_ready=ready)
        running = Running(link, self.functions, threads=self.threads)
        await running.start()
        try:
            link.open()
            waiting = asyncio.get_running_loop().call_later(PATIENCE, lambda: on_alone(_alone(link)))
            await stopping.wait()
            on_stopping(running.running)
            await self._say_goodbye(link, running)
        finally:
            if waiting is not None:
                waiting.cancel()
            await running.stop()
            link.close()

    def ready_line(self, address: str) -> str:
        """What is said when streams can be opened."""
        name = f" name={self.name}" if self.name else ""
        functions = ",".join(one.name for one in self.functions.values())
        return f"ready services={address} service={self.number}{name} functions={functions}"

    async def _say_goodbye(self, link: ServiceLink, running: Running) -> None:
        """Take nothing new, finish the rest, tell whoever is left, and see the last frames off."""
        link.drain()
        self._draining = asyncio.ensure_future(_finished(link, running))
        await asyncio.wait((self._draining,), timeout=0 if self._in_haste else self.drain)
        self._draining.cancel()
        await running.stop()
        link.ping()
        await _until(lambda: link.machine.is_settled, LAST_WORDS)


async def _finished(link: ServiceLink, running: Running) -> None:
    """Until no function runs, and nothing is on its way to us from before our goodbye."""
    while running.running or not link.machine.is_settled:
        await running.finish()
        await asyncio.sleep(_LOOK)


async def _until(condition: Callable[[], bool], seconds: float) -> None:
    # Only while stopping: look, do not wire.
    until = asyncio.get_running_loop().time() + seconds
    while not condition() and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110
        await asyncio.sleep(_LOOK)


def _alone(link: ServiceLink) -> str:
    if link.machine.refusal:
        return f"the hub at {link.address} does not take this service: {link.machine.refusal}. Still trying"
    text = f"no answer from a hub at {link.address} yet: is `framehub serve` up, and are the keys right?"
    return f"{text} Still trying"
