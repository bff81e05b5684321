"""What is left of connections that have ended, where the garbage collector has no part in it."""

import asyncio
import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

OURS = ("framehub.runtime.", "framehub.mfp.", "framehub.hub.", "framehub.errors", "picows.", "aiofastnet.")
"""Whatever belongs to a connection, the libraries' part of it too."""


class Leftovers:
    """What was made inside ``uncollected``, and is still there."""

    @property
    def names(self) -> Counter[str]:
        """Its classes."""
        known = gc.get_objects()
        return Counter(type(one).__qualname__ for one in known if str(type(one).__module__).startswith(OURS))

    async def gone(self) -> None:
        """All of it goes, given some passes of the event loop."""
        for _ in range(100):
            if not self.names:
                return
            await asyncio.sleep(0.05)
        left = self.names
        assert not left, left


@contextmanager
def uncollected() -> Iterator[Leftovers]:
    """Reference counts alone have to do."""
    gc.collect()
    gc.disable()
    gc.freeze()  # what was there before is not among what is found
    try:
        yield Leftovers()
    finally:
        gc.unfreeze()
        gc.enable()
