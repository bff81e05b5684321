"""Check a value against a JSON schema, so that a wrong argument is refused where it was given. Pure.

    Checker({"type": "integer"}).error("12", "x")      "x: expected integer, got string"

Knows what msgspec writes for annotations: ``type``, ``properties``, ``required``, ``additionalProperties``,
``items``, ``prefixItems``, ``anyOf``, ``enum``, ``$ref`` into ``$defs``, and bounds of numbers and lengths.
The rest is left to the worker, which checks in full: patterns (a foreign one might run for ever), formats,
``uniqueItems``. A schema comes from a peer: one that makes no sense checks nothing, and work is bounded.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from framehub.rpc.strict_json import as_plain

MAX_TRIES: Final = 1_000_000
"""Alternatives looked at in one value; what is left then is not checked."""

Check: TypeAlias = Callable[[Any, str], str | None]

_NAMES: Final = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    type(None): "null",
    list: "array",
    tuple: "array",
    dict: "object",
    bytes: "bytes",
    bytearray: "bytes",
    memoryview: "bytes",
}
_KINDS: Final = {
    name: frozenset(kind for kind, own in _NAMES.items() if own == name) for name in _NAMES.values()
} | {"number": frozenset((int, float))}
_SENSELESS: Final = (TypeError, ValueError, KeyError, AttributeError, RecursionError)


class Checker:
    """A schema, made ready."""

    def __init__(self, schema: Any, defs: Mapping[str, Any] | None = None) -> None:
        self._defs = defs if defs is not None else schema.get("$defs", {}) if isinstance(schema, dict) else {}
        self._known: dict[str, Check] = {}
        self._tries = 0
        try:
            self._check: Check = self._made(schema)
        except _SENSELESS:
            self._check = _anything

    def error(self, value: Any, path: str = "") -> str | None:
        """What is wrong with ``value``, with the place, or nothing."""
        self._tries = 0
        try:
            return self._check(value, path)
        except _SENSELESS:
            return None

    def _made(self, schema: Any) -> Check:
        if schema is False:
            return lambda _, path: said(path, "nothing may stand here")
        if schema is True or not schema.keys() & _CHECKED:
            return _anything
        if "$ref" in schema:
            return self._referred(schema["$ref"].removeprefix("#/$defs/"))
        if "anyOf" in schema:
            return self._any_of(schema["anyOf"])
        if "enum" in schema:
            return _one_of(schema["enum"])
        return self._typed(schema, schema.get("type"))

    def _referred(self, name: str) -> Check:
        if name not in self._known:
            self._known[name] = _anything  # in the making: it may refer to itself
            self._known[name] = self._made(self._defs[name])

        def check(value: Any, path: str) -> str | None:
            return self._known[name](value, path)

        return check

    def _any_of(self, schemas: list[Any]) -> Check:
        if all(schema.keys() == {"type"} and schema["type"] in _SCALAR for schema in schemas):
            names = [schema["type"] for schema in schemas]
            return _of_kind(frozenset().union(*(_KINDS[name] for name in names)), " or ".join(names))
        checks = [self._made(schema) for schema in schemas]
        wanted = " or ".join(self._title(schema) for schema in schemas)

        def check(value: Any, path: str) -> str | None:
            errors = []
            for one in checks:
                self._tries += 1
                if self._tries > MAX_TRIES or (error := one(value, path)) is None:
                    return None
                errors.append(error)
            # What is wrong further inside says more than that none of them fits.
            inside = [error for error in errors if not error.startswith(said(path, ""))]
            return inside[0] if inside else said(path, f"expected {wanted}, got {kind_of(value)}")

        return check

    def _title(self, schema: Any) -> str:
        name = schema.get("$ref", "").removeprefix("#/$defs/")
        schema = self._defs.get(name, schema)
        return str(schema.get("title") or schema.get("type") or "another value")

    def _typed(self, schema: dict[str, Any], name: str | None) -> Check:
        if name == "array":
            return self._array(schema)
        if name == "object":
            return self._object(schema)
        if name is None:
            return _anything
        kinds = _KINDS[name] | (_KINDS["bytes"] if schema.get("contentEncoding") == "base64" else frozenset())
        return _all(_of_kind(kinds, name), *_bounds(schema))

    def _array(self, schema: dict[str, Any]) -> Check:
        first = [self._made(one) for one in schema.get("prefixItems", ())]
        items = schema.get("items", True)
        rest = self._made(items)
        plain = _KINDS[items["type"]] if items in _PLAIN else None

        def inside(value: Any, path: str) -> str | None:
            if plain is not None and not first and set(map(type, value)) <= plain:
                return None
            for place, item in enumerate(value):
                check = first[place] if place < len(first) else rest
                if (error := check(item, f"{path}[{place}]")) is not None:
                    return error
            return None

        return _all(_of_kind(_KINDS["array"], "array"), *_bounds(schema), inside)

    def _object(self, schema: dict[str, Any]) -> Check:
        known = {name: self._made(one) for name, one in schema.get("properties", {}).items()}
        required = list(schema.get("required", ()))
        others = schema.get("additionalProperties", True)
        other = self._made(others)

        def inside(value: Any, path: str) -> str | None:
            for name in required:
                if name not in value:
                    return said(path, f"{name} is missing")
            for name, item in value.items():
                if others is False and name not in known:
                    return said(path, f"{name} is not known")
                error = known.get(name, other)(item, f"{path}.{name}" if path else str(name))
                if error is not None:
                    return error
            return None

        return _all(_of_kind(_KINDS["object"], "object"), *_bounds(schema), inside)


_SCALAR: Final = ("integer", "number", "string", "boolean", "null")
_PLAIN: Final = [{"type": name} for name in _SCALAR]
_CHECKED: Final = {"$ref", "anyOf", "enum", "type"}
_BOUNDS: Final[dict[str, tuple[str, Callable[[Any, Any], bool]]]] = {
    "minimum": ("at least", lambda value, bound: value >= bound),
    "maximum": ("at most", lambda value, bound: value <= bound),
    "exclusiveMinimum": ("more than", lambda value, bound: value > bound),
    "exclusiveMaximum": ("less than", lambda value, bound: value < bound),
    "multipleOf": ("a multiple of", lambda value, bound: value % bound == 0),
    "minLength": ("a length of at least", lambda value, bound: len(value) >= bound),
    "maxLength": ("a length of at most", lambda value, bound: len(value) <= bound),
    "minItems": ("a length of at least", lambda value, bound: len(value) >= bound),
    "maxItems": ("a length of at most", lambda value, bound: len(value) <= bound),
    "minProperties": ("a length of at least", lambda value, bound: len(value) >= bound),
    "maxProperties": ("a length of at most", lambda value, bound: len(value) <= bound),
}


def said(path: str, what: str) -> str:
    """What is wrong, after the place."""
    return f"{path}: {what}" if path else what


def kind_of(value: Any) -> str:
    """What JSON calls it, or its class."""
    return _NAMES.get(type(value), type(value).__name__)


def as_json(value: Any) -> Any:
    """A value as it will be written, if it is none of JSON's own; itself if it cannot be."""
    if type(value) in _NAMES:
        return value
    try:
        return as_plain(value)
    except (TypeError, ValueError, RecursionError):
        return value


