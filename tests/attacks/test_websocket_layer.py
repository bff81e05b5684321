"""Attacks on the WebSocket and its upgrade, while twenty honest clients work.

T31, guessing tokens, is missing on purpose: no token is checked in this version, there is nothing to guess.
"""

import re
from pathlib import Path

import pytest

from .arena import Arena
from .attacker import CUT_OFF, Attacker, attacking, mfp
from .conftest import Arenas, thrown
from .thrown_at_sockets import T22, T22_COMES, T23, T24, T26, T32, T34

TOKEN = "s3cret-t0ken-of-this-test"


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


async def test_attack_T29_a_page_of_another_origin(arena: Arena) -> None:
    """The list is compared letter by letter, and a cookie opens nothing."""
    found = {}
    async with arena.besieged() as siege:
        for line in ORIGINS:
            headers = ["Cookie: session=valid", *([line.format(port=arena.port)] if line else [])]
            attacker, head = await Attacker.asked(arena.port, *headers)
            attacker.leave()
            found[line] = int(head.split()[1])
    siege.check(0)
    assert found == ORIGINS


@pytest.fixture
def recorded(arenas: Arenas, tmp_path_factory: pytest.TempPathFactory) -> tuple[Arena, Path]:
    journal = tmp_path_factory.mktemp("recorded") / "journal"
    return arenas(journal=journal), journal


async def test_attack_T30_a_token_in_the_address(recorded: tuple[Arena, Path]) -> None:
    """It is refused, and written nowhere: not in the log, not in the journal."""
    arena, journal = recorded
    async with arena.besieged() as siege:
        for path in (f"/mfp?token={TOKEN}", f"/mfp?{TOKEN}", f"/mfp?access_token={TOKEN}&x=1"):
            attacker, head = await Attacker.asked(arena.port, path=path)
            body = await attacker.rest()
            attacker.leave()
            assert head.startswith("HTTP/1.1 400 ")
            assert TOKEN.encode() not in head.encode() + body
        # Where a token belongs it is not written down either, whatever becomes of the connection.
        async with attacking(arena.port, f"Authorization: Bearer {TOKEN}") as bearer:
            await bearer.throw(mfp("2f 00000001 00000001") + mfp("00"))
            assert await bearer.close_code() == 1002
    siege.check(0)
    written = [file for file in journal.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in written) > 1_000
    assert [file for file in written if TOKEN.encode() in file.read_bytes()] == []
    assert TOKEN not in arena.log
    assert re.search("refused with HTTP 400", arena.log)


async def test_attack_T32_connect_and_reset(arenas: Arenas) -> None:
    """In full: 51,000 connections; reset at once, amid the upgrade, and right after a first frame."""
    siege = await thrown(arenas, T32)
    assert siege.seen == {"reset": T32.count}


async def test_attack_T34_half_an_upgrade_held_open(arenas: Arenas) -> None:
    """300 at once: the oldest make room, none is kept longer than 5 s, and who comes meanwhile is let in."""
    pong = "210000000100000001"
    assert (await thrown(arenas, T34)).seen == {pong: 1, CUT_OFF: T34.count}
