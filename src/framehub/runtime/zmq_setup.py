"""How ZeroMQ sockets are set up, and the addresses they listen at and connect to."""

import errno
import time
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import zmq

from framehub.errors import ConfigError

Kind: TypeAlias = Literal["router", "dealer"]
TYPES: Final = {"router": zmq.ROUTER, "dealer": zmq.DEALER}
BACKLOG: Final = 1_024
LONGEST_IDENTITY: Final = 255
LARGEST_PORT: Final = 65_535
LARGEST_MESSAGE: Final = 16 * 1024 * 1024
"""Bytes of a query or an answer, all parts together."""
DEALERS_MORE: Final = 128 * 1024
"""Bytes that a dealer takes more than a router: what a proxy passes on may have a longer id."""
BIND_TRIES: Final = 10
BIND_SECONDS: Final = 0.01
KEEPALIVE_IDLE: Final = 10
"""Seconds of silence after which TCP asks whether the other end is there; then it asks some more times."""
KEEPALIVE_EVERY: Final = 5
KEEPALIVE_TRIES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a socket may be asked to bear. Times are in seconds."""

    max_message_bytes: int = LARGEST_MESSAGE + 64 * 1024
    """Of all parts together; who announces a larger part is disconnected before it is read."""
    max_parts: int = 3 * 1024 + 8
    """Of one message, the identity among them; a message of more is thrown away."""
    queue: int = 1_000
    """Messages that may wait to be sent to each peer.

    What comes has no such limit: if a connection ends while libzmq has stopped reading from it, the next
    heartbeat, ours or the peer's, ends the whole process by a failed assertion (libzmq 4.3.5; issues 3937,
    4364 and 4767).
    """
    max_queued_bytes: int = 256 * 1024 * 1024
    """Memory for what came and was not taken yet; beyond it the peer that sent most of it is disconnected.
    What comes over ``ipc://`` is not counted: nobody can say how much that was."""
    handshake: float = 5.0
    """A peer that has not finished its handshake by then is disconnected."""
    heartbeat: float = 1.0
    """ZeroMQ's own, between the two ends of a connection, so that frozen peers are noticed; 0 for none."""
    heartbeat_timeout: float = 3.0
    """A connection that is silent for so long after a heartbeat is ended."""
    heartbeat_ttl: float = 5.0
    """After so much silence of ours the peer is to end the connection."""
    reconnect: float = 0.1
    """The first wait before connecting again; each is twice as long as the one before, with some jitter."""
    reconnect_most: float = 1.0
    """The longest such wait."""
    only_connected: bool = False
    """Whether a dealer queues only for a connection that is there: else what it sends waits for one."""
    turn_parts: int = 2_048
    """Parts received before others of the event loop have their turn."""
    turn_bytes: int = 4 * 1024 * 1024
    """Bytes received before that."""


def for_dealer(options: Options | None) -> Options:
    """The same for the other side: whatever a router with these options passes on is not too large there."""
    options = options or Options()
    return replace(options, max_message_bytes=options.max_message_bytes + DEALERS_MORE)


def configure(socket: zmq.Socket[bytes], kind: Kind, options: Options, identity: bytes | None) -> None:
    """Set everything that has to be set before there is an address.

    Raises:
        ConfigError: an identity that ZeroMQ does not allow.
    """
    if identity is not None:
        if not 0 < len(identity) <= LONGEST_IDENTITY or identity[0] == 0:
            raise ConfigError(
                f"an identity has 1 to {LONGEST_IDENTITY} bytes, the first of them not 0: {identity.hex()!r}"
            )
        socket.set(zmq.IDENTITY, identity)
    socket.set(zmq.MAXMSGSIZE, options.max_message_bytes)
    socket.set(zmq.SNDHWM, options.queue)
    socket.set(zmq.HANDSHAKE_IVL, _milliseconds(options.handshake))
    socket.set(zmq.HEARTBEAT_IVL, _milliseconds(options.heartbeat))
    socket.set(zmq.HEARTBEAT_TIMEOUT, _milliseconds(options.heartbeat_timeout))
    socket.set(zmq.HEARTBEAT_TTL, _milliseconds(options.heartbeat_ttl))
    socket.set(zmq.RECONNECT_IVL, _milliseconds(options.reconnect))
    socket.set(zmq.RECONNECT_IVL_MAX, _milliseconds(options.reconnect_most))
    socket.set(zmq.LINGER, 0)
    socket.set(zmq.BACKLOG, BACKLOG)
    socket.set(zmq.RCVHWM, 0)
    if kind == "router":
        socket.set(zmq.ROUTER_MANDATORY, 1)
        socket.set(zmq.ROUTER_HANDOVER, 0)
        _notice_the_dead(socket)
    else:
        socket.set(zmq.IMMEDIATE, int(options.only_connected))


