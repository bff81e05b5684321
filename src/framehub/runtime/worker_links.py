"""A worker's links to the proxies of several gateways, before one workshop.

Each proxy knows the worker as its own. Ids are the proxies': here the number of the link stands before each,
so that they never meet.
"""

from collections.abc import Callable, Sequence

from framehub.runtime.workdone import Outcome
from framehub.runtime.worker_link import WorkerLink
from framehub.runtime.workshop import Workshop
from framehub.runtime.workthreads import ThreadWorkshop


class WorkerLinks:
    """One or more; what the workshop says goes to the link whose query it was."""

    def __init__(self, links: Sequence[WorkerLink]) -> None:
        self._links = links

    @property
    def unacknowledged(self) -> int:
        """Answers that a proxy may not have."""
        return sum(link.unacknowledged for link in self._links)

    def serve(self, shop: Workshop | ThreadWorkshop) -> None:
        """Have queries run there, and connect.

        Raises:
            ConfigError: something is no address.
        """
        for number, link in enumerate(self._links):
            link.begin, link.cancel = _numbered(bytes((number,)), shop)
            link.open()

    def outcome(self, wid: bytes, outcome: Outcome) -> None:
        """A function returned or failed."""
        self._links[wid[0]].finished(wid[1:], outcome.result, outcome.error)

    def died(self, wids: list[bytes]) -> None:
        """What ran these has died."""
        for link, own in self._sorted(wids):
            link.died(own)

    def give_back(self, wids: list[bytes]) -> None:
        """These were not begun, and will not be."""
        for link, own in self._sorted(wids):
            link.give_back(own)

    def drain(self) -> None:
        """Say goodbye: take nothing new."""
        for link in self._links:
            link.drain()

    def close(self) -> None:
        """End them all."""
        for link in self._links:
            link.close()

    def _sorted(self, wids: list[bytes]) -> list[tuple[WorkerLink, list[bytes]]]:
        return [
            (link, [wid[1:] for wid in wids if wid[0] == number]) for number, link in enumerate(self._links)
        ]


def _numbered(
    number: bytes, shop: Workshop | ThreadWorkshop
) -> tuple[Callable[[bytes, str, bytes], None], Callable[[bytes], None]]:
    def begin(wid: bytes, name: str, argument: bytes) -> None:
        shop.submit(number + wid, name, argument)

    return begin, lambda wid: shop.cancel(number + wid)
