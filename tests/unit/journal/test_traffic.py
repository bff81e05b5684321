from framehub.codes import Service
from framehub.journal.record import to_batch
from framehub.journal.traffic import IN, OUT, START_NS, Link, Story, World, service
from framehub.mfp import codec


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
