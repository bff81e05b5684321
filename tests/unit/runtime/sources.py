"""Everything that a file can be made of, and an endpoint that keeps the files it is sent."""

import gzip
import io
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from framehub.mfp.settings import Settings
from framehub.runtime.calls import Call
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.memory import pair
from framehub.runtime.peer import Peer

Make: TypeAlias = Callable[[Path], Any]


@pytest.fixture(params=["path", "bytes", "open", "unbuffered", "in memory", "no size"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes of a file on disk what is given to ``File``; what it opened is closed at the end."""
    with ExitStack() as stack:
        makers: dict[str, Make] = {
            "path": lambda path: path,
            "bytes": Path.read_bytes,
            "open": lambda path: stack.enter_context(path.open("rb")),
            "unbuffered": lambda path: stack.enter_context(path.open("rb", buffering=0)),
            "in memory": lambda path: io.BytesIO(path.read_bytes()),
            "no size": lambda path: gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(path.read_bytes(), 1))),
        }
        yield makers[request.param]


def keeper(settings: Settings | None = None) -> tuple[Peer, list[Call]]:
    """A client, and the calls that its server was sent."""
    app = Endpoints()
    calls: list[Call] = []

    @app.on("keep")
    def keep(call: Call) -> object:
        calls.append(call)
        return {key: len(file.data) for key, file in call.files.items()}

    client, _ = pair(theirs=app, settings=settings)
    return client, calls


class Slow:
    """A file whose reading waits, in a thread, until it is let go."""

    def __init__(self) -> None:
        self.asked, self.go = threading.Event(), threading.Event()
        self.left = [b"slow"]

    def read(self, size: int) -> bytes:
        self.asked.set()
        self.go.wait(10)
        return self.left.pop() if self.left else b""
