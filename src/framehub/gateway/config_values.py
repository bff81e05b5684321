"""Values of settings as a TOML file and as the environment have them, and back.

``"off"`` stands for None wherever a setting can be None.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from framehub.errors import ConfigError
from framehub.mfp.checksum import Checksums

OFF: Final = "off"
_YES: Final = {"true": True, "yes": True, "on": True, "1": True}
_NO: Final = {"false": False, "no": False, "off": False, "0": False}


class Unfit(Exception):
    """A value that its setting cannot have; the text says what it wants."""


def from_toml(value: Any, wanted: Any) -> Any:
    """What a value of a TOML file is for a setting of this type.

    Raises:
        Unfit: nothing.
    """
    kinds, is_optional = _kinds(wanted)
    if is_optional and value == OFF:
        return None
    for kind in kinds:
        found = _fit(value, kind)
        if found is not _NOTHING:
            return found
    raise Unfit(want(wanted))


def from_text(text: str, wanted: Any) -> Any:
    """What a text, of the environment, is for a setting of this type.

    Raises:
        Unfit: nothing.
    """
    kinds, is_optional = _kinds(wanted)
    if is_optional and text == OFF:
        return None
    for kind in kinds:
        try:
            return from_toml(_parsed(text, kind), kind)
        except (ValueError, Unfit):
            continue
    raise Unfit(want(wanted))


def want(wanted: Any) -> str:
    """What a setting of this type wants, in words."""
    kinds, is_optional = _kinds(wanted)
    words = [_word(kind) for kind in kinds]
    return " or ".join([*words, '"off"'] if is_optional else words)


def is_for_files(wanted: Any) -> bool:
    """Whether a setting of this type is a table of tables or lists, which one line of text cannot be."""
    kinds = [kind for kind in _kinds(wanted)[0] if get_origin(kind) is Mapping]
    return any(get_origin(get_args(kind)[1]) in (tuple, Mapping) for kind in kinds)


def as_toml(value: Any) -> str:
    """A value as a TOML file has it."""
    if value is None:
        return f'"{OFF}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{as_toml(key)} = {as_toml(one)}" for key, one in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, Checksums):
        return as_toml(f"{value.mode} {value.algorithm}")
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


# --- inside --------------------------------------------------------------------------------------------

_NOTHING: Final = object()


def _kinds(wanted: Any) -> tuple[list[Any], bool]:
    """The types that a value may have, and whether it may be None."""
    if get_origin(wanted) in (Union, UnionType):
        kinds = get_args(wanted)
        return [kind for kind in kinds if kind is not NoneType], NoneType in kinds
    return [wanted], False


def _fit(value: Any, kind: Any) -> Any:
    origin = get_origin(kind)
    if origin is Literal:
        return value if value in get_args(kind) and isinstance(value, str) else _NOTHING
    if origin is tuple:
        is_list = isinstance(value, list) and all(isinstance(one, str) for one in value)
        return tuple(value) if is_list else _NOTHING
    if origin is Mapping:
        return _mapping(value, get_args(kind)[1])
    if kind is float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if is_number else _NOTHING
    if kind is int:
        return value if isinstance(value, int) and not isinstance(value, bool) else _NOTHING
    if kind is bool:
        return value if isinstance(value, bool) else _NOTHING
    if not isinstance(value, str) or not value:
        return _NOTHING
    if kind is Path:
        return Path(value)
    if kind is Checksums:
        return _checksums(value)
    return value


def _mapping(value: Any, kind: Any) -> Any:
    if not isinstance(value, dict):
        return _NOTHING
    found = {key: _fit(one, kind) for key, one in value.items()}
    return found if _NOTHING not in found.values() else _NOTHING


def _checksums(text: str) -> Any:
    mode, _, algorithm = text.partition(" ")
    try:
        return Checksums(mode, algorithm.strip() or "crc32")  # type: ignore[arg-type]
    except ConfigError as exc:
        raise Unfit(f"{_word(Checksums)} ({exc})") from exc


def _parsed(text: str, kind: Any) -> Any:
    """Text as the TOML value that it would be."""
    origin = get_origin(kind)
    if origin is tuple:
        return [one.strip() for one in text.split(",") if one.strip()]
    if origin is Mapping:
        pairs = (pair.partition("=") for pair in text.split(",") if pair.strip())
        return {name.strip(): value.strip() for name, _, value in pairs}
    if kind is bool:
        return (_YES | _NO).get(text.lower(), text)
    if kind in (int, float):
        return kind(text)
    return text


def _word(kind: Any) -> str:
    origin = get_origin(kind)
    if origin is Literal:
        return " or ".join(f'"{one}"' for one in get_args(kind))
    if origin is tuple:
        return "a list of strings"
    if origin is Mapping:
        return f"a table of names, each with {_word(get_args(kind)[1])}"
    words = {bool: "true or false", int: "a whole number", float: "a number", Path: "a path as a string"}
    return words.get(kind, '"MODE ALGORITHM", like "flag crc32"' if kind is Checksums else "a string")
