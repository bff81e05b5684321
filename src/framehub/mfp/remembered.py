"""A bounded memory of ids (spec/mfp.md, section 8.1). Pure."""

from typing import Final

_NOTHING: Final[dict[int, int]] = {}  # of nobody, so that most connections keep none of their own


class Remembered:
    """The last ``bound`` to twice ``bound`` ids with the exchange of each; older ones are forgotten at once.

    Two generations instead of one queue: remembering costs one dict insertion, forgetting nothing.
    """

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._young: dict[int, int] = {}
        self._old = _NOTHING

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def add(self, id_: int, exchange: int) -> None:
        """Remember ``id_``."""
        if len(self._young) >= self._bound:
            self._old = self._young
            self._young = {}
        self._young[id_] = exchange

    def get(self, id_: int) -> int:
        """The exchange of ``id_``, or 0."""
        return self._young.get(id_) or self._old.get(id_, 0)

    def pop(self, id_: int) -> int:
        """The exchange of ``id_``, or 0; forget it."""
        old = self._old.pop(id_, 0)
        return self._young.pop(id_, 0) or old

    def clear(self) -> None:
        """Forget everything."""
        self._young.clear()
        self._old = _NOTHING
