"""T27: what RFC 6455 says of frames, case by case, after sections 1 to 7 of the Autobahn test suite.

What there is a text message is a binary one here, because MFP has no text: that is refused with 1003. An echo
is the answer to a request. All cases run against one gateway, while twenty honest clients work.
"""

from itertools import product

import pytest

from .arena import Arena
from .attacker import BINARY, CLOSE, CONTINUATION, FIN, PING, PONG, TEXT, attacking, envelope, ws

RSV = {"RSV1": 0x40, "RSV2": 0x20, "RSV3": 0x10}
ASK = envelope(0x61, 1, '{"endpoint":"echo","data":"it is all there"}')
ASKED = ws(FIN | BINARY, ASK)


def request(size: int) -> bytes:
    """A request of exactly so many bytes."""
    least = len(envelope(0x61, 1, '{"endpoint":"echo","data":""}'))
    return envelope(0x61, 1, '{"endpoint":"echo","data":"%s"}' % ("x" * (size - least)))


def pieces(data: bytes, size: int, *, between: bytes = b"") -> bytes:
    """A message in fragments of ``size`` bytes."""
    parts = [data[n : n + size] for n in range(0, len(data), size)]
    firsts = [BINARY, *[CONTINUATION] * (len(parts) - 1)]
    firsts[-1] |= FIN
    return between.join(ws(first, part) for first, part in zip(firsts, parts, strict=True))


def close(code: int | None, reason: bytes = b"") -> bytes:
    return ws(FIN | CLOSE, b"" if code is None else code.to_bytes(2, "big") + reason)


def echo(asked: bytes) -> tuple[int, bytes]:
    """The frame that answers ``asked``: a response's head, an id and a ref, then the same."""
    return BINARY, bytes.fromhex("a1 00000001 00000001") + asked[5:]


ANSWER = echo(ASK)
SIZES = (64, 125, 126, 127, 128, 65_535, 65_536, 131_072)

