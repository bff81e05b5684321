"""One workshop before several proxies: whatever it says goes to the one that asked."""

from typing import Any, cast

from framehub.runtime.workdone import Outcome
from framehub.runtime.worker_link import WorkerLink
from framehub.runtime.worker_links import WorkerLinks
from framehub.runtime.workshop import Workshop


class Recorder:
    """A link, or a workshop, and what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.unacknowledged = 2

    def __getattr__(self, name: str) -> Any:
        return lambda *args: self.told.append((name, *args))


def test_the_same_id_of_two_proxies_is_two_queries() -> None:
    one, two, shop = Recorder(), Recorder(), Recorder()
    links = WorkerLinks([cast(WorkerLink, one), cast(WorkerLink, two)])
    links.serve(cast(Workshop, shop))
    for link, argument in ((one, b"1"), (two, b"2")):
        cast(WorkerLink, link).begin(b"wid", "f", argument)
        cast(WorkerLink, link).cancel(b"wid")
    begun = [told[1] for told in shop.told if told[0] == "submit"]
    assert len(set(begun)) == 2
    assert [told[1] for told in shop.told if told[0] == "cancel"] == begun
    links.outcome(begun[0], Outcome(b"r"))
    links.outcome(begun[1], Outcome(None, "failed"))
    links.died([begun[1]])
    links.give_back(begun)
    links.drain()
    links.close()
    assert one.told == [
        ("open",), ("finished", b"wid", b"r", ""), ("died", []), ("give_back", [b"wid"]),
        ("drain",), ("close",),
    ]  # fmt: skip
    assert two.told == [
        ("open",), ("finished", b"wid", None, "failed"), ("died", [b"wid"]), ("give_back", [b"wid"]),
        ("drain",), ("close",),
    ]  # fmt: skip
    assert links.unacknowledged == 4
