"""Attacks on MFP, byte for byte, while twenty honest clients work."""

import asyncio

from .arena import Arena
from .attacker import attacking, envelope, mfp
from .conftest import Arenas, thrown
from .thrown_at_mfp import (
    BOMBS,
    FROM_A_REQUEST,
    RESERVED,
    T1,
    T2,
    T4,
    T6,
    T7,
    T8,
    T9,
    T9_READ,
    T10,
    T10_SLOW,
    T11,
    T12,
    T12_ACKS,
    T14_ACKS,
    T17,
    T19,
    T20,
    T41,
    UNREAD,
    u32,
)


async def test_attack_T01_a_payload_of_4_gib_that_is_only_declared(arenas: Arenas) -> None:
    """In full 10,000 times: `41 00000001 FFFFFFFF` and eleven bytes."""
    assert (await thrown(arenas, T1)).seen == {1002: T1.count}


async def test_attack_T02_a_set_of_4_gib_that_is_only_declared(arenas: Arenas) -> None:
    """In full 10,000 times: `42 00000001 FFFFFFFC`."""
    assert (await thrown(arenas, T2)).seen == {1002: T2.count}


async def test_attack_T04_a_file_of_4_gib_that_is_only_declared(arenas: Arenas) -> None:
    """In full 10,000 times: `46 00000001 00000008 00000001 FFFFFFFF`."""
    assert (await thrown(arenas, T4)).seen == {1002: T4.count}


async def test_attack_T06_announced_keys_without_end(arenas: Arenas) -> None:
    """In full 200 messages of 65,536 keys, and 30 s until what never came is freed."""
    seen = (await thrown(arenas, T6)).seen
    assert seen == {1002: T6.count, "one too many": 1, "no file came": 64}


async def test_attack_T07_files_that_never_come_and_streams_that_drip(arenas: Arenas) -> None:
    """In full 100 of each, 30 s of patience.

    An announced message has to go on. A stream may be slow, by the protocol: it costs nothing while it waits.
    """
    assert (await thrown(arenas, T7)).seen == {"23": T7.count, "whole": T7.count}


async def test_attack_T08_files_and_streams_announced_by_a_request(arenas: Arenas) -> None:
    """In full 5,000 times each: `62 00000001 00000004 00000007` and `64 00000001`."""
    assert (await thrown(arenas, T8)).seen == {1002: len(FROM_A_REQUEST) * T8.count}


async def test_attack_T09_streams_to_nobody(arenas: Arenas) -> None:
    """In full 100,000 times `44 id`: each is aborted, and nothing is kept of it."""
    assert (await thrown(arenas, T9)).seen == {"23": T9.count}


async def test_attack_T09_streams_that_are_never_fed(arenas: Arenas) -> None:
    """In full 100,000, to an endpoint that would read: 64 may be open, then come strikes."""
    assert (await thrown(arenas, T9_READ)).seen == {1008: 1}


async def test_attack_T10_rapid_reset(arenas: Arenas) -> None:
    """In full 500,000 pairs of `61 id 00000002 7b7d` and `2b id2 id`."""
    assert (await thrown(arenas, T10)).seen == {1008: 1}


async def test_attack_T10_rapid_reset_of_requests_that_take_time(arenas: Arenas) -> None:
    """In full 500,000 pairs. A hundred handlers may have begun by then, and none is left."""
    arena = arenas(T10_SLOW.settings)
    begun = arena.stand()["delivered"].get("slow", 0)
    siege = await thrown(arenas, T10_SLOW)
    assert siege.seen == {1008: 1}
    assert siege.stand["delivered"].get("slow", 0) - begun <= 101


async def test_attack_T11_aborts_that_the_server_is_made_to_send(arenas: Arenas) -> None:
    """In full 100,000 announced messages, a file with a wrong key for each."""
    assert (await thrown(arenas, T11)).seen == {1008: 1}


async def test_attack_T12_pings_whose_pongs_nobody_reads(arenas: Arenas) -> None:
    """In full 1,000,000 times `2f id id`."""
    assert (await thrown(arenas, T12)).seen == {1008: 1}


async def test_attack_T14_forged_acks(arenas: Arenas) -> None:
    """In full 1,000,000 times `21 id DEADBEEF`."""
    assert (await thrown(arenas, T14_ACKS)).seen == {1008: 1}


