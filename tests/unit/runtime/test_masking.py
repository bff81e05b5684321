"""What is masked can be read again, and copies are whole."""

import os

import pytest

from framehub.runtime.masking import MASKED_BYTES, ROOM_FOR_HEAD, copied, masked


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 124, 125, 126, 127, 1000, MASKED_BYTES - 1, MASKED_BYTES])
def test_a_masked_message_unmasked_is_the_message(size: int) -> None:
    data = os.urandom(size)
    message = masked(data)
    assert message[0] == 0x82
    if size < 126:
        assert message[1] == 0x80 | size
        rest = message[2:]
    else:
        assert message[1] == 0xFE
        assert int.from_bytes(message[2:4], "big") == size
        rest = message[4:]
    key, body = rest[:4], rest[4:]
    assert bytes(byte ^ key[n % 4] for n, byte in enumerate(body)) == data


def test_every_message_has_a_key_of_its_own() -> None:
    assert len({masked(bytes(64)) for _ in range(100)}) == 100


def test_pieces_are_copied_behind_room_for_a_head() -> None:
    buffer = copied((b"one", b"", b"three"), bytearray())
    assert buffer[ROOM_FOR_HEAD:] == b"onethree"


def test_a_buffer_of_the_right_size_is_used_again() -> None:
    buffer = copied((b"one", b"three"), bytearray())
    assert copied((b"xx", b"yyyyyy"), buffer) is buffer
    assert buffer[ROOM_FOR_HEAD:] == b"xxyyyyyy"
    assert copied((b"x",), buffer) is not buffer
