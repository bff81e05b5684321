"""Attacks on the WebSocket and its upgrade, while twenty honest clients work."""

import asyncio
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from framehub.journal.settings import WriterSettings
from framehub.runtime.bearer import subprotocol

from .arena import Arena
from .attacker import CUT_OFF, Attacker, attacking, mfp
from .conftest import Arenas, thrown
from .thrown_at_sockets import GUESSER, T22, T22_COMES, T23, T24, T26, T31, T32, T34

GUESS = "s3cret-t0ken-of-this-test"
BEARER = "Authorization: Bearer {}"
OFFER = "Sec-WebSocket-Protocol: {}, {}"
PATHS = {"/mfp": "mfp", "/hub": "hub.v2"}
"""And what is spoken there."""


async def status(arena: Arena, *headers: str, path: str = "/mfp", source: str = "127.0.0.1") -> int:
    attacker, head = await Attacker.asked(arena.port, *headers, path=path, source=source)
    attacker.leave()
    return int(head.split()[1])


async def test_attack_T22_the_header_of_an_endless_frame(arenas: Arenas) -> None:
    """In full: 10,000 connections, `82 FF 7FFFFFFFFFFFFFFF` each."""
    assert (await thrown(arenas, T22)).seen == {1009: T22.count}


async def test_attack_T22_an_endless_frame_whose_bytes_come(arenas: Arenas) -> None:
    """In full: 1,000 connections that send up to 256 MiB after that header."""
    assert (await thrown(arenas, T22_COMES)).seen == {"refused": T22_COMES.count}


async def test_attack_T23_a_message_that_drips(arenas: Arenas) -> None:
    """In full: 5,000 connections, 30 s of patience, a byte every 10 s."""
    assert (await thrown(arenas, T23)).seen == {1008: T23.count}


async def test_attack_T24_pings_whose_pongs_nobody_reads(arenas: Arenas) -> None:
    """In full: 1,500,000 pings of 125 bytes."""
    assert (await thrown(arenas, T24)).seen == {1008: 1}


async def test_attack_T26_a_compressed_bomb(arenas: Arenas) -> None:
    """In full: 200 connections, 100 MiB in 100 kB each."""
    assert (await thrown(arenas, T26)).seen == {"not offered": T26.count, 1002: T26.count}


ORIGINS = {
    "": 101,
    "Origin: https://friend.example": 101,
    "Origin: http://127.0.0.1:{port}": 101,
    "Origin: https://evil.example": 403,
    "Origin: null": 403,
    "Origin: ": 403,
    "Origin: https://friend.example.evil.example": 403,
    "Origin: https://friend.example:443": 403,
    "Origin: HTTPS://FRIEND.EXAMPLE": 403,
    "Origin: https://friend.example/": 403,
    "Origin: https://friend.example https://evil.example": 403,
    "Origin: http://127.0.0.1:{port}.evil.example": 403,
    "Origin: http://127.0.0.1": 403,
    "Origin: file://": 403,
}


@pytest.mark.parametrize("path", PATHS)
async def test_attack_T29_a_page_of_another_origin(arena: Arena, path: str) -> None:
    """The list is compared letter by letter, and a cookie opens nothing."""
    found = {}
    async with arena.besieged() as siege:
        for line in ORIGINS:
            headers = ["Cookie: session=valid", *([line.format(port=arena.port)] if line else [])]
            found[line] = await status(arena, *headers, path=path)
    siege.check(0)
    assert found == ORIGINS


@pytest.mark.parametrize("path", PATHS)
async def test_attack_T29_with_somebodys_token(arenas: Arenas, path: str) -> None:
    """A token does not stand for an origin, nor an origin for a token, nor a cookie for either."""
    arena = arenas(tokens=True)
    token = BEARER.format(arena.token)
    friend, evil = "Origin: https://friend.example", "Origin: https://evil.example"
    offered = OFFER.format(PATHS[path], subprotocol(arena.token))
    tried = {
        (token, evil): 403,
        (offered, evil): 403,
        (token, "Origin: null"): 403,
        (friend,): 401,
        (friend, f"Cookie: token={arena.token}"): 401,
        (friend, f"Cookie: Authorization=Bearer {arena.token}"): 401,
        (friend, f"X-Token: {arena.token}"): 401,
        (friend, f"Authorization: Basic {arena.token}"): 401,
        (friend, token): 101,
        (friend, offered): 101,
        (token,): 101,
    }
    async with arena.besieged() as siege:
        found = {headers: await status(arena, *headers, path=path) for headers in tried}
    siege.check(0)
    assert found == tried


@pytest.fixture(scope="session")
def recorded(arenas: Arenas, tmp_path_factory: pytest.TempPathFactory) -> tuple[Arena, Path]:
    journal = tmp_path_factory.mktemp("recorded") / "journal"
    return arenas(journal=journal, tokens=True), journal


