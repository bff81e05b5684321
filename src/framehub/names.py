"""What a function or a service may be called (spec/rpc.md, 2.8).

Names are shown in terminals and pages, and stand in paths and addresses: what steers those stands in no name.
"""

import re
from typing import Final

_UNFIT: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069/\\\\]")
"""Control characters, those that set the direction of writing, and what parts a path."""
_PARTING: Final = "/\\"
_PLACES: Final = frozenset((".", ".."))


def unfit(name: str) -> str:
    """Why nothing can have this name; an empty text if something can."""
    if name in _PLACES:
        return "a name is not . or .."
    found = _UNFIT.search(name)
    if found is None:
        return ""
    return f"{found[0] if found[0] in _PARTING else f'U+{ord(found[0]):04X}'} cannot stand in a name"
