"""Plain calls and coroutines of one workshop: in children of their own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from framehub.runtime.functionset import FunctionSet
from framehub.runtime.workdone import CANCELLED

from . import workfunctions
from .working import Bench, Died, until, value


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    await made.stop()


async def test_who_ends_a_plain_call_ends_no_coroutine(bench: Bench, tmp_path: Path) -> None:
    """Be it cancelled, too long, or the death of its child: that child runs no coroutine."""
    shop = bench.make(cancel_grace=0.01)
    await shop.start()
    _, innocent = bench.submit("wait_long", str(tmp_path / "innocent"))
    await until((tmp_path / "innocent").exists)
    for number in range(3):
        begun = tmp_path / f"begun{number}"
        wid, plain = bench.submit("spin", str(begun))
        await until(begun.exists)
        shop.cancel(wid)
        assert await plain == CANCELLED
    assert (await bench.outcome("spin_briefly", str(tmp_path / "briefly"))).error.startswith("timeout: ")
    with pytest.raises(Died):
        await bench.outcome("leave", 1)
    assert not innocent.done()
    assert shop.respawns >= 4


async def test_plain_calls_and_coroutines_share_no_child(bench: Bench, tmp_path: Path) -> None:
    """More coroutines than one child holds are lent one, which plain calls have when these are done."""
    shop = bench.make(2)
    await shop.start()
    await bench.all_ready(3)
    go, wait = (
        tmp_path / "go",
        [bench.submit("wait_long", str(tmp_path / str(number))) for number in range(100)],
    )
    await until(lambda: len(list(tmp_path.iterdir())) == 100)
    _, lent = bench.submit("wait_long", str(tmp_path / "lent"))
    await until((tmp_path / "lent").exists)
    plain = [bench.submit("wait_for", str(tmp_path / f"plain{number}"), str(go)) for number in range(2)]
    await until(lambda: shop.waiting == 1)
    more = bench.submit("square_later", 3)[1]
    for hand in shop._staff.hands:
        assert not (hand.plain and hand.coroutines)
    shop.cancel(wait[0][0])
    assert value(await more) == 9
    assert shop.waiting == 1
    assert not lent.done()
    go.touch()
    found = [value(await future) for _, future in plain]
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    ("names", "children"), [(["square"], 2), (["square_later"], 2), (["square", "square_later"], 3)]
)
async def test_one_child_more_if_there_are_both_kinds(bench: Bench, names: list[str], children: int) -> None:
    functions = FunctionSet()
    for name in names:
        functions.add(getattr(workfunctions, name))
    await bench.make(2, functions=functions).start()
    assert len(bench.shop.pids) == children
    for name in names:
        assert await bench.call(name, 3) == 9
