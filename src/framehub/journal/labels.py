"""What many brief rows have in common, each once and with a number (``brief``). Pure."""

from typing import Final

import numpy as np

from framehub.journal.brief import CONSTANT, LABEL, TEXTS, WHOLE, Numbers
from framehub.journal.record import NO_LINK

TEXT_LIMIT: Final = 4096
"""Characters, or bytes of a query's id, that are kept of a value that is too long."""
LONG_TEXT: Final = 64 << 10
"""Longer ones are too long."""
TEXT_BYTES: Final = 256 << 10
"""So many bytes of texts are enough,"""
MOST: Final = 16_384
"""and so many labels."""
NOT_BRIEF: Final = CONSTANT.pack(NO_LINK, WHOLE, 0, 0, 0, 0, -1, -1, -1, 0, 0)
"""Stands where a row that is not brief at all has only texts."""


assert LABEL.names
_NAMES: Final = LABEL.names


class Labels:
    """Labels and their texts. It only ever grows; when it is full another is begun."""

    __slots__ = ("_codes", "_numbers", "_records", "bytes", "texts")

    def __init__(self) -> None:
        self.texts = [b""]
        """Endpoints, errors, coders and reasons, each once; the first stands for none."""
        self.bytes = 0
        """Of texts."""
        self._codes: dict[str | None, int] = {None: 0}
        self._numbers: dict[tuple[bytes, str | None, str | None, str | None], int] = {}
        self._records = bytearray()

    def number(self, constant: bytes, endpoint: str | None, error: str | None, coder: str | None) -> int:
        """The number of a label."""
        key = constant, endpoint, error, coder
        known = self._numbers.get(key)
        if known is None:
            code = self.code
            self._records += constant + TEXTS.pack(code(endpoint), code(error), code(coder))
            known = self._numbers[key] = len(self._numbers)
        return known

    def code(self, text: str | None) -> int:
        """The number of a text."""
        known = self._codes.get(text)
        if known is None:
            assert text is not None
            kept = text if len(text) <= LONG_TEXT else text[:TEXT_LIMIT]
            data = kept.encode("utf-8", "backslashreplace")  # a peer chooses what an endpoint is called
            self.texts.append(data)
            self.bytes += len(data) + len(text)
            known = self._codes[text] = len(self.texts) - 1
        return known

    @property
    def is_full(self) -> bool:
        """Whether it is time to begin anew."""
        return self.bytes >= TEXT_BYTES or len(self._numbers) >= MOST or len(self.texts) >= MOST

    @property
    def records(self) -> bytes:
        """What all labels say, one of ``LABEL`` after the other, by their numbers."""
        return bytes(self._records)

    def of(self, numbers: Numbers) -> dict[str, Numbers]:
        """What labels of these numbers say, by the names of ``LABEL``."""
        records = np.frombuffer(self.records, dtype=LABEL)
        if len(numbers) and (numbers == numbers[0]).all():
            return {name: np.repeat(records[name][numbers[0]], len(numbers)) for name in _NAMES}
        return {name: records[name][numbers] for name in _NAMES}
