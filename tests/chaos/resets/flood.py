"""Peers that fill a gateway's queues and reset their connections: ``python -m tests.chaos.resets.flood``.

Each greets as a worker, a client or a service, sends messages and heartbeats without reading an answer, and
ends the connection with a reset, in the middle of whatever there is. How far it is read by then is chance.
"""

import os
import random
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import zmq
from zmq.utils.monitor import recv_monitor_message

ROLES: Final = ("client", "worker", "service")
RESET: Final = struct.pack("ii", 1, 0)
MOST_SECONDS: Final = 0.02
"""What one may take to send."""
GREETING: Final = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)
READY: Final = b"\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06DEALER"
PING: Final = b"\x04\x0b\x04PING\0\0abcd"
_HUB_PING: Final = bytes((0, 0, 0, 0, 14, 1))


def messages(role: str, number: int) -> list[list[bytes]]:
    """What such a peer says first, then again and again: something that is answered."""
    if role == "client":
        again = [b"FUNCTIONS_QUERY", number.to_bytes(16, "big")]
        return [[b"QUERY", number.to_bytes(16, "big"), b"[12]", b"math.factor"], again]
    if role == "worker":
        return [
            [b"WORKER_REGISTER", bytes((0, 0, 0, 1)), b"reset%d" % number, b"json", b"json"],
            [b"HEART_BEAT"],
        ]
    configuration = bytes((0, 0, 0, 0, 15, 0, 2, 0, 0, 0, 0)) + (1 + number % 9).to_bytes(2, "big")
    return [[configuration], [_HUB_PING + b"?"]]


def wire(parts: Sequence[bytes]) -> bytes:
    last = len(parts) - 1
    return b"".join(bytes((int(at < last), len(part))) + part for at, part in enumerate(parts))


def bare(port: int, role: str, number: int, rng: random.Random) -> None:
    """By hand, without keys: heartbeats stand between the messages, as close as it gets."""
    first, again = messages(role, number)
    with socket.create_connection(("127.0.0.1", port), timeout=5) as other, suppress(OSError):
        other.sendall(GREETING)
        got = 0
        while got < 66 and (more := other.recv(66 - got)):
            got += len(more)
        other.settimeout(MOST_SECONDS)
        flood = (wire(again) * 3 + PING) * rng.randrange(1, 3_000)
        other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        other.sendall(READY + wire(first) + flood[: rng.randrange(len(flood))])


class Keyed:
    """By libzmq, with keys."""

    def __init__(self, folder: Path) -> None:
        self._context = zmq.Context()
        self._server = (folder / "gateway.pub").read_text().strip().encode()
        self._secret = (folder / "peer").read_text().strip().encode()
        self._public = (folder / "peer.pub").read_text().strip().encode()

    def __call__(self, port: int, role: str, number: int, rng: random.Random) -> None:
        first, again = messages(role, number)
        other = self._context.socket(zmq.DEALER)
        other.set(zmq.SNDHWM, 0)
        other.set(zmq.HEARTBEAT_IVL, 1)
        other.set(
            zmq.HEARTBEAT_TIMEOUT, 60_000
        )  # or it would end its connections by itself, where it is slow
        other.curve_serverkey, other.curve_secretkey, other.curve_publickey = (
            self._server, self._secret, self._public,
        )  # fmt: skip
        events = other.get_monitor_socket(zmq.EVENT_CONNECTED | zmq.EVENT_HANDSHAKE_SUCCEEDED)
        try:
            other.connect(f"tcp://127.0.0.1:{port}")
            if not events.poll(5_000):
                return
            told = recv_monitor_message(events)
            with suppress(OSError), socket.socket(fileno=os.dup(int(told["value"]))) as there:
                there.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            events.poll(5_000)
            other.send_multipart(first)
            until = time.monotonic() + rng.uniform(0, MOST_SECONDS)
            while time.monotonic() < until:
                for _ in range(100):
                    other.send_multipart(again)
        finally:
            other.disable_monitor()
            other.close(0)


def main() -> None:
    """COUNT SEED FOLDER|- PORT PORT PORT: so many resets, in turn as each of ``ROLES``."""
    count, seed, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    ports = [int(port) for port in sys.argv[4:7]]
    rng = random.Random(seed)
    peer: Callable[[int, str, int, random.Random], None] = bare if folder == "-" else Keyed(Path(folder))
    for number in range(count):
        at = number % len(ROLES)
        with suppress(ConnectionError, TimeoutError):
            peer(ports[at], ROLES[at], number, rng)
        print(number + 1, flush=True)


if __name__ == "__main__":
    main()
