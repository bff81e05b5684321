"""The fuzz targets without a guide: the whole corpus, the vectors and some thousand mutations of both.

Nothing here needs atheris, so nothing here is ever skipped. ``make fuzz`` goes on from there.
"""

import contextlib
import tracemalloc
from importlib import import_module
from typing import Any

import pytest

import fuzz.codec
from framehub.errors import MalformedFrame
from framehub.hub.timers import Timers
from framehub.mfp import codec, envelope
from framehub.mfp.connection import Connection
from framehub.rpc.keeping import Keeping
from fuzz import mutations, seeds

MUTATIONS = {"codec": 30_000, "connection": 15_000, "envelope": 40_000, "hub": 10_000, "rpc": 2_000}
SEED = 20_260
CORPUS_BYTES = 300 * 1_024


@pytest.mark.parametrize("target", seeds.TARGETS)
def test_no_input_breaks_a_target(target: str) -> None:
    """[MFP-2.8] [MFP-7.1] [RPC-8.2] [HUB-2.5] [HUB-10.1]

    A failure shows its input: put it into fuzz/corpus when it is fixed.
    """
    one_input = import_module(f"fuzz.{target}").one_input
    corpus = [*seeds.made(target), *seeds.stored(target)]
    for data in [b"", *corpus, *mutations.mutations(corpus, SEED, MUTATIONS[target])]:
        try:
            one_input(data)
        except Exception as exc:
            pytest.fail(f"fuzz/{target}.py, input {data.hex()}: {exc!r}")


def test_what_a_frame_promises_is_not_allocated() -> None:
    """[MFP-2.8] At most twice the bytes that came, and 4 KiB, whatever sizes they declare."""
    corpus = [*seeds.made("codec"), *seeds.stored("codec")]
    tracemalloc.start()
    try:
        for data in [*corpus, *mutations.mutations(corpus, SEED, 2_000)]:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            with contextlib.suppress(MalformedFrame):
                codec.decode(data)
            used = tracemalloc.get_traced_memory()[1] - before
            assert used <= 2 * len(data) + 4_096, data.hex()
    finally:
        tracemalloc.stop()


def test_the_corpus_stays_small() -> None:
    sizes = [len(data) for target in seeds.TARGETS for data in seeds.stored(target)]
    assert 0 < sum(sizes) < CORPUS_BYTES


def test_the_same_seed_gives_the_same_inputs() -> None:
    first, second = (list(mutations.mutations([b"abc", b"defgh"], seed=4, count=50)) for _ in range(2))
    assert first == second
    assert len(set(first)) > 40


def other(*_: object, **__: object) -> bytes:
    return b'{"endpoint":"other"}'


def nothing(*_: object) -> None:
    pass


BROKEN: dict[str, tuple[Any, str, object]] = {
    "codec": (fuzz.codec, "encode", other),
    "connection": (Connection, "close", nothing),
    "envelope": (envelope, "encode", other),
    "hub": (Timers, "discard", nothing),
    "rpc": (Keeping, "tick", nothing),
}


@pytest.mark.parametrize("target", seeds.TARGETS)
def test_a_target_notices_a_part_that_is_broken(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*BROKEN[target])
    with pytest.raises((AssertionError, envelope.BadEnvelope)):
        feed(target, seeds.made(target))


def feed(target: str, inputs: list[bytes]) -> None:
    one_input = import_module(f"fuzz.{target}").one_input
    for data in inputs:
        one_input(data)
