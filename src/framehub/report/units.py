"""Numbers and moments as people read them; all of it safe to stand in HTML."""

from html import escape
from typing import Final

_SPACE: Final = "\N{NO-BREAK SPACE}"


def moment(iso: str | None, *, fine: bool = False) -> str:
    """A time of day in UTC, to the second or to the millisecond."""
    if not iso:
        return ""
    seconds, _, rest = iso.partition(".")
    text = seconds[:19].replace("T", " ")
    return escape(f"{text}.{(rest[:3] if rest else '').ljust(3, '0')}" if fine else text)


def duration(microseconds: float | None) -> str:
    """A span of time in the unit that suits it."""
    if microseconds is None:
        return ""
    for unit, size in (("d", 86_400e6), ("h", 3_600e6), ("min", 60e6), ("s", 1e6), ("ms", 1e3)):
        if microseconds >= size * (1 if unit in ("s", "ms") else 2):
            return f"{_digits(microseconds / size)}{_SPACE}{unit}"
    return f"{_digits(microseconds)}{_SPACE}µs"


def amount(octets: int | None) -> str:
    """Bytes in the unit that suits them."""
    if octets is None:
        return ""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if octets >= size:
            return f"{_digits(octets / size)}{_SPACE}{unit}"
    return f"{octets}{_SPACE}B"


def number(value: int) -> str:
    """A count."""
    return f"{value:,}"


def share(part: int, whole: int) -> str:
    """So many of a hundred; what is not nothing does not look like it."""
    if not whole or not part:
        return f"0{_SPACE}%"
    percent = 100 * part / whole
    return f"{percent:.3g}{_SPACE}%" if percent >= 0.01 else f"&lt;{_SPACE}0.01{_SPACE}%"


def _digits(value: float) -> str:
    return f"{value:.3g}" if value < 999.5 else f"{value:,.0f}"
