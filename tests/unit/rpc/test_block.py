from typing import Any

import pytest

from framehub.errors import DecodingError, EncodingError
from framehub.mfp import codec, envelope
from framehub.mfp.frames import RequestFrame
from framehub.rpc import block
from framehub.rpc.block import Attached, Block, EnvelopeCoder

CODER = EnvelopeCoder()
FILES = (Attached(0, b"abc", "a.txt", "text/plain"), Attached(7, b""))
WHOLE = Block("f", {"a": 1}, FILES)


def made(payload: bytes, table: bytes = b"", files: bytes = b"") -> bytes:
    return len(payload).to_bytes(4, "big") + len(table).to_bytes(4, "big") + payload + table + files


@pytest.mark.parametrize("value", [WHOLE, Block("f"), Block("f", 0), Block("ü", None, FILES[1:])])
def test_blocks_survive(value: Block) -> None:
    assert CODER.decode(CODER.encode(value)) == value


def test_it_is_the_body_of_an_mfp_request() -> None:
    """[RPC-6.13] [RPC-6.14]"""
    names = {file.key: (file.name, file.type) for file in FILES}
    payload = envelope.encode("f", {"a": 1}, names=names)
    frame = RequestFrame(id=1, payload=payload, files=tuple((file.key, file.data) for file in FILES))
    assert codec.encode(frame)[5:] == CODER.encode(WHOLE)


def test_without_data_it_is_null_and_other_keys_do_not_matter() -> None:
    assert CODER.decode(made(b'{"endpoint":"f","error":1,"more":{}}')) == Block("f")
    assert CODER.decode(made(b'{"endpoint":"f","filemap":[]}')) == Block("f")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\0" * 7, "at least 8 bytes, this one 7"),
        (b"\xff" * 8, "longer than the block"),
        (made(b'{"endpoint":"f"}') + b"x", "do not fill the block exactly"),
        (made(b'{"endpoint":"f"}', b"\0" * 7), "a map of 7 bytes"),
        (made(b'{"endpoint":"f"}', b"\0" * 8200), "a map of 8200 bytes"),
        (made(b'{"endpoint":"f"}', b"\0" * 4 + b"\xff" * 4, b"x"), "do not fill the block exactly"),
        (made(b'{"endpoint":"f"}', b"\0" * 8), "do not name the same files"),
        (made(b'{"endpoint":"f","filemap":[[0,"",""]]}'), "do not name the same files"),
        (made(b'{"endpoint":"f","filemap":[[0,"",""]]}', b"\0" * 16), "do not name the same files"),
        (made(b'{"endpoint":"f","filemap":[[0,"",""],[0,"",""]]}', b"\0" * 16), "do not name the same files"),
        (made(b'{"endpoint":"f","filemap":[[1,"",""]]}', b"\0" * 8), "do not name the same files"),
        (made(b""), "no envelope"),
        (made(b"[]"), "no envelope: expected object, got array"),
        (made(b'{"data":1}'), "no envelope: object missing required field endpoint"),
        (made(b'{"endpoint":""}'), "no envelope: endpoint: expected str of length >= 1"),
        (made(b'{"endpoint":"f","data":NaN}'), "no envelope"),
        (made(b'{"endpoint":"f","data":"\xff"}'), "no envelope"),
        (made(b'{"endpoint":"f","data":1e400}'), "no envelope"),
        (made(b'{"endpoint":"f","data":{"a":1,"a":2}}'), "duplicate key"),
        (made(b'{"endpoint":"f","data":' + b"[" * 65 + b"]" * 65 + b"}"), "nested deeper than 65"),
    ],
)
def test_other_bytes_are_refused(data: bytes, why: str) -> None:
    """[RPC-6.14] [RPC-6.15]"""
    with pytest.raises(DecodingError) as caught:
        CODER.decode(data)
    assert why.lower() in caught.value.message.lower()


def test_data_may_be_as_deep_as_json_alone() -> None:
    data = made(b'{"endpoint":"f","data":' + b"[" * 64 + b"]" * 64 + b"}")
    assert CODER.encode(CODER.decode(data)) == data


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"a": 1}, "expected a Block, got dict"),
        (Block(""), "a block has an endpoint"),
        (Block("f", b"x"), "bytes are no JSON"),
        (Block("f", None, (FILES[0], FILES[0])), "two files have one key"),
        (Block("f", None, (Attached(-1, b""),)), "no block can carry this"),
        (Block("f", None, (Attached(0, b"", "\ud800"),)), "no block can carry this"),
        (Block("f", None, tuple(Attached(key, b"") for key in range(1025))), "1025 files are more than 1024"),
    ],
)
def test_what_no_block_can_carry_is_refused(value: Any, why: str) -> None:
    with pytest.raises(EncodingError) as caught:
        CODER.encode(value)
    assert why in caught.value.message


def test_data_can_stay_json() -> None:
    assert block.split(block.join("f", b'{"a": 1}', FILES)).data == b'{"a": 1}'
