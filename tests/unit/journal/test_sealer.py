from collections.abc import Callable
from pathlib import Path

from framehub.journal.sealer import Sealer
from framehub.journal.segments import Node


def test_it_seals_in_order_and_keeps_what_it_cannot(node: Node, segment: Callable[..., Path]) -> None:
    good, bad, last = (segment(node.directory, first_seq=seq) for seq in (1, 13, 25))
    bad.write_bytes(bad.read_bytes()[:-1])
    sealer = Sealer(node)
    for path in (good, bad, last):
        sealer.submit(path)
    sealer.close(finish=True)
    assert (sealer.sealed, len(sealer.errors), sealer.left) == (2, 1, {bad.name})
    assert [path.exists() for path in (good, bad, last)] == [False, True, False]


def test_closed_without_work_it_does_nothing(node: Node) -> None:
    Sealer(node).close(finish=False)
