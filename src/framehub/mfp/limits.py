"""How much one side takes of the other (spec/mfp.md, sections 9 and 9.3). Pure.

Each side keeps to its own settings, and to what the peer told in its hello where that is less.
"""

from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from framehub.mfp.settings import LEAST_FRAME_BYTES, Settings

NO_LIMIT = 2**63


class Limits(Struct, frozen=True, kw_only=True):
    """As the hello names them; the setting of each has ``max_`` before it."""

    frame_bytes: int = NO_LIMIT
    payload_bytes: int = NO_LIMIT
    files: int = NO_LIMIT
    requests: int = NO_LIMIT
    announced: int = NO_LIMIT
    streams: int = NO_LIMIT
    waiting_bytes: int = NO_LIMIT

    @classmethod
    @lru_cache(maxsize=64)  # one for all connections with the same settings
    def of(cls, settings: Settings) -> "Limits":
        """What a side with these settings takes."""
        return cls(**{name: getattr(settings, f"max_{name}") for name in cls.__struct_fields__})

    @classmethod
    def understood(cls, told: Any) -> "Limits":
        """What a peer told of itself; what is no sensible number counts as not told."""
        if not isinstance(told, dict):
            return cls()
        least = {"frame_bytes": LEAST_FRAME_BYTES}
        return cls(
            **{
                name: told[name]
                for name in cls.__struct_fields__
                if type(told.get(name)) is int and told[name] >= least.get(name, 0)
            }
        )

    def lowered(self, other: "Limits") -> "Limits":
        """The lower of each two."""
        if self == Limits():
            return other
        names = self.__struct_fields__
        return Limits(**{name: min(getattr(self, name), getattr(other, name)) for name in names})

    def plain(self) -> dict[str, int]:
        """As it stands in a hello."""
        return msgspec.structs.asdict(self)
