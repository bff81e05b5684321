from collections import Counter
from random import Random
from typing import Any

from framehub.codes import HubState, Service
from framehub.hub.headers import HubFrame
from framehub.journal.columns import to_batch
from framehub.journal.rpc_rows import split
from framehub.journal.traffic import (
    IN,
    OUT,
    START_NS,
    HubIds,
    HubLink,
    Link,
    Story,
    World,
    counted,
    pick,
    service,
)
from framehub.mfp import codec
from framehub.mfp.checksum import Checksums
from framehub.mfp.frames import ServiceFrame
from framehub.rpc import words


def test_stories_take_turns_by_their_times() -> None:
    world = World(1)
    said: list[tuple[str, int]] = []

    def story(name: str, wait: int) -> Story:
        for _ in range(2):
            said.append((name, world.now - START_NS))
            yield wait

    world.tell(story("slow", 50))
    world.tell(story("quick", 20), after=5)
    for _ in range(5):
        world.step()
    assert said == [("slow", 0), ("quick", 5), ("quick", 25), ("slow", 50)]


def test_each_side_counts_its_own_ids_and_a_link_its_exchanges() -> None:
    link = Link(b"12345678", 3)
    assert [link.next_id(IN), link.next_id(IN), link.next_id(OUT)] == [1, 2, 1]
    assert link.open_exchange() == b"12345678" + (1).to_bytes(8, "big")


def test_a_service_frame_is_on_the_tape_as_it_went_over_the_wire() -> None:
    world, link = World(1), Link(b"12345678", 3)
    service(world, link, OUT, Service.ACK, 9, link.open_exchange())
    (row,) = to_batch(world.tape).to_pylist()
    assert (row["kind"], row["code"], row["ref"], row["direction"], row["user"]) == (
        "service",
        1,
        9,
        "out",
        3,
    )
    frame = codec.decode(row["raw"])
    assert (frame.id, frame.ref) == (row["id"], 9)  # type: ignore[union-attr]


def shown(world: World, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in to_batch(world.tape).to_pylist()]


def test_a_link_may_have_checksums() -> None:
    world, link = World(1), Link(b"12345678", 3, Checksums(mode="always"))
    frame = ServiceFrame(id=1, code=Service.ACK, ref=2)
    assert world.record(link, IN, frame, link.open_exchange()) == 1
    ((head, size),) = shown(world, "head", "bytes")
    assert (head & 0b1_0000, size) == (0b1_0000, 13)


def test_a_world_is_quiet_when_all_is_told_and_parties_are_busy_until_then() -> None:
    world, link = World(1), Link(b"12345678", 3)

    def story() -> Story:
        yield 5

    assert world.quiet
    world.tell(counted(story(), link, link))
    assert (world.quiet, link.running) == (False, 2)
    while not world.quiet:
        world.step()
    assert link.running == 0


def test_messages_of_functions_are_on_the_tape_with_their_errors() -> None:
    world = World(1)
    assert world.rpc(OUT, "client", b"c", [words.RESPONSE_EXCEPTION, b"1", b"cancelled"]) == 1
    assert world.rpc(OUT, "client", b"c", [words.RESPONSE_UNKNOWN_FUNCTION, b"1", b"add"]) == 2
    assert world.rpc(IN, "worker", b"c", [words.HEART_BEAT], link=b"linklink") == 3
    assert world.rpc_refused("worker", b"c", [b"?"], "no such type") == 4
    assert shown(world, "kind", "direction", "error", "refused") == [
        ("exception", "out", "cancelled", None),
        ("unknown_function", "out", "unknown_function", None),
        ("heart_beat", "in", None, None),
        ("refused", "in", None, "no such type"),
    ]
    rows = to_batch(world.tape).to_pylist()
    assert [split(row["raw"])[0] for row in rows] == [b"c"] * 4
    assert rows[0]["link"] == rows[1]["link"]
    assert len({row["link"] for row in rows}) == 3


def test_frames_of_the_hub_are_on_the_tape_as_their_side_and_version_have_them() -> None:
    world = World(1)
    client = HubLink(b"12345678", version=2, user=3)
    service_ = HubLink(b"87654321", version=1, is_service=True)
    assert world.opened(client) == 1
    frame = HubFrame(9, HubState.FIRST, 1, b"x", 5)
    assert world.hub(client, IN, frame, b"e" * 16, service=5) == 2
    assert world.hub(service_, OUT, frame, b"e" * 16, user=5, ref=9) == 3
    assert world.hub_refused(service_, b"?", "bad_frame: short") == 4
    assert world.closed(service_) == 5
    assert shown(world, "kind", "raw", "user", "ref", "service") == [
        ("link_opened", None, 3, None, None),
        ("first", bytes.fromhex("00000009 0f 01 0005 78"), 3, None, 5),
        ("first", bytes.fromhex("00009f01 0005 78"), 5, 9, None),
        ("refused", b"?", 0, 0, None),
        ("link_closed", None, 0, 0, None),
    ]


def test_the_hubs_own_ids() -> None:
    ids = HubIds()
    assert [ids.take(2), ids.take(1), ids.take(2), ids.take(1)] == [2**20, 1, 2**20 + 1, 2]
    ids._narrow = 2**20 - 1
    assert ids.take(1) == 1


def test_things_are_picked_by_their_weights() -> None:
    dice = Random(1)
    count = Counter(pick(dice, "abc", [1, 10, 20]) for _ in range(4000))
    assert 100 < count["a"] < 300
    assert abs(count["b"] - 1800) < 150
    assert abs(count["c"] - 2000) < 150