def _anything(_: Any, __: str) -> None:
    return None


def _of_kind(kinds: frozenset[type], name: str) -> Check:
    def check(value: Any, path: str) -> str | None:
        if type(value) in kinds or type(as_json(value)) in kinds:
            return None
        return said(path, f"expected {name}, got {kind_of(value)}")

    return check


def _one_of(values: list[Any]) -> Check:
    wanted = [(type(value), value) for value in values]

    def check(value: Any, path: str) -> str | None:
        value = as_json(value)
        if (type(value), value) in wanted:
            return None
        return said(path, f"expected one of {', '.join(map(repr, values))}, got {kind_of(value)}")

    return check


def _bounds(schema: dict[str, Any]) -> list[Check]:
    return [_bound(*_BOUNDS[name], schema[name]) for name in _BOUNDS if name in schema]


def _bound(text: str, holds: Callable[[Any, Any], bool], bound: Any) -> Check:
    def check(value: Any, path: str) -> str | None:
        return None if holds(value, bound) else said(path, f"expected {text} {bound}")

    return check


def _all(*checks: Check) -> Check:
    if len(checks) == 1:
        return checks[0]

    def check(value: Any, path: str) -> str | None:
        value = as_json(value)
        for one in checks:
            if (error := one(value, path)) is not None:
                return error
        return None

    return check
