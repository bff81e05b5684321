"""How a token travels with an upgrade (spec/mfp.md, 9.7): in a header, or as a sub-protocol from a browser.

A browser cannot set headers: it offers ``token.`` and the token in base64url beside what it speaks.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from http import HTTPStatus
from typing import Final

from picows import WSUpgradeRequest

from framehub.errors import ConfigError
from framehub.runtime.entrance import Refused

HEADER: Final = "Authorization"
MOST_BYTES: Final = 4096
"""Of the header, or of the sub-protocol."""
_NAME: Final = "token."
_LETTERS: Final = re.compile("[!-~]+")  # no spaces: what a header can carry whatever it is


def header(token: str) -> dict[str, str]:
    """What a client sends.

    Raises:
        ConfigError: that is no token. It is not repeated: it may be one with a letter too many.
    """
    value = f"Bearer {token}"
    if not _LETTERS.fullmatch(token) or len(value) > MOST_BYTES:
        raise ConfigError(f"token: want up to {MOST_BYTES - 7} ASCII letters without spaces")
    return {HEADER: value}


def subprotocol(token: str) -> str:
    """What a browser offers."""
    return _NAME + urlsafe_b64encode(token.encode()).decode().rstrip("=")


def read(request: WSUpgradeRequest) -> tuple[str | None, list[str]]:
    """The token of an upgrade, if it has one, and the sub-protocols it offers beside it, in their order.

    Raises:
        Refused: there are two, or something that cannot be one.
    """
    said = _header(request)
    lines = request.headers.getall("Sec-WebSocket-Protocol", [])
    names = [name.strip() for line in lines for name in line.split(",")]
    shown = [name for name in names if name.startswith(_NAME)]
    if len(shown) > 1:
        raise _bad("more than one token is offered")
    token = _decoded(shown[0]) if shown else said
    if said is not None and token != said:
        raise _bad(f"the tokens in {HEADER} and in the sub-protocol differ")
    return token, [name for name in names if not name.startswith(_NAME)]


def _header(request: WSUpgradeRequest) -> str | None:
    values = request.headers.getall(HEADER, [])
    if not values:
        return None
    if len(values) > 1:
        raise _bad(f"more than one {HEADER} header")
    if len(values[0]) > MOST_BYTES:
        raise _bad(f"{HEADER} has over {MOST_BYTES} bytes")
    scheme, _, token = values[0].strip().partition(" ")
    if scheme.lower() != "bearer":
        return None
    if not _LETTERS.fullmatch(token := token.strip()):
        raise _bad(f"want {HEADER}: Bearer TOKEN")
    return token


def _decoded(name: str) -> str:
    text = name.removeprefix(_NAME)
    try:
        token = urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii")
    except ValueError:
        token = ""
    if not _LETTERS.fullmatch(token) or len(name) > MOST_BYTES or subprotocol(token) != name:
        raise _bad(f"want the sub-protocol {_NAME}TOKEN, the token in base64url without padding")
    return token


def _bad(text: str) -> Refused:
    return Refused(HTTPStatus.BAD_REQUEST, text)
