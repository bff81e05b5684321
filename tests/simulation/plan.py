"""What a seed decides before anything happens: limits, clocks, ids, the wire, and how it will end."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from random import Random
from typing import Literal, TypeAlias

from framehub import ids
from framehub.mfp.checksum import Checksums
from framehub.mfp.settings import Settings

Fate: TypeAlias = Literal["calm", "cut", "silence", "unlawful"]
LAST = 2**32 - 1
SMALL = 96
"""Ids in a small id space: soon they meet those that are still alive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One connection."""

    fate: Fate
    honest: bool
    """No frame on the wire is forged."""
    small_ids: bool
    first_ids: tuple[int, int]
    settings: Settings
    acts: int
    """How often an owner does something."""
    gap: float
    """Seconds between two acts, on average."""
    delay: float
    """Seconds on the wire, on average."""
    capacity: int
    """Bytes that the wire takes."""
    jumps: float
    """How likely a clock jumps, at each act."""
    stalls: float
    """How likely a reader stops reading for a while, at each act."""
    lag: float
    """Seconds that an owner calls ``tick`` too late."""


def draw(rng: Random) -> Plan:
    fate: Fate = rng.choice(("calm", "calm", "calm", "calm", "cut", "cut", "silence", "unlawful"))
    honest = rng.random() < 0.75
    small_ids = honest and fate != "silence" and rng.random() < 0.15
    last = SMALL if small_ids else LAST
    near_the_end = rng.choice((1, last, last - 1, last - 5, last - 20))
    return Plan(
        fate=fate,
        honest=honest,
        small_ids=small_ids,
        # Often the same on both sides: equal ids must never be mixed up.
        first_ids=(near_the_end, rng.choice((near_the_end, near_the_end, 1, last - 3))),
        settings=_settings(rng, few=small_ids, honest=honest),
        acts=300 if small_ids else rng.choice((10, 40, 80, 160)),
        gap=rng.choice((0.001, 0.02, 0.2)),
        delay=rng.choice((0.0, 0.001, 0.02, 0.3)),
        capacity=rng.choice((40, 200, 100_000)),
        jumps=rng.choice((0.0, 0.0, 0.02)),
        stalls=rng.choice((0.0, 0.0, 0.05)),
        lag=rng.choice((1e-6, 1e-6, 0.02, 0.5)),
    )


def _settings(rng: Random, *, few: bool, honest: bool) -> Settings:
    many = 3 if few else 64
    checksums = Checksums(rng.choice(("off", "flag", "flag", "always")), rng.choice(("crc32", "xor8")))
    # Honest owners may cancel and ping at will; what else is counted does not happen among them.
    often = 1_000 if honest else rng.choice((3, 16, 1_000))
    faults = 1 if honest else rng.choice((3, 16, 1_000))
    return Settings(
        checksums=checksums,
        verify_always=checksums.mode != "off" and rng.random() < 0.3,
        bad_files=rng.choice(("drop", "deliver")),
        request_timeout=rng.choice((0.05, 1.0, 30.0)),
        progress_timeout=rng.choice((0.05, 1.0, 30.0)),
        max_frame_bytes=rng.choice((256, 65_536)),
        max_requests=rng.choice((1, 3, 6, 3 if few else 1_024)),
        max_streams=rng.choice((1, 3, many)),
        max_announced=rng.choice((1, 3, many)),
        max_waiting_bytes=rng.choice((40, 2**24)),
        max_strikes=faults,
        max_strays=faults,
        max_cancels=often,
        max_pings=often,
        keepalive=rng.choice((inf, inf, 20.0, 1.5)),
        idle_timeout=rng.choice((inf, inf, inf, 2.5)),
    )


def sums(settings: Settings) -> Checksums:
    """How a frame is to be encoded so that a side with these settings takes it."""
    return Checksums("always", settings.checksums.algorithm) if settings.verify_always else settings.checksums


@contextmanager
def id_space(plan: Plan) -> Iterator[None]:
    """Let ids wrap where the plan says; machines cannot tell, since no frame carries the bound."""
    saved = ids.LAST
    if plan.small_ids:
        ids.LAST = SMALL  # type: ignore[misc]
    try:
        yield
    finally:
        ids.LAST = saved  # type: ignore[misc]
