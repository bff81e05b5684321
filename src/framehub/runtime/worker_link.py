"""A worker's link to a proxy: one DEALER and the machine; functions run elsewhere."""

import asyncio
import json
import logging
from collections.abc import Callable
from time import monotonic
from typing import Any, Final

from framehub.errors import ConfigError, IncompatibleSpecs
from framehub.rpc.messages import MAX_DESCRIPTION, Way, counts
from framehub.rpc.settings import WorkerSettings
from framehub.rpc.worker import Workbench
from framehub.runtime.curve import CurveClient
from framehub.runtime.functionset import FunctionSet
from framehub.runtime.rpc_client import Unsent, dial, new_identity
from framehub.runtime.zmq_setup import Options
from framehub.runtime.zmq_socket import MessageSocket

log = logging.getLogger("framehub.worker")

TICK: Final = 0.1
LINGER: Final = 0.5


class WorkerLink:
    """``open`` it when functions can be run, ``close`` it in the end."""

    def __init__(
        self,
        address: str,
        functions: FunctionSet,
        *,
        processes: int,
        settings: WorkerSettings,
        curve: CurveClient | None = None,
        options: Options | None = None,
        on_ready: Callable[[], None] = lambda: None,
        on_refused: Callable[[IncompatibleSpecs], None] = lambda _error: None,
    ) -> None:
        """``on_ready`` is told once that the proxy has us, ``on_refused`` that it will not.

        Raises:
            ConfigError: the functions cannot be described to a proxy.
        """
        self.address = address
        self.identity = new_identity()
        self.begin: Callable[[bytes, str, bytes], None] = lambda _wid, _name, _argument: None
        """Has a query run; set by the owner, like ``cancel``."""
        self.cancel: Callable[[bytes], None] = lambda _wid: None
        self._curve = curve
        self._options = options
        self._on_ready = on_ready
        self._on_refused = on_refused
        self._is_ready = False
        self._machine = Workbench(
            settings,
            functions.registrations,
            _about(functions, processes, settings.window),
            once=[name for name, function in functions.items() if function.redispatch == "unacknowledged"],
        )
        self._unsent = Unsent()
        self._has_warned = False
        self._is_connected = False
        self._is_lost = False
        """Whether the log says so, and not yet that it is back."""
        self._timer: asyncio.TimerHandle | None = None
        self._flushing = False
        self._socket: MessageSocket | None = None

    @property
    def unacknowledged(self) -> int:
        """Answers that the proxy may not have."""
        return self._machine.unacknowledged

    def open(self) -> None:
        """Connect, and register whenever a connection is there.

        Raises:
            ConfigError: that is no address.
        """
        self._socket = self._dial()
        self._loop = asyncio.get_running_loop()
        self._tick()

    def close(self) -> None:
        """End the link."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._socket is not None:
            self._flush()
            self._socket.close(linger=LINGER)
            self._socket = None

    def drain(self) -> None:
        """Say goodbye: take nothing new."""
        self._machine.drain()
        self._flush()

    def finished(self, wid: bytes, result: bytes | None, error: str) -> None:
        """A function returned or failed."""
        self._machine.finished(wid, result=result, exception=error, now=monotonic())
        self._soon()

    def died(self, wids: list[bytes]) -> None:
        """What ran these has died."""
        self._machine.died(wids, monotonic())
        self._work()

    def give_back(self, wids: list[bytes]) -> None:
        """These were not begun, and will not be."""
        self._machine.give_back(wids, monotonic())
        self._flush()

    # --- inside ----------------------------------------------------------------------------------------

    def _dial(self) -> MessageSocket:
        return dial(
            self.address,
            self._heard,
            identity=self.identity,
            counts=counts(Way.PROXY_TO_WORKER),
            curve=self._curve,
            options=self._options,
            on_connect=self._connected,
            on_disconnect=self._disconnected,
            on_refused=self._not_let_in,
            on_writable=self._flush,
            on_flood=self._too_large,
        )

    def _not_let_in(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            log.warning("not let in at %s: wrong keys, or not a proxy of functions", self.address)

    def _too_large(self, _identity: bytes) -> None:
        log.warning("%s sent a message of too many parts or bytes: it is lost", self.address)

    def _disconnected(self) -> None:
        self._is_connected = False
        self._lose(f"lost the gateway at {self.address}: connecting again")

    def _lose(self, text: str) -> None:
        if self._is_ready and not self._is_lost:
            self._is_lost = True
            log.warning(text)

    def _connected(self) -> None:
        self._has_warned = False
        self._is_connected = True
        self._machine.connected(monotonic())
        self._work()

    def _heard(self, batch: list[list[bytes]]) -> None:
        now = monotonic()
        for message in batch:
            if reason := self._machine.said(message, now):
                log.warning("the proxy sent what is no message: %s", reason)
        if not self._is_ready and self._machine.welcomed:
            self._is_ready = True
            self._on_ready()
        elif self._is_lost and self._is_connected:
            self._is_lost = False
            log.warning("the gateway at %s has us again", self.address)
        if self._machine.refused is not None:
            self._on_refused(self._machine.refused)
        self._work()

    def _work(self) -> None:
        """Begin what is to begin, end what is to end, send what is to be sent."""
        machine = self._machine
        self._flush()  # first: what is begun has been acknowledged, whatever becomes of us
        begin, machine.to_begin = machine.to_begin, []
        for wid, name, argument in begin:
            self.begin(wid, name, argument)
        cancel, machine.to_cancel = machine.to_cancel, []
        for wid in cancel:
            self.cancel(wid)
        self._flush()

    def _tick(self) -> None:
        self._timer = self._loop.call_later(TICK, self._tick)
        self._machine.tick(monotonic())
        if self._machine.renew:
            self._machine.renew = False
            self._lose(f"no word from {self.address}: connecting anew")
            self._is_connected = False
            assert self._socket is not None
            self._socket.close()
            self._socket = self._dial()
        self._flush()

    def _soon(self) -> None:
        """Send at the end of this turn of the loop: what many functions gave goes out together."""
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        socket = self._socket
        if socket is None:
            return
        self._unsent.send(socket, self._machine.out)


def _about(functions: FunctionSet, processes: int, window: int) -> dict[str, Any]:
    """What WORKER_DESCRIBE says, but for what changes."""
    about = {
        "version": 1,
        "processes": processes,
        "window": window,
        "slots": window if functions.are_async else processes,
        "functions": functions.descriptions,
    }
    try:
        size = len(json.dumps(about, ensure_ascii=False, allow_nan=False).encode())
    except ValueError as exc:
        raise ConfigError(f"the functions cannot be described: {exc}") from exc
    if size > MAX_DESCRIPTION:
        raise ConfigError(
            f"docs and schemas of the functions have {size} bytes, more than {MAX_DESCRIPTION}:"
            " shorten them, or offer some of the functions in another worker"
        )
    return about