def _notice_the_dead(socket: zmq.Socket[bytes]) -> None:
    """Peers that send no heartbeats and vanish with their machine are found out by TCP."""
    socket.set(zmq.TCP_KEEPALIVE, 1)
    socket.set(zmq.TCP_KEEPALIVE_IDLE, KEEPALIVE_IDLE)
    socket.set(zmq.TCP_KEEPALIVE_INTVL, KEEPALIVE_EVERY)
    socket.set(zmq.TCP_KEEPALIVE_CNT, KEEPALIVE_TRIES)
    socket.set(zmq.TCP_MAXRT, 1_000 * (KEEPALIVE_IDLE + KEEPALIVE_TRIES * KEEPALIVE_EVERY))


def listen(socket: zmq.Socket[bytes], address: str) -> str:
    """Bind; the address it really is, with a port where 0 or ``*`` was asked for.

    Raises:
        ConfigError: the address cannot be had.
    """
    try:
        _prepare(socket, address)
        # ZeroMQ listens at interfaces, and looks up no names for that.
        _bind(socket, address.replace("tcp://localhost:", "tcp://127.0.0.1:", 1))
    except zmq.ZMQError as exc:
        raise ConfigError(f"cannot listen on {address}: {_reason(exc)}") from exc
    real = socket.get(zmq.LAST_ENDPOINT)
    assert isinstance(real, bytes)
    return real.decode()


def dial(socket: zmq.Socket[bytes], address: str) -> None:
    """Connect, now or whenever somebody listens there.

    Raises:
        ConfigError: that is no address.
    """
    try:
        if address.endswith((":0", ":*")):
            raise zmq.ZMQError(errno.EINVAL)
        _prepare(socket, address)
        socket.connect(address)
    except zmq.ZMQError as exc:
        raise ConfigError(f"cannot connect to {address}: {_reason(exc)}") from exc


def _bind(socket: zmq.Socket[bytes], address: str) -> None:
    for _ in range(BIND_TRIES - 1):
        try:
            socket.bind(address)
            return
        except zmq.ZMQError as exc:
            if exc.errno != errno.EADDRINUSE:
                raise
        time.sleep(BIND_SECONDS)  # a socket that was closed leaves its port a moment later
    socket.bind(address)


def _prepare(socket: zmq.Socket[bytes], address: str) -> None:
    if address.startswith("tcp://"):  # of which ZeroMQ takes any, 70000 modulo 65536 and no host at all
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        if not host or not (port == "*" or (port.isdecimal() and int(port) <= LARGEST_PORT)):
            raise zmq.ZMQError(errno.EINVAL)
    socket.set(zmq.IPV6, int("[" in address))  # for all, "localhost" would no longer find 127.0.0.1


def _reason(exc: zmq.ZMQError) -> str:
    if exc.errno in {errno.EINVAL, errno.EPROTONOSUPPORT}:
        return "want tcp://HOST:PORT or ipc://PATH"
    if exc.errno == errno.ENODEV:
        return "want * or an IP address of this machine for a host"
    return zmq.strerror(exc.errno or 0)


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1_000)
