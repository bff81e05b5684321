import os
import socket
import threading
from collections.abc import Iterator

import pytest

from framehub.runtime.workframes import FRAME
from framehub.runtime.workphone import Payloads, Phone


class Exited(BaseException):
    pass


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Phone, socket.socket]]:
    def exit_(code: int) -> None:
        raise Exited(code)

    monkeypatch.setattr(os, "_exit", exit_)
    near, far = socket.socketpair()
    with near, far:
        yield Phone(near), far


def test_frames_both_ways(pair: tuple[Phone, socket.socket]) -> None:
    phone, parent = pair
    phone.send(6, 1, b"ab")
    phone.send_block(b"cd", b"ef")
    assert parent.recv(100) == FRAME.pack(2, 6, 1) + b"abcdef"
    parent.sendall(FRAME.pack(2, 1, 9) + b"xy" + FRAME.pack(0, 3, 8))
    assert phone.hear() == (1, 9, b"xy")
    assert phone.hear() == (3, 8, b"")


def test_long_bodies_wait_for_room(pair: tuple[Phone, socket.socket]) -> None:
    phone, parent = pair
    body = bytes(5_000_000)
    thread = threading.Thread(target=phone.send, args=(6, 1, body))
    thread.start()
    with parent.makefile("rb") as heard:
        assert heard.read(FRAME.size + len(body)) == FRAME.pack(len(body), 6, 1) + body
    thread.join()


def test_without_a_parent_the_process_ends(pair: tuple[Phone, socket.socket]) -> None:
    phone, parent = pair
    parent.close()
    with pytest.raises(Exited):
        phone.hear()
    with pytest.raises(Exited):
        phone.send(6, 1)


def test_payloads_wait_for_their_queries_and_queries_for_their_payloads() -> None:
    payloads, found = Payloads(), []
    payloads.put(1, b"one")
    assert payloads.wait(1) == b"one"
    thread = threading.Thread(target=lambda: found.append(payloads.wait(2)))
    thread.start()
    payloads.put(3, b"three")
    payloads.put(2, b"two")
    thread.join()
    assert found == [b"two"]
    payloads.forget(3)
    payloads.forget(3)
    payloads.put(3, b"other")
    assert payloads.wait(3) == b"other"
