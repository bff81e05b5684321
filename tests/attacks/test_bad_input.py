"""Bad input, row by row of spec/mfp.md 9.2: what answers it, and whether the connection stays.

All rows run against one gateway, while twenty honest clients work beside them.
"""

import asyncio
import re

import pytest

from .arena import Arena
from .attacker import BINARY, FIN, TEXT, Attacker, attacking, envelope, mfp, ws
from .thrown_at_mfp import BOMBS, u32

MIB = 2**20
ECHO = '{"endpoint":"echo","data":"still here"}'
SIXTY_FIVE = u32(*range(65))

CLOSED: dict[str, tuple[str, bytes, int]] = {
    "a text message": ("", ws(FIN | TEXT, b"hello"), 1003),
    "a message over the limit": ("", ws(FIN | BINARY, declared=16 * MIB + 1), 1009),
    "four bytes": ("", mfp("40 000000"), 1002),
    "nothing at all": ("", mfp(b""), 1002),
    **{f"sub-protocol {n}": ("", mfp(bytes((n << 5,)) + u32(1)), 1002) for n in (0, 6, 7)},
    "id 0": ("", mfp("40 00000000"), 1002),
    "ref 0 of a service frame": ("", mfp("21 00000001 00000000"), 1002),
    "ref 0 of a response": ("", mfp("a0 00000001 00000000"), 1002),
    "ref 0 of a binary frame": ("", mfp("86 00000001 00000000 ff"), 1002),
    **{f"service code {n}": ("", mfp(bytes((0x20 | n,)) + u32(1, 1)), 1002) for n in (0, 5, 6)},
    "a ping that names another": ("", mfp("2f 00000001 00000002"), 1002),
    "a missing ref": ("", mfp("21 00000001"), 1002),
    "a missing size": ("", mfp("41 00000001"), 1002),
    "a missing key": ("", mfp("83 00000001 00000001"), 1002),
    "more declared than present": ("", mfp("41 00000001 00000003 7b7d"), 1002),
    "bytes left over": ("", mfp("41 00000001 00000002 7b7d 00"), 1002),
    "bytes after a service frame": ("", mfp("21 00000001 00000001 00"), 1002),
    "a map that is no multiple of 8": ("", mfp("46 00000001 00000004 00000001"), 1002),
    "a set that is no multiple of 4": ("", mfp("42 00000001 00000003 000001"), 1002),
    "a set of nothing": ("", mfp("42 00000001 00000000"), 1002),
    "a key twice in a set": ("", mfp("42 00000001 00000008 00000007 00000007"), 1002),
    "a key twice in a map": ("", mfp("46 00000001 00000010 00000007 00000000 00000007 00000000"), 1002),
    "65 announced files": ("", mfp(b"\x42" + u32(1, 4 * 65) + SIXTY_FIVE), 1002),
    "65 attached files": (
        "",
        mfp(b"\x46" + u32(1, 8 * 65) + b"".join(u32(key, 0) for key in range(65))),
        1002,
    ),
    "files longer than their bytes": ("", mfp("46 00000001 00000008 00000001 00000002 ff"), 1002),
    "files shorter than their bytes": ("", mfp("46 00000001 00000008 00000001 00000001 ffff"), 1002),
    "a request that announces": ("", mfp("62 00000001 00000004 00000007"), 1002),
    "a request that streams": ("", mfp("64 00000001"), 1002),
    "a response that announces": ("", mfp("a2 00000001 00000001 00000004 00000007"), 1002),
    "a response that streams": ("", mfp("a4 00000001 00000001"), 1002),
    "bytes in a binary frame that has none": ("", mfp("80 00000001 00000001 ff"), 1002),
    "a wrong checksum": ("", mfp("50 00000001 89360841"), 1007),
    "a checksum missing where all must have one": ("mfp.crc32.always", mfp("40 00000001"), 1007),
    "a checksum where there are none": ("mfp", mfp("50 00000001 89360840"), 1002),
    "a wrong checksum of a frame that wants an ack": ("", mfp("58 00000001 00000000"), 1007),
    "the id of a live request": ("", 2 * mfp(envelope(0x61, 1, '{"endpoint":"slow"}')), 1002),
    "the id of a live announced message": ("", 2 * mfp("42 00000001 00000004 00000007"), 1002),
    "the id of a live stream": ("", 2 * mfp(envelope(0x45, 1, '{"endpoint":"sink"}')), 1002),
}