TAKEN: dict[str, tuple[bytes, list[tuple[int, bytes]]]] = {
    **{
        f"1.2 a message of {size} bytes": (ws(FIN | BINARY, request(size)), [echo(request(size))])
        for size in SIZES
    },
    "1.2.8 a message in bits of 997 bytes": (pieces(request(65_536), 997), [echo(request(65_536))]),
    "2.1 a ping": (ws(FIN | PING), [(PONG, b"")]),
    "2.2 a ping with bytes": (ws(FIN | PING, b"hello"), [(PONG, b"hello")]),
    "2.3 a ping that is no text": (ws(FIN | PING, b"\0\xff\xfe\xfd\0"), [(PONG, b"\0\xff\xfe\xfd\0")]),
    "2.4 a ping of 125 bytes": (ws(FIN | PING, b"\xfe" * 125), [(PONG, b"\xfe" * 125)]),
    "2.7 a pong nobody asked for": (ws(FIN | PONG) + ASKED, [ANSWER]),
    "2.8 the same with bytes": (ws(FIN | PONG, b"unasked") + ASKED, [ANSWER]),
    "2.9 a pong, then a ping": (ws(FIN | PONG, b"un") + ws(FIN | PING, b"ask"), [(PONG, b"ask")]),
    "2.10 ten pings": (
        b"".join(ws(FIN | PING, bytes((n,))) for n in range(10)),
        [(PONG, bytes((n,))) for n in range(10)],
    ),
    "5.3 two fragments": (pieces(ASK, 20), [ANSWER]),
    "5.6 two fragments, a ping between": (
        pieces(ASK, 40, between=ws(FIN | PING, b"between")),
        [(PONG, b"between"), ANSWER],
    ),
    "5.8 fragments of one byte": (pieces(ASK, 1), [ANSWER]),
    "5.19 fragments, pings between all of them": (
        pieces(ASK, 12, between=ws(FIN | PING, b"?")),
        [(PONG, b"?")] * (-(-len(ASK) // 12) - 1) + [ANSWER],
    ),
    "5 an empty first fragment": (ws(BINARY) + ws(CONTINUATION, ASK) + ws(FIN | CONTINUATION), [ANSWER]),
}

CLOSED: dict[str, tuple[bytes, int]] = {
    "2.5 a ping of 126 bytes": (ws(FIN | PING, b"\xfe" * 126), 1002),
    "2.6 a pong of 126 bytes": (ws(FIN | PONG, b"\xfe" * 126), 1002),
    "a ping that declares 2^62 bytes": (ws(FIN | PING, declared=2**62), 1002),
    **{f"3 {name} on a message": (ws(FIN | bit | BINARY, ASK), 1002) for name, bit in RSV.items()},
    **{f"3 {name} on a ping": (ws(FIN | bit | PING), 1002) for name, bit in RSV.items()},
    **{f"3 {name} on a goodbye": (ws(FIN | bit | CLOSE, b"\x03\xe8"), 1002) for name, bit in RSV.items()},
    "3.7 all reserved bits": (ws(FIN | 0x70 | BINARY, ASK), 1002),
    "3 a reserved bit on a later fragment": (ws(BINARY, ASK[:9]) + ws(FIN | 0x40, ASK[9:]), 1002),
    "3.4 a message, then reserved bits": (ASKED + ws(FIN | 0x50 | BINARY, ASK), 1002),
    **{
        f"4 opcode {code} {what}": (ws(FIN | code, payload), 1002)
        for code, (what, payload) in product(
            (3, 4, 5, 6, 7, 11, 12, 13, 14, 15), {"with bytes": b"abc", "without": b""}.items()
        )
    },
    "5.1 a ping in two fragments": (ws(PING, b"frag") + ws(FIN | CONTINUATION, b"ment"), 1002),
    "5.2 a pong in two fragments": (ws(PONG, b"frag") + ws(FIN | CONTINUATION, b"ment"), 1002),
    "5.9 a continuation of nothing": (ws(FIN | CONTINUATION, ASK), 1002),
    "5.12 the same, unfinished": (ws(CONTINUATION, ASK), 1002),
    "5.15 a continuation after the end": (pieces(ASK, 20) + ws(CONTINUATION, b"more"), 1002),
    "5.18 a message inside a message": (ws(BINARY, ASK[:9]) + ws(FIN | BINARY, ASK[9:]), 1002),
    "a text inside a message": (ws(BINARY, ASK[:9]) + ws(FIN | TEXT, b"text"), 1003),
    "6 text": (ws(FIN | TEXT, b"hello"), 1003),
    "6.3 text that is none": (ws(FIN | TEXT, b"\xce\xba\xed\xa0\x80"), 1003),
    "text, its first fragment": (ws(TEXT, b"hel"), 1003),
    "not masked": (ws(FIN | BINARY, ASK, masked=False), 1002),
    "a ping that is not masked": (ws(FIN | PING, b"x", masked=False), 1002),
    "a size in 16 bits that fits in 7": (bytes.fromhex("82fe0005 00000000") + b"12345", 1002),
    "a size in 64 bits that fits in 16": (bytes.fromhex("82ff0000000000000080 00000000") + bytes(128), 1002),
    "a size with its highest bit": (bytes.fromhex("82ff8000000000000000 00000000"), 1002),
    "7.1.1 a goodbye": (close(1000), 1000),
    "7.1.2 two goodbyes": (close(1000) * 2, 1000),
    "7.1.3 a goodbye, then a ping": (close(1000) + ws(FIN | PING), 1000),
    "7.1.4 a goodbye, then a message": (close(1000) + ASKED, 1000),
    "7 a goodbye, then no frame": (close(1000) + b"\xff" * 60, 1000),
    "7.3.1 a goodbye without a code": (close(None), 1000),
    "7.3.2 a goodbye of one byte": (ws(FIN | CLOSE, b"\x03"), 1002),
    "7.3.4 a goodbye with a reason": (close(1000, b"so long"), 1000),
    "7.3.5 a reason of 123 bytes": (close(1000, b"*" * 123), 1000),
    "7.3.6 a reason of 124 bytes": (close(1000, b"*" * 124), 1002),
    "7.1.6 a goodbye in two fragments": (ws(CLOSE, b"\x03") + ws(FIN | CONTINUATION, b"\xe8"), 1002),
    "7.5.1 a reason that is not UTF-8": (close(1000, b"\xce\xba\xed\xa0\x80"), 1007),
    **{
        f"7.7 code {code}": (close(code), code)
        for code in (1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014)
    },
    **{f"7.7 code {code}": (close(code), 1000) for code in (3000, 3999, 4000, 4999)},
    **{
        f"7.9 code {code}": (close(code), 1002)
        for code in (0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535)
    },
}


@pytest.mark.parametrize("case", TAKEN)
async def test_attack_T27_what_is_lawful_is_taken(beside: Arena, case: str) -> None:
    sent, wanted = TAKEN[case]
    async with attacking(beside.port) as attacker:
        await attacker.throw(sent)
        assert [await attacker.frame() for _ in wanted] == wanted
        await attacker.throw(close(1000))
        assert await attacker.frame() == (CLOSE, b"\x03\xe8")
        assert await attacker.rest() == b""


@pytest.mark.parametrize("case", CLOSED)
async def test_attack_T27_what_ends_a_connection_ends_it_with_its_code(beside: Arena, case: str) -> None:
    sent, code = CLOSED[case]
    async with attacking(beside.port) as attacker:
        await attacker.throw(sent)
        assert await attacker.close_code() == code
        await attacker.throw(ASKED + close(code))  # nothing is answered any more
        assert await attacker.rest() == b""


async def test_attack_T27_bytes_one_at_a_time_make_the_same_frames(beside: Arena) -> None:
    async with attacking(beside.port) as attacker:
        for byte in ASKED:
            await attacker.throw(bytes((byte,)))
        assert await attacker.frame() == ANSWER
