"""Which numbers a client has used for streams (spec/hub.md, section 7). Pure.

Kept as intervals: a client that counts costs one of them, however many streams it opens.
"""

from bisect import bisect_right


class UsedNumbers:
    """A growing set of whole numbers."""

    __slots__ = ("_ends", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def __len__(self) -> int:
        """How many intervals there are."""
        return len(self._starts)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._starts, number)
        return at > 0 and number <= self._ends[at - 1]

    def add(self, number: int, most: int) -> bool:
        """Add a number that is not in it; false if that would be more than ``most`` intervals."""
        starts, ends = self._starts, self._ends
        at = bisect_right(starts, number)
        follows = at > 0 and ends[at - 1] == number - 1
        precedes = at < len(starts) and starts[at] == number + 1
        if follows and precedes:
            ends[at - 1] = ends[at]
            del starts[at], ends[at]
        elif follows:
            ends[at - 1] = number
        elif precedes:
            starts[at] = number
        elif len(starts) >= most:
            return False
        else:
            starts.insert(at, number)
            ends.insert(at, number)
        return True