@pytest.mark.parametrize("row", CLOSED)
async def test_what_ends_the_connection(beside: Arena, row: str) -> None:
    protocol, sent, code = CLOSED[row]
    async with attacking(beside.port, protocol=protocol) as attacker:
        await attacker.throw(sent)
        while True:
            kind, payload = await attacker.frame()
            if kind != BINARY:
                break
            assert b"framehub.hello" in payload  # no ack and no answer: nothing in it was used
        assert int.from_bytes(payload[:2], "big") == code
    await beside.settled(20)


NO_ENVELOPES = {
    "not UTF-8": b"\xff\xfe",
    "no JSON": b"{]",
    "no object": b"[]",
    "no endpoint": b'{"data":1}',
    "an empty endpoint": b'{"endpoint":""}',
    "a byte order mark": b'\xef\xbb\xbf{"endpoint":"echo"}',
    "65 levels": b'{"endpoint":"echo","data":' + b"[" * 65 + b"]" * 65 + b"}",
    "4,301 digits": b'{"endpoint":"echo","data":' + b"1" * 4301 + b"}",
    **{name: b'{"endpoint":"echo","data":' + bomb.encode() + b"}" for name, bomb in BOMBS.items()},
}


async def still_there(attacker: Attacker) -> None:
    """The next frame is the answer to a request that is put now."""
    await attacker.throw(mfp(envelope(0x61, 4_000_000_000, ECHO)))
    assert bytes.fromhex(await attacker.message()).endswith(ECHO.encode())


@pytest.mark.parametrize("row", NO_ENVELOPES)
async def test_a_payload_that_is_no_envelope(beside: Arena, row: str) -> None:
    payload = NO_ENVELOPES[row]
    async with attacking(beside.port) as attacker:
        await attacker.throw(mfp(b"\x61" + u32(1, len(payload)) + payload))
        answer = bytes.fromhex(await attacker.message())
        assert (answer[0], answer[5:9]) == (0xA1, u32(1))
        assert b'"code":"bad_request"' in answer
        await attacker.throw(mfp(b"\x41" + u32(2, len(payload)) + payload))
        abort = bytes.fromhex(await attacker.message())
        assert (abort[0], abort[5:]) == (0x23, u32(2))
        await still_there(attacker)


ABORT, TIMEOUT, UNKNOWN = 0x23, 0x22, 0x24

