"""What tests of replay have in common."""

from collections.abc import AsyncIterator
from functools import partial

import pytest

from framehub.runtime.listen import listen

from .replaying import Do, Place, sent_to


@pytest.fixture
async def place() -> Place:
    """Where replayed traffic goes."""
    return Place()


@pytest.fixture
async def do(place: Place) -> AsyncIterator[Do]:
    """Replay a script there."""
    async with listen("ws://127.0.0.1:0/mfp", place.app) as server:
        place.server = server
        yield partial(sent_to, server.url)