async def test_attack_T14_a_forged_response_answers_nobodys_question(arena: Arena) -> None:
    """`a1 id ref 00000000` for every ref that could be asked: the question waits for whom it was put to."""
    async with arena.besieged() as siege, attacking(arena.port) as asked, attacking(arena.port) as forger:
        await asked.throw(mfp(envelope(0x61, 1, '{"endpoint":"ask.back"}')))
        question = bytes.fromhex(await asked.message())
        assert question[0] == 0x61
        for ref in range(1, 17):  # one more would be a strike too many
            await forger.throw(mfp(b"\xa1" + u32(ref, ref, 0)))
            assert bytes.fromhex(await forger.message())[:1] == b"\x24"
        await forger.throw(mfp("21 00000005 DEADBEEF") + mfp("2f 00000063 00000063"))
        assert (await forger.message()).startswith("21")
        answer = b'{"endpoint":"who.are.you","data":"the one who was asked"}'
        await asked.throw(mfp(b"\xa1" + u32(2) + question[1:5] + u32(len(answer)) + answer))
        told = bytes.fromhex(await asked.message())
    siege.check(0)
    assert told.endswith(b'"data":"the one who was asked"}')


async def test_attack_T17_every_flipped_bit_is_found(arenas: Arenas) -> None:
    """In full ten times: 72 bits of `50 00000001 89360840`, 160 of a `93` frame."""
    siege = await thrown(arenas, T17)
    assert set(siege.seen) <= {1002, 1007}
    assert siege.seen.total() == (72 + 160) * T17.count


async def test_attack_T17_what_is_not_flipped_is_taken(arena: Arena) -> None:
    """A message without a payload: nobody takes it, but it is a frame."""
    async with attacking(arena.port, protocol="mfp.crc32.always") as attacker:
        await attacker.throw(mfp("50 00000001 89360840"))
        assert (await attacker.message()).startswith("33")


async def test_attack_T18_checksums_cannot_be_talked_away(arena: Arena) -> None:
    cases = {("", "50 00000001"): 1002, ("mfp.crc32.always", "40 00000001"): 1007}
    cases[("mfp.crc32.always", "50 00000001")] = 1002
    cases[("mfp", "50 00000001 89360840")] = 1002
    found = {}
    async with arena.besieged() as siege:
        for protocol, frame in cases:
            async with attacking(arena.port, protocol=protocol) as attacker:
                await attacker.throw(mfp(frame))
                found[protocol, frame] = await attacker.close_code()
    siege.check(0)
    assert found == cases


async def test_attack_T19_reserved_values(arenas: Arenas) -> None:
    """In full 2,000 times each: `00..`, `c0..`, `e0 00000001`, `25 00000001 00000001`, `40 00000000`."""
    assert (await thrown(arenas, T19)).seen == {1002: len(RESERVED) * T19.count}


async def test_attack_T20_json_bombs(arenas: Arenas) -> None:
    """In full 1,000 times each, bare and in an envelope."""
    assert (await thrown(arenas, T20)).seen == dict.fromkeys(BOMBS, 2 * T20.count)


async def test_attack_T20_bombs_are_strikes(arena: Arena) -> None:
    async with arena.besieged() as siege, attacking(arena.port) as attacker:
        for id_ in range(1, 18):
            await attacker.throw(mfp(envelope(0x41, id_, BOMBS["too deep"])))
        aborts = [(await attacker.message())[:2] for _ in range(16)]
        assert await attacker.close_code() == 1008
        await asyncio.sleep(0)
    siege.check(0)
    assert aborts == ["23"] * 16


async def test_attack_T12_acknowledgements_that_nobody_reads(arenas: Arenas) -> None:
    """1,500,000 empty messages on each of some connections: who does not read is not read for long."""
    assert (await thrown(arenas, T12_ACKS)).seen == {"not read to the end": UNREAD}


async def test_attack_T41_answers_that_nobody_reads(arenas: Arenas) -> None:
    """In full 1,000 requests of 200 kB that are echoed: who does not read is not read for long."""
    assert (await thrown(arenas, T41)).seen == {"not read to the end": 1}
