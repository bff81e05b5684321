"""One hub that a service serves: its link, what runs for it, and whether it answers."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from framehub.runtime.service_link import ServiceLink
from framehub.runtime.service_running import Running

log = logging.getLogger("framehub.service")

PATIENCE: Final = 5.0
"""Seconds after which a hub that has not answered is worth a word."""


class Desk:
    """A service has one for each hub."""

    def __init__(self, link: ServiceLink, running: Running, on_ready: Callable[[str], None]) -> None:
        self.link = link
        self.running = running
        self._on_ready = on_ready
        self._was_ready = False
        self._waiting: asyncio.TimerHandle | None = None
        link.on_ready = self._ready

    def open(self, on_alone: Callable[[str], None]) -> None:
        """Connect; ``on_alone`` is told if nobody answers for a while.

        Raises:
            ConfigError: that is no address.
        """
        self.link.open()
        loop = asyncio.get_running_loop()
        self._waiting = loop.call_later(PATIENCE, lambda: on_alone(_alone(self.link)))

    def close(self) -> None:
        """Wait for nobody."""
        if self._waiting is not None:
            self._waiting.cancel()

    def _ready(self) -> None:
        self.close()
        if self._was_ready:
            log.warning("the hub at %s has us again", self.link.address)
        else:
            self._on_ready(self.link.address)
        self._was_ready = True


def _alone(link: ServiceLink) -> str:
    if link.machine.refusal:
        return f"the hub at {link.address} does not take this service: {link.machine.refusal}. Still trying"
    text = f"no answer from a hub at {link.address} yet: is `framehub serve` up, and are the keys right?"
    return f"{text} Still trying"
