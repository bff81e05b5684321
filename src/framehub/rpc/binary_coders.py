"""Coders of fixed layout, as other implementations have them (spec/rpc.md, section 6). Pure.

    Int i32 | Long i64 | ULong u64 | Double f64           big-endian
    String        size:i32 UTF-8
    List<T>       count:i32 items
    Pair<A, B>    A B          Triple<A, B, C>  A B C

Reading is strict and total: any bytes are one value, or ``DecodingError`` before memory is taken by a size
they declare. Errors name no function: see ``coders.named``.
"""

import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from framehub.errors import DecodingError, EncodingError
from framehub.rpc.strict_json import within

_I32: Final = struct.Struct(">i")
_MAX_I32: Final = 2**31 - 1


class BinaryCoder(ABC):
    """What all of them have."""

    identity: str
    smallest: int
    """Bytes of its shortest value: never 0, so that a count of items can be judged by the bytes present."""
    schema: dict[str, Any]
    """Its values as a JSON schema."""

    def encode(self, value: Any) -> bytes:
        """Raise ``EncodingError`` for a value of another type or out of range, naming the place."""
        out: list[bytes] = []
        self.write(value, out)
        return b"".join(out)

    def decode(self, data: bytes) -> Any:
        """Raise ``DecodingError`` for bytes that are not exactly one value."""
        value, at = self.read(data, 0)
        if at != len(data):
            _refuse(f"{len(data) - at} bytes too many", at)
        return value

    @abstractmethod
    def write(self, value: Any, out: list[bytes]) -> None:
        """Add the value's bytes to ``out``."""

    @abstractmethod
    def read(self, data: bytes, at: int) -> tuple[Any, int]:
        """One value that begins at ``at``, and where it ends."""


class Number(BinaryCoder):
    """``Int``, ``Long``, ``ULong`` and ``Double``."""

    def __init__(self, identity: str, letter: str, lowest: int | None, highest: int | None) -> None:
        self.identity = identity
        self._letter = letter
        self._layout = struct.Struct(f">{letter}")
        self.smallest = self._layout.size
        if lowest is None:
            self._kinds: tuple[type, ...] = (float, int)
            self._wanted = "a number"
            self.schema = {"type": "number"}
        else:
            self._kinds = (int,)
            self._wanted = f"an integer from {lowest} to {highest}"
            self.schema = {"type": "integer", "minimum": lowest, "maximum": highest}

    def write(self, value: Any, out: list[bytes]) -> None:
        """Add its bytes."""
        if not isinstance(value, self._kinds) or isinstance(value, bool):
            raise EncodingError("", f"expected {self._wanted}, got {_kind(value)}")
        try:
            out.append(self._layout.pack(value))
        except (struct.error, OverflowError):
            raise EncodingError("", f"expected {self._wanted}, got one out of range") from None

    def write_many(self, values: Sequence[Any], out: list[bytes]) -> None:
        """Add the bytes of all, at once if nothing is wrong with any."""
        if set(map(type, values)) <= set(self._kinds):
            try:
                out.append(struct.pack(f">{len(values)}{self._letter}", *values))
                return
            except (struct.error, OverflowError):
                pass  # one of them is out of range: find it below
        _write_each(self, values, out)

    def read(self, data: bytes, at: int) -> tuple[Any, int]:
        """One number."""
        end = at + self.smallest
        if end > len(data):
            _refuse(f"cut short inside {self.identity}", len(data))
        return self._layout.unpack_from(data, at)[0], end

    def read_many(self, data: bytes, at: int, count: int) -> tuple[list[Any], int]:
        """``count`` numbers, known to be there."""
        return list(struct.unpack_from(f">{count}{self._letter}", data, at)), at + count * self.smallest


