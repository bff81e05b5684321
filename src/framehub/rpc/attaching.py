"""Files beside data: which parameter or result gets which file of a block (spec/rpc.md, section 7). Pure.

The first File parameter is the file with key 0, the next one key 1; ``list[File]`` takes all from its key on.
What a ``File`` is, the runtime says: ``make(data, name, type)`` gives one, ``read(file)`` its bytes.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from framehub.errors import DecodingError, EncodingError
from framehub.rpc.block import Attached
from framehub.rpc.signature import FileKind, is_file

Make: TypeAlias = Callable[[bytes, str, str], Any]
Read: TypeAlias = Callable[[Any], bytes]


def as_attached(data: bytes, name: str, type_: str) -> Attached:
    """A file where nobody said what to make of it."""
    return Attached(0, data, name, type_)


def bytes_of(file: Any) -> bytes:
    """What is in a file that has its bytes at hand."""
    data: bytes = file.data
    return data


def gathered(wanted: Iterable[tuple[str, FileKind, Any]], read: Read) -> tuple[Attached, ...]:
    """The files of a block, from (place, kind, value) in the order of their keys.

    Raises:
        EncodingError: a value that is not what its kind says, or a file that cannot be read.
    """
    found: list[Attached] = []
    for key, (place, kind, value) in enumerate(wanted):
        if kind == "files":
            if not isinstance(value, list | tuple):
                raise EncodingError("", f"{place}: expected a list of Files, got {type(value).__name__}")
            found += [_attached(f"{place}[{at}]", key + at, file, read) for at, file in enumerate(value)]
        elif value is not None or kind != "optional":
            found.append(_attached(place, key, value, read))
    return tuple(found)


def _attached(place: str, key: int, file: Any, read: Read) -> Attached:
    if not isinstance(file, Attached) and not is_file(type(file)):
        raise EncodingError("", f"{place}: expected a File, got {type(file).__name__}")
    try:
        return Attached(key, read(file), file.name, file.type)
    except (OSError, ValueError, TypeError) as exc:
        raise EncodingError("", f"{place}: {exc}") from exc


def handed_out(wanted: Sequence[tuple[str, FileKind]], files: Sequence[Attached], make: Make) -> list[Any]:
    """The value for each (place, kind), from the files of a block.

    Raises:
        DecodingError: a file is missing, or one has no place.
    """
    left = {file.key: file for file in files}
    values: list[Any] = []
    for key, (place, kind) in enumerate(wanted):
        if kind == "files":
            rest = [left.pop(own) for own in list(left) if own >= key]
            values.append([make(file.data, file.name, file.type) for file in rest])
        elif key in left:
            file = left.pop(key)
            values.append(make(file.data, file.name, file.type))
        elif kind == "optional":
            values.append(None)
        else:
            raise DecodingError("", f"{place}: file {key} is missing")
    if left:
        raise DecodingError("", f"file {min(left)} has no place here")
    return values
