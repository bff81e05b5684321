"""JSON as the specifications mean it: nothing twice, nothing too deep, nothing that JSON lacks."""

import json
from typing import Any

DEEPEST = 64


class NoJson(ValueError):
    """The bytes are no strict JSON."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise NoJson("a key stands twice")
    return made


def _constant(name: str) -> Any:
    raise NoJson(f"{name} is no JSON")


def parse(raw: bytes, *, deepest: int = DEEPEST) -> Any:
    """The value that the bytes say.

    Raises:
        NoJson: they say none.
    """
    try:
        value = json.loads(raw.decode(), object_pairs_hook=_pairs, parse_constant=_constant)
        _check(value, deepest)
    except (ValueError, RecursionError, OverflowError) as exc:
        raise NoJson(str(exc)) from None
    return value


def _check(value: Any, levels: int) -> None:
    if isinstance(value, str):
        value.encode()  # half a surrogate pair cannot be
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if float(value) in (float("inf"), float("-inf")):
            raise NoJson("too large a number")
    elif isinstance(value, list | dict):
        if not levels:
            raise NoJson("too deep")
        for key in value if isinstance(value, dict) else ():
            key.encode()
        for item in value.values() if isinstance(value, dict) else value:
            _check(item, levels - 1)


def text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def normal(value: Any) -> Any:
    """A value in a form in which 1 is 1.0 but no boolean, and the order of keys does not matter."""
    if isinstance(value, bool):
        return "true" if value else "false", "boolean"
    if isinstance(value, dict):
        return {key: normal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [normal(item) for item in value]
    return value
