"""How far a run over a journal has come, on stderr: a bar on a terminal, a line per step elsewhere."""

import time
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text


class Rate(ProgressColumn):
    """Rows, rows a second since the first, and the time left at that rate."""

    def render(self, task: Task) -> Text:
        """The three of them, as far as they are known."""
        if not task.total:
            return Text("")
        text = f"{task.completed:,.0f} of {task.total:,.0f} frames"
        return Text(text + rate_and_rest(task.completed, task.total, task.elapsed or 0.0))


def rate_and_rest(done: float, total: float, seconds: float) -> str:
    """Frames a second so far, and how long the rest takes at that rate."""
    if not done or seconds <= 0:
        return ""
    rate = done / seconds
    return f", {rate:,.0f}/s, {timedelta(seconds=round((total - done) / rate))} left"


class Steps:
    """Shows what a run tells."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = time.monotonic()
        self._reading_since: float | None = None
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24), Rate())
        self._live = Progress(*columns, console=console, transient=True) if console.is_terminal else None
        self._task = self._live.add_task("starting", total=None) if self._live else None

    def __enter__(self) -> "Steps":
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def tell(self, what: str, done: int, total: int) -> None:
        """Say what is being done now, and how many frames are behind."""
        now = time.monotonic()
        if total and self._reading_since is None:
            self._reading_since = now
            if self._live and self._task is not None:
                self._live.reset(self._task, total=total)
        if self._live and self._task is not None:
            self._live.update(self._task, description=what, completed=done, total=total or None)
            return
        line = f"{now - self._began:6.1f} s  {what}"
        if total and self._reading_since is not None:
            line += f": {done:,} of {total:,} frames" + rate_and_rest(done, total, now - self._reading_since)
        self._console.print(line)
