"""What the owners of both sides do, at random: lawful calls, late calls, useless calls."""

from collections.abc import Callable, Iterable
from random import Random
from typing import Final, TypeAlias

from framehub.mfp.frames import Files
from tests.simulation.side import Flags, Side

Act: TypeAlias = Callable[[Side, Random, float], None]


def one_of(rng: Random, some: Iterable[int]) -> int:
    return rng.choice(list(some))


def flags(rng: Random) -> Flags:
    pick = rng.random()
    return {"need_ack": pick < 0.3, "checksum": 0.2 < pick < 0.4}


def files(rng: Random) -> Files:
    if rng.random() < 0.8:
        return ()
    keys = rng.sample(range(6), rng.randint(1, 2))
    return tuple((key, b"f" * rng.randint(0, 9)) for key in keys)


def ask(side: Side, rng: Random, now: float) -> None:
    timeout = rng.choice((None, None, 0.02, 0.3, 2.0, 100.0))
    side.request(now, timeout, files(rng), **flags(rng))


def cancel(side: Side, rng: Random, now: float) -> None:
    if side.book.asked:
        id_ = one_of(rng, side.book.asked)
        side.cancel(id_)
        side.cancel(id_)  # idempotent


def answer(side: Side, rng: Random, now: float) -> None:
    if side.book.answering:
        ref = one_of(rng, side.book.answering)
        side.respond(ref, files(rng), **flags(rng))
        if rng.random() < 0.1:
            side.respond(ref)


def answer_all(side: Side, rng: Random, now: float) -> None:
    for ref in list(side.book.answering):
        side.respond(ref, **flags(rng))


def answer_too_late(side: Side, rng: Random, now: float) -> None:
    over = side.book.their_past - side.book.answering.keys()
    if over:
        side.respond(one_of(rng, sorted(over)))


def refuse(side: Side, rng: Random, now: float) -> None:
    if side.book.answering:
        side.refuse(one_of(rng, side.book.answering))


def tell(side: Side, rng: Random, now: float) -> None:
    side.message(files(rng), **flags(rng))


def refuse_message(side: Side, rng: Random, now: float) -> None:
    if side.refusable:
        side.refuse(one_of(rng, side.refusable))


def announce(side: Side, rng: Random, now: float) -> None:
    keys = tuple(rng.sample(range(8), rng.randint(1, 3)))
    side.announce(keys, rng.choice((0, 0, 0, 30)), **flags(rng))


def send_file(side: Side, rng: Random, now: float) -> None:
    if side.book.sets:
        ref = one_of(rng, side.book.sets)
        key = one_of(rng, sorted(side.book.sets[ref].missing))
        side.file(ref, key, b"x" * rng.choice((0, 3, 20)), **flags(rng))


def send_wrong_file(side: Side, rng: Random, now: float) -> None:
    ref = one_of(rng, side.book.sets) if side.book.sets else 1
    side.file(ref, 99, b"")


def open_stream(side: Side, rng: Random, now: float) -> None:
    side.open_stream(**flags(rng))


def send_chunk(side: Side, rng: Random, now: float) -> None:
    if side.book.streams:
        ref = one_of(rng, side.book.streams)
        key = rng.choice((None, 0, 7))
        side.chunk(ref, key=key, final=rng.random() < 0.15, padding=rng.choice((0, 0, 40)), **flags(rng))


def end_stream(side: Side, rng: Random, now: float) -> None:
    if side.book.streams:
        ref = one_of(rng, side.book.streams)
        side.chunk(ref, key=None, final=True, bare=True, **flags(rng))
        side.chunk(ref, key=None, final=True)  # refused: it has ended


def give_up(side: Side, rng: Random, now: float) -> None:
    open_ = [*side.book.streams, *side.book.sets]
    if open_:
        ref = one_of(rng, open_)
        side.give_up(ref)
        side.give_up(ref)


def abort_stream(side: Side, rng: Random, now: float) -> None:
    if side.book.inflow:
        ref = one_of(rng, side.book.inflow)
        side.abort_stream(ref)
        side.abort_stream(ref)


def ping(side: Side, rng: Random, now: float) -> None:
    side.ping(now)


def forget(side: Side, rng: Random, now: float) -> None:
    waited = sorted(side.book.acks | side.book.pings)
    if waited:
        side.forget(one_of(rng, waited))


def look_at_the_clock(side: Side, rng: Random, now: float) -> None:
    side.tick(now, deaf=side.machine.deaf)


WEIGHTS: Final[dict[Act, int]] = {
    ask: 14,
    cancel: 3,
    answer: 10,
    answer_all: 3,
    answer_too_late: 1,
    refuse: 2,
    tell: 8,
    refuse_message: 2,
    announce: 5,
    send_file: 10,
    send_wrong_file: 1,
    open_stream: 5,
    send_chunk: 14,
    end_stream: 3,
    give_up: 2,
    abort_stream: 2,
    ping: 2,
    forget: 1,
    look_at_the_clock: 2,
}


def acts(rng: Random) -> list[Act]:
    """What this run's owners do: each act as often as it weighs, some of them not at all, some often."""
    chosen: list[Act] = []
    for act, weight in WEIGHTS.items():
        chosen += [act] * (weight * rng.choice((0, 1, 1, 1, 1, 3)))
    return chosen or [ask]
