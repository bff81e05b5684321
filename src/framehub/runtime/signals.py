"""Which signals ask a process of ours to finish what it does and end."""

import asyncio
import signal
from collections.abc import Callable
from typing import Final

INSISTING: Final = (signal.SIGTERM, signal.SIGINT)
"""Those of which a second one means not to wait."""


def ending() -> list[signal.Signals]:
    """SIGTERM, Ctrl-C, and SIGHUP, the end of a terminal, unless ``nohup`` has that one ignored."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [*INSISTING] if ignored else [*INSISTING, signal.SIGHUP]


def on_ending(stop: Callable[[], None]) -> None:
    """Have ``stop`` called when this process is asked to end, and again when somebody insists.

    To be called where the event loop runs. SIGHUP never insists: a shell and the kernel both tell of a
    terminal's end, and a service manager may send SIGTERM and SIGHUP at once.
    """
    asked = False

    def ask(number: signal.Signals) -> None:
        nonlocal asked
        if not asked or number in INSISTING:
            asked = True
            stop()

    for number in ending():
        asyncio.get_running_loop().add_signal_handler(number, ask, number)