@pytest.mark.parametrize("path", PATHS)
async def test_attack_T30_a_token_in_the_address(recorded: tuple[Arena, Path], path: str) -> None:
    """It is refused, and written nowhere: not in the log, not in the journal."""
    arena, journal = recorded
    bearer = BEARER.format(arena.token)
    async with arena.besieged() as siege:
        for token in (GUESS, arena.token):
            for query in (f"?token={token}", f"?{token}", f"?access_token={token}&x=1"):
                for headers in ((), (bearer,)):
                    attacker, head = await Attacker.asked(arena.port, *headers, path=path + query)
                    body = await attacker.rest()
                    attacker.leave()
                    assert head.startswith("HTTP/1.1 400 ")
                    assert token.encode() not in head.encode() + body
        # Where a token belongs it is not written down either, whatever becomes of the connection.
        assert await status(arena, BEARER.format(GUESS), path=path) == 401
        assert await status(arena, OFFER.format(PATHS[path], subprotocol(GUESS)), path=path) == 401
        assert await status(arena, OFFER.format(PATHS[path], subprotocol(arena.token)), path=path) == 101
        assert await status(arena, bearer, bearer, path=path) == 400
        assert await status(arena, bearer, OFFER.format(PATHS[path], subprotocol(GUESS)), path=path) == 400
        async with attacking(arena.port, bearer) as attacker:
            await attacker.throw(mfp("2f 00000001 00000001") + mfp("00"))
            assert await attacker.close_code() == 1002
    # A disk that is busy holds rows up: the writer keeps as many as it is allowed to.
    siege.check(WriterSettings().backlog_bytes)
    assert {status for status in (400, 401) if f"refused with HTTP {status}" in arena.log} == {400, 401}
    written = contents(journal)
    assert sum(map(len, written.values())) > 1_000
    for token in (GUESS, arena.token):
        for secret in (token, subprotocol(token).removeprefix("token.")):
            assert [name for name, data in written.items() if secret.encode() in data] == []
            assert secret not in arena.log


def contents(folder: Path) -> dict[str, bytes]:
    """All files; the gateway goes on and may replace some of them meanwhile."""
    found = {}
    for file in folder.rglob("*"):
        if file.is_file():
            with suppress(FileNotFoundError):
                found[file.name] = file.read_bytes()
    return found


async def test_attack_T31_tokens_are_guessed(arenas: Arenas) -> None:
    """In full: 100,000 tries. Who has a right token gets in from the same address all the time."""
    arena = arenas(tokens=True)
    right = BEARER.format(arena.token)
    newcomers: Counter[int] = Counter()
    async with arena.besieged() as siege:
        guessing = asyncio.ensure_future(T31.throw(arena.port, T31.count))
        while not guessing.done():
            for path in PATHS:
                newcomers[await status(arena, right, path=path, source=GUESSER)] += 1
        siege.seen = await guessing
        for path in PATHS:
            newcomers[await status(arena, right, path=path, source=GUESSER)] += 1
    siege.check(T31.bound(T31.count))
    assert siege.seen.keys() == {401, 429}
    assert siege.seen.total() == T31.count
    assert 10 <= siege.seen[401] <= 10 * (1 + siege.seconds // 60)
    assert newcomers.keys() == {101}


async def test_attack_T31_much_of_a_token_is_nothing(arenas: Arenas) -> None:
    """A near one is as wrong as any; the right one gets in before and after."""
    arena = arenas(tokens=True)
    source = GUESSER.replace(".2", ".3")
    token = arena.token
    near = [token[:-1], token + "A", token[:20], token.swapcase(), token[::-1], "fh_", token[:-1] + "~"]
    near += [f"{token},", f"{token[:-2]}{token[-1]}{token[-2]}x", token.removeprefix("fh_")]
    async with arena.besieged() as siege:
        for guess in near:
            for path in PATHS:
                assert await status(arena, BEARER.format(token), path=path, source=source) == 101
            assert await status(arena, BEARER.format(guess), source=source) == 401
        for path in PATHS:
            assert await status(arena, BEARER.format("fh_A"), path=path, source=source) == 429
            assert await status(arena, BEARER.format(token), path=path, source=source) == 101
    siege.check(0)


async def test_attack_T32_connect_and_reset(arenas: Arenas) -> None:
    """In full: 51,000 connections; reset at once, amid the upgrade, and right after a first frame."""
    siege = await thrown(arenas, T32)
    assert siege.seen == {"reset": T32.count}


async def test_attack_T34_half_an_upgrade_held_open(arenas: Arenas) -> None:
    """300 at once: the oldest make room, none is kept longer than 5 s, and who comes meanwhile is let in."""
    pong = "210000000100000001"
    assert (await thrown(arenas, T34)).seen == {pong: 1, CUT_OFF: T34.count}