class String(BinaryCoder):
    """Text: its size in bytes, then UTF-8."""

    identity = "String"
    smallest = 4

    def __init__(self) -> None:
        self.schema = {"type": "string"}

    def write(self, value: Any, out: list[bytes]) -> None:
        """Add its bytes."""
        if not isinstance(value, str):
            raise EncodingError("", f"expected a string, got {_kind(value)}")
        try:
            data = value.encode()
        except UnicodeEncodeError:
            raise EncodingError("", "expected a string, got one with half a surrogate pair") from None
        out += (_size(len(data), "bytes of UTF-8"), data)

    def read(self, data: bytes, at: int) -> tuple[str, int]:
        """One text."""
        size, at = _read_size(data, at, self.identity)
        end = at + size
        if end > len(data):
            _refuse(f"String of {size} bytes, but {len(data) - at} are left", at)
        try:
            return data[at:end].decode(), end
        except UnicodeDecodeError as exc:
            _refuse("String is not UTF-8", at + exc.start)


class ListOf(BinaryCoder):
    """Items of one type: their number, then each."""

    smallest = 4

    def __init__(self, item: BinaryCoder) -> None:
        self.identity = f"List<{item.identity}>"
        self.schema = {"type": "array", "items": item.schema}
        self.item = item

    def write(self, value: Any, out: list[bytes]) -> None:
        """Add its bytes."""
        if not isinstance(value, list | tuple):
            raise EncodingError("", f"expected a list, got {_kind(value)}")
        out.append(_size(len(value), "items"))
        if isinstance(self.item, Number):
            self.item.write_many(value, out)
        else:
            _write_each(self.item, value, out)

    def read(self, data: bytes, at: int) -> tuple[list[Any], int]:
        """All items."""
        count, at = _read_size(data, at, self.identity)
        item = self.item
        if count * item.smallest > len(data) - at:
            _refuse(f"List of {count} items, but {len(data) - at} bytes are left", at)
        if isinstance(item, Number):
            return item.read_many(data, at, count)
        values = []
        for _ in range(count):
            value, at = item.read(data, at)
            values.append(value)
        return values, at


class Tuple(BinaryCoder):
    """``Pair`` and ``Triple``: one item of each type, nothing between them."""

    def __init__(self, name: str, items: Sequence[BinaryCoder]) -> None:
        self.identity = f"{name}<{', '.join(item.identity for item in items)}>"
        self.smallest = sum(item.smallest for item in items)
        self.items = tuple(items)
        self.schema = {
            "type": "array",
            "prefixItems": [item.schema for item in items],
            "items": False,
            "minItems": len(items),
            "maxItems": len(items),
        }

    def write(self, value: Any, out: list[bytes]) -> None:
        """Add its bytes."""
        if not isinstance(value, list | tuple) or len(value) != len(self.items):
            raise EncodingError("", f"expected {len(self.items)} values, got {_kind(value)}")
        for place, (item, inner) in enumerate(zip(self.items, value, strict=True)):
            _write_at(place, item, inner, out)

    def read(self, data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
        """All items."""
        values = []
        for item in self.items:
            value, at = item.read(data, at)
            values.append(value)
        return tuple(values), at


INT: Final = Number("Int", "i", -(2**31), _MAX_I32)
LONG: Final = Number("Long", "q", -(2**63), 2**63 - 1)
ULONG: Final = Number("ULong", "Q", 0, 2**64 - 1)
DOUBLE: Final = Number("Double", "d", None, None)
STRING: Final = String()


def _write_each(item: BinaryCoder, values: Sequence[Any], out: list[bytes]) -> None:
    for place, value in enumerate(values):
        _write_at(place, item, value, out)


def _write_at(place: int, item: BinaryCoder, value: Any, out: list[bytes]) -> None:
    try:
        item.write(value, out)
    except EncodingError as exc:
        raise EncodingError("", within(place, exc.message)) from None


def _size(size: int, of_what: str) -> bytes:
    if size > _MAX_I32:
        raise EncodingError("", f"{size} {of_what} are more than {_MAX_I32}")
    return _I32.pack(size)


def _read_size(data: bytes, at: int, identity: str) -> tuple[int, int]:
    if at + 4 > len(data):
        _refuse(f"cut short inside {identity}", len(data))
    size: int = _I32.unpack_from(data, at)[0]
    if size < 0:
        _refuse(f"{identity} of negative size {size}", at)
    return size, at + 4


def _refuse(why: str, at: int) -> NoReturn:
    raise DecodingError("", f"{why} at byte {at}")


def _kind(value: object) -> str:
    size = f" of {len(value)}" if isinstance(value, list | tuple) else ""
    return f"{type(value).__name__}{size}"