ANSWERED: dict[str, tuple[list[bytes], list[tuple[int, int]]]] = {
    "an endpoint that nobody serves, in a message": (
        [mfp(envelope(0x41, 1, '{"endpoint":"nobody"}'))],
        [(ABORT, 1)],
    ),
    "the same, in a stream": ([mfp(envelope(0x45, 1, '{"endpoint":"nobody"}'))], [(ABORT, 1)]),
    "a binary frame of nothing": ([mfp("86 00000001 00000009 ff")], [(UNKNOWN, 9)]),
    "the same, twice": ([mfp("86 00000001 00000009 ff"), mfp("86 00000002 00000009 ff")], [(UNKNOWN, 9)]),
    "a response to nothing": ([mfp("a0 00000007 00000009")], [(UNKNOWN, 7)]),
    "a file that was not announced": (
        [mfp("42 00000001 00000004 00000007"), mfp("83 00000002 00000001 00000008 ff")],
        [(ABORT, 1)],
    ),
    "a file that came already": (
        [
            mfp("42 00000001 00000008 00000007 00000008"),
            mfp("83 00000002 00000001 00000007 ff"),
            mfp("83 00000003 00000001 00000007 ff"),
        ],
        [(ABORT, 1)],
    ),
    "an early end": (
        [mfp("42 00000001 00000008 00000007 00000008"), mfp("80 00000002 00000001")],
        [(ABORT, 1)],
    ),
    "a chunk in an announced message": (
        [mfp("42 00000001 00000004 00000007"), mfp("85 00000002 00000001 00000007 ff")],
        [(ABORT, 1)],
    ),
    "an announced file in a stream": (
        [mfp(envelope(0x45, 1, '{"endpoint":"sink"}')), mfp("83 00000002 00000001 00000007 ff")],
        [(ABORT, 1)],
    ),
    "one stream too many": (
        [mfp(envelope(0x45, id_, '{"endpoint":"sink"}')) for id_ in range(1, 66)],
        [(ABORT, 65)],
    ),
    "one announced message too many": (
        [mfp(b"\x42" + u32(id_, 4, 7)) for id_ in range(1, 66)],
        [(ABORT, 65)],
    ),
    "one request too many": (
        [mfp(envelope(0x61, id_, '{"endpoint":"slow"}')) for id_ in range(1, 1_026)],
        [(ABORT, 1_025)],
    ),
    "files over the limit of waiting bytes": (
        [
            mfp("42 00000001 00000008 00000001 00000002"),
            mfp(b"\x83" + u32(2, 1, 1) + bytes(600_000)),
            mfp(b"\x83" + u32(3, 1, 2) + bytes(600_000)),
        ],
        [(ABORT, 1)],
    ),
    "service frames about nothing": (
        [mfp(bytes((head,)) + u32(id_, 0xDEADBEEF)) for id_, head in enumerate((0x21, 0x22, 0x23, 0x24), 1)],
        [],
    ),
    "an ack and an unknown with the own bit": (
        [mfp("29 00000001 00000001"), mfp("2c 00000002 00000002")],
        [],
    ),
}


@pytest.mark.parametrize("row", ANSWERED)
async def test_what_is_answered_and_the_connection_stays(beside: Arena, row: str) -> None:
    sent, wanted = ANSWERED[row]
    async with attacking(beside.port) as attacker:
        for frame in sent:
            assert await attacker.throw(frame)
        answers = [bytes.fromhex(await attacker.message()) for _ in wanted]
        assert [(answer[0], int.from_bytes(answer[5:], "big")) for answer in answers] == wanted
        if row != "one request too many":  # there, one more would be another
            await still_there(attacker)


async def test_an_unknown_endpoint_in_a_request(beside: Arena) -> None:
    async with attacking(beside.port) as attacker:
        await attacker.throw(mfp(envelope(0x61, 1, '{"endpoint":"nobody"}')))
        assert b'"code":"unknown_endpoint"' in bytes.fromhex(await attacker.message())
        await still_there(attacker)


async def test_a_handler_that_fails_says_nothing_of_the_inside(arena: Arena) -> None:
    """What it was is in the log, under the name that the answer tells."""
    async with arena.besieged() as siege, attacking(arena.port) as attacker:
        await attacker.throw(mfp(envelope(0x61, 1, '{"endpoint":"fails"}')))
        answer = bytes.fromhex(await attacker.message())
        assert b'"code":"internal"' in answer
        for inside in (b"secret", b"Error", b"Traceback", b".py", b"line "):
            assert inside not in answer
        await still_there(attacker)
    siege.check(0, tracebacks=1)
    (exchange,) = re.findall(rb"exchange ([0-9a-f]{32})", answer)
    assert f"exchange {exchange.decode()}: handler of 'fails' failed" in siege.log


