"""A message that has begun has to go on coming."""

import asyncio

import pytest

from framehub.runtime.progress import Progress, Watched
from framehub.runtime.share import LEAST_PIECE, Share


class Watch:
    def __init__(self, patience: float = 0.05) -> None:
        self.slow = asyncio.Event()
        self.progress = Progress(patience, self.slow.set)

    async def is_slow(self, within: float = 0.3) -> bool:
        try:
            await asyncio.wait_for(self.slow.wait(), within)
        except TimeoutError:
            return False
        return True


async def test_a_message_that_never_ends_is_too_slow() -> None:
    watch = Watch()
    watch.progress.read(1, completed=False, unfinished=True)
    assert await watch.is_slow()


async def test_what_has_begun_is_unfinished_until_it_is_whole() -> None:
    watch = Watch()
    assert not watch.progress.unfinished
    watch.progress.read(1, completed=False, unfinished=True)
    assert watch.progress.unfinished
    watch.progress.read(1, completed=True, unfinished=False)
    assert not watch.progress.unfinished
    watch.progress.stop()


async def test_whole_messages_are_not() -> None:
    watch = Watch()
    watch.progress.read(1, completed=False, unfinished=True)
    watch.progress.read(1, completed=True, unfinished=False)
    assert not await watch.is_slow()


async def test_each_message_has_its_own_time() -> None:
    watch = Watch(0.1)
    for _ in range(10):
        watch.progress.read(1, completed=True, unfinished=True)
        assert not await watch.is_slow(0.03)
    assert await watch.is_slow()


async def test_much_may_take_longer_than_little() -> None:
    watch = Watch()
    watch.progress.read(2**20, completed=False, unfinished=True)
    assert not await watch.is_slow()


async def test_our_own_pauses_do_not_count() -> None:
    watch = Watch(0.1)
    watch.progress.forgive()
    watch.progress.read(1, completed=False, unfinished=True)
    for _ in range(10):
        assert not await watch.is_slow(0.03)
        watch.progress.forgive()
    assert await watch.is_slow()


async def test_a_pause_may_be_longer_than_any_patience() -> None:
    watch = Watch()
    watch.progress.hold()
    watch.progress.read(1, completed=False, unfinished=True)
    watch.progress.hold()
    assert not await watch.is_slow(0.2)
    watch.progress.forgive()
    assert await watch.is_slow()


async def test_what_begins_in_the_read_that_made_us_pause_has_to_wait_too() -> None:
    watch = Watch()
    watch.progress.hold()
    watch.progress.read(1, completed=True, unfinished=True)
    assert not await watch.is_slow(0.2)
    watch.progress.forgive()
    assert await watch.is_slow()


async def test_after_the_end_nothing_is_watched() -> None:
    watch = Watch()
    watch.progress.read(1, completed=False, unfinished=True)
    watch.progress.stop()
    watch.progress.stop()
    assert not await watch.is_slow(0.1)


async def test_the_parser_gets_everything_and_then_it_is_told() -> None:
    happened: list[str] = []

    class Parser(asyncio.BufferedProtocol):
        def get_buffer(self, _sizehint: int) -> bytearray:
            return bytearray(4)

        def buffer_updated(self, nbytes: int) -> None:
            happened.append(f"parse {nbytes}")

        def connection_lost(self, exc: Exception | None) -> None:
            happened.append("lost")

    watched = Watched(Parser(), Share(), lambda size: happened.append(f"came {size}"), lambda: True)
    watched.get_buffer(4)
    watched.buffer_updated(4)
    watched.connection_lost(None)
    assert happened == ["parse 4", "came 4", "lost"]


async def test_a_parser_is_filled_in_pieces_and_not_at_all_once_it_is_deaf() -> None:
    parsed: list[int] = []

    class Parser(asyncio.BufferedProtocol):
        room = bytearray(2 * LEAST_PIECE)

        def get_buffer(self, _sizehint: int) -> memoryview:
            return memoryview(self.room)

        def buffer_updated(self, nbytes: int) -> None:
            parsed.append(nbytes)

    watched = Watched(Parser(), Share(), lambda _: None, lambda: True)
    piece = watched.get_buffer(-1)
    assert len(piece) == LEAST_PIECE
    piece[0] = 7
    assert Parser.room[0] == 7
    watched.buffer_updated(5)
    watched.deaf = True
    watched.buffer_updated(6)
    assert parsed == [5]


@pytest.mark.parametrize(
    ("came", "between", "parsed"),
    [
        pytest.param("8880 00000000", True, 6, id="alone"),
        pytest.param("8880 00000000 82", True, 6, id="and more"),
        pytest.param("8882 00000000 03e8 ff", True, 8, id="with a code, and more"),
        pytest.param("8802 03e8 ff", True, 4, id="a listener's"),
        pytest.param("8882 00000000 03", True, 7, id="not whole"),
        pytest.param("88", True, 1, id="a byte of it"),
        pytest.param("88fe 007e 00000000 ff", True, 9, id="too long to be one"),
        pytest.param("8880 00000000 82", False, 7, id="inside a frame"),
        pytest.param("8280 00000000 88", True, 7, id="after something else"),
    ],
)
async def test_a_goodbye_is_parsed_alone(came: str, between: bool, parsed: int) -> None:
    told: list[int] = []

    class Parser(asyncio.BufferedProtocol):
        room = bytearray(100)

        def get_buffer(self, _sizehint: int) -> memoryview:
            return memoryview(self.room)

        def buffer_updated(self, nbytes: int) -> None:
            told.append(nbytes)

    watched = Watched(Parser(), Share(), told.append, lambda: between)
    data = bytes.fromhex(came)
    watched.get_buffer(-1)[: len(data)] = data
    watched.buffer_updated(len(data))
    assert told == [parsed, parsed]
