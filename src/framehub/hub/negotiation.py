"""Which version of the hub's frames a client speaks (spec/hub.md, section 6). Pure.

It says so in the header ``X-Hub-Version`` or by a WebSocket sub-protocol; whoever says nothing speaks the
newest.
"""

from collections.abc import Sequence
from typing import Final

from framehub.errors import RemoteProtocolError

VERSION_HEADER: Final = "X-Hub-Version"
SUBPROTOCOLS: Final = {"hub.v1": 1, "hub.v2": 2}
DEFAULT_VERSION: Final = 2


class NoVersion(RemoteProtocolError):
    """What a client asks for cannot be spoken."""


def choose(offered: Sequence[str], said: Sequence[str] = ()) -> tuple[int, str | None]:
    """The version to speak, and the sub-protocol to answer with, if one was offered.

    ``offered`` are the sub-protocols in the client's order, ``said`` what it put into ``X-Hub-Version``.

    Raises:
        NoVersion: it asks for versions that we do not know, or for two at once.
    """
    wanted = {text.strip() for text in said}
    if len(wanted) > 1:
        raise NoVersion(f"{VERSION_HEADER} says two things")
    known = {str(version): version for version in SUBPROTOCOLS.values()}
    if not wanted <= known.keys():
        raise NoVersion(f"{VERSION_HEADER}: want one of {', '.join(known)}")
    version = known[wanted.pop()] if wanted else None
    names = [name for name in offered if name in SUBPROTOCOLS]
    if offered and not names:
        raise NoVersion(f"speak one of {', '.join(SUBPROTOCOLS)}")
    name = next((name for name in names if version in {None, SUBPROTOCOLS[name]}), None)
    if names and name is None:
        raise NoVersion(f"{VERSION_HEADER} and the sub-protocol disagree")
    if name is not None:
        return SUBPROTOCOLS[name], name
    return version or DEFAULT_VERSION, None
