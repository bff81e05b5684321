"""Coders by their identity, the name they have on the wire (spec/rpc.md, section 6). Pure.

    coder("Pair<Int, List<String>>").encode((7, ["a"]))

A coder does not know for which function it works: its ``EncodingError`` and ``DecodingError`` have an empty
``function``, and whoever knows the name raises ``named(error, function)`` instead.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, Protocol, TypeVar

from framehub.errors import ConfigError, DecodingError, EncodingError
from framehub.rpc.arrow_coder import ArrowCoder
from framehub.rpc.binary_coders import DOUBLE, INT, LONG, STRING, ULONG, BinaryCoder, ListOf, Tuple
from framehub.rpc.block import EnvelopeCoder
from framehub.rpc.typed_coders import BytesCoder, JsonCoder, MsgpackCoder

MAX_IDENTITY_BYTES: Final = 255
MAX_DEPTH: Final = 16
"""Types inside each other in an identity, the outermost one included."""

_TOKEN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*|\S")
_SIMPLE: Final[dict[str, BinaryCoder]] = {
    simple.identity: simple for simple in (INT, LONG, ULONG, DOUBLE, STRING)
}
_SIZES: Final = {"Pair": 2, "Triple": 3, "List": 1}
_Named = TypeVar("_Named", EncodingError, DecodingError)


class Coder(Protocol):
    """Values to bytes, and back."""

    @property
    def identity(self) -> str:
        """Its name on the wire, in canonical form."""

    def encode(self, value: Any, /) -> bytes:
        """Raise ``EncodingError`` for a value that it cannot carry."""

    def decode(self, data: bytes, /) -> Any:
        """Raise ``DecodingError`` for bytes that are not exactly one value."""


_WHOLE: Final[dict[str, Callable[[], Coder]]] = {
    "json": JsonCoder,
    "msgpack": MsgpackCoder,
    "bytes": BytesCoder,
    "arrow": ArrowCoder,
    "envelope": EnvelopeCoder,
}
"""Coders that fill a block to its end, and so cannot stand inside others."""


@lru_cache(maxsize=1024)
def coder(identity: str) -> Coder:
    """The coder of that name, untyped; spaces around its parts do not matter.

    Raises:
        ConfigError: nobody here knows it, or it is too long or too deep.
    """
    if len(identity.encode(errors="replace")) > MAX_IDENTITY_BYTES:
        raise ConfigError(f"a coder's identity has at most {MAX_IDENTITY_BYTES} bytes")
    if (make := _WHOLE.get(identity.strip(" "))) is not None:
        return make()
    tokens = iter([*_TOKEN.findall(identity), ""])
    found, end = _parse(identity, tokens, next(tokens), 1)
    if end:
        raise ConfigError(f"coder {identity!r}: {end!r} is too much")
    return found


def _parse(identity: str, tokens: Iterator[str], name: str, depth: int) -> tuple[BinaryCoder, str]:
    """The coder that begins with ``name``, and the token after it."""
    if depth > MAX_DEPTH:
        raise ConfigError(f"coder {identity!r}: nested deeper than {MAX_DEPTH} levels")
    if name in _SIMPLE:
        return _SIMPLE[name], next(tokens)
    if name in _WHOLE:
        raise ConfigError(f"coder {identity!r}: {name} cannot stand inside or beside others")
    if name not in _SIZES:
        known = ", ".join((*_SIMPLE, "Pair<A, B>", "Triple<A, B, C>", "List<T>", *_WHOLE))
        raise ConfigError(f"coder {identity!r}: {name!r} is not known; known are {known}")
    items: list[BinaryCoder] = []
    after = next(tokens)
    for before in "<" + "," * (_SIZES[name] - 1):
        _expect(identity, after, before)
        item, after = _parse(identity, tokens, next(tokens), depth + 1)
        items.append(item)
    _expect(identity, after, ">")
    return (ListOf(items[0]) if name == "List" else Tuple(name, items)), next(tokens)


def _expect(identity: str, token: str, wanted: str) -> None:
    if token != wanted:
        raise ConfigError(f"coder {identity!r}: expected {wanted!r}, got {token or 'its end'!r}")


def named(error: _Named, function: str) -> _Named:
    """The same error, about ``function``."""
    return type(error)(function, error.message)