async def test_a_second_response_is_unknown(beside: Arena) -> None:
    async with attacking(beside.port) as attacker:
        await attacker.throw(mfp(envelope(0x61, 1, '{"endpoint":"ask.back"}')))
        question = bytes.fromhex(await attacker.message())
        payload = b'{"endpoint":"who.are.you","data":"first"}'
        for id_ in (2, 3):
            await attacker.throw(mfp(b"\xa1" + u32(id_) + question[1:5] + u32(len(payload)) + payload))
        answers = [bytes.fromhex(await attacker.message()) for _ in range(2)]
        assert sorted(answer[0] for answer in answers) == [UNKNOWN, 0xA1]
        (unknown,) = (answer for answer in answers if answer[0] == UNKNOWN)
        assert unknown[5:] == u32(3)
        await still_there(attacker)


async def test_an_application_that_is_too_slow(beside: Arena) -> None:
    """The gateway gives it up after its `request_timeout`, here 3 s."""
    async with attacking(beside.port) as attacker:
        await attacker.throw(mfp(envelope(0x61, 1, '{"endpoint":"slow"}')))
        answer = bytes.fromhex(await attacker.message())
        assert (answer[0], answer[5:]) == (TIMEOUT, u32(1))
        await still_there(attacker)


async def test_an_announced_message_without_progress(beside: Arena) -> None:
    """Given up after the `progress_timeout`, here 1 s."""
    async with attacking(beside.port) as attacker:
        await attacker.throw(mfp("42 00000001 00000008 00000007 00000008"))
        await attacker.throw(mfp("83 00000002 00000001 00000007 ff"))
        answer = bytes.fromhex(await attacker.message())
        assert (answer[0], answer[5:]) == (ABORT, u32(1))
        await still_there(attacker)


async def test_a_stream_that_its_handler_does_not_read(beside: Arena) -> None:
    """The connection is not read; after the `progress_timeout` the stream is aborted and it is read again."""
    async with attacking(beside.port) as attacker:
        await attacker.throw(mfp(envelope(0x45, 1, '{"endpoint":"unread"}')))
        chunks = b"".join(mfp(b"\x85" + u32(id_, 1, 0) + bytes(65_536)) for id_ in range(2, 66))
        throwing = asyncio.create_task(attacker.throw(chunks))
        answer = bytes.fromhex(await attacker.message())
        assert (answer[0], answer[5:]) == (ABORT, u32(1))
        assert await throwing
        await still_there(attacker)


CROWDS = {
    "strikes": [mfp(b"\x86" + u32(id_, 1_000_000 + id_) + b"x") for id_ in range(1, 18)],
    "pings": [mfp(b"\x2f" + u32(id_, id_)) for id_ in range(1, 102)],
    "strays": [mfp(b"\x21" + u32(id_, 0xDEADBEEF)) for id_ in range(1, 102)],
    "cancels": [
        mfp(envelope(0x61, 2 * n + 1, '{"endpoint":"slow"}')) + mfp(b"\x2b" + u32(2 * n + 2, 2 * n + 1))
        for n in range(101)
    ],
}


@pytest.mark.parametrize("row", CROWDS)
async def test_what_may_be_done_but_not_in_crowds(beside: Arena, row: str) -> None:
    """The last one of these is one too many; without it the connection stays."""
    for frames, code in ((CROWDS[row], 1008), (CROWDS[row][:-1], 1000)):
        async with attacking(beside.port) as attacker:
            await attacker.throw(b"".join(frames))
            await attacker.throw(ws(FIN | 8, (1000).to_bytes(2, "big")))
            assert await attacker.close_code() == code


async def test_floods_of_frames_that_want_an_ack_cost_nothing_that_is_kept(beside: Arena) -> None:
    """They are lawful, and not counted: a peer that does not read the acks is not read itself."""
    async with attacking(beside.port) as attacker:
        note = '{"endpoint":"note"}'
        frames = b"".join(mfp(envelope(0x49, id_, note)) for id_ in range(1, 20_001))
        throwing = asyncio.create_task(attacker.throw(frames))
        acks = [await attacker.message() for _ in range(20_000)]
        assert await throwing
        assert {ack[:2] for ack in acks} == {"21"}
        assert [int(ack[10:], 16) for ack in acks] == list(range(1, 20_001))
