"""A remote function for people: its parameters and its result as one line."""

import json
from typing import Any, Final

from framehub.cli.rows import printable
from framehub.rpc.signature import FILE_SCHEMAS

LONGEST: Final = 60
"""Letters of a type or a default value; what is longer is cut."""
_FILES: Final = {"file": "file", "optional": "file or null", "files": "files"}
_DEEPEST: Final = 4


def signature(entry: dict[str, Any]) -> str:
    """``add(a: number, b: number = 1.0) -> number``."""
    inside = parameters(entry)
    result = _type(entry.get("result_schema"), entry["result"])
    return printable(f"{entry['name']}({inside}) -> {result}")


def parameters(entry: dict[str, Any]) -> str:
    """``a: number, b: number = 1.0``; the coder if nothing else is known."""
    schema = entry.get("parameters")
    if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
        return printable(str(entry["argument"]))
    return printable(", ".join(_parameter(name, one) for name, one in schema["properties"].items()))


def _parameter(name: str, schema: Any) -> str:
    text = f"{name}: {_type(schema, 'any')}"
    if isinstance(schema, dict) and "default" in schema:
        text += f" = {_cut(json.dumps(schema['default'], ensure_ascii=False))}"
    return text


def _type(schema: Any, other: str) -> str:
    return _cut(_named(schema, 0)) if isinstance(schema, dict) and schema else other


def _named(schema: Any, depth: int) -> str:
    """What a schema means, in a word or a few; it comes from a peer, so it may be anything."""
    if not isinstance(schema, dict) or not schema or depth > _DEEPEST:
        return "any"
    for kind, own in FILE_SCHEMAS.items():
        if own == schema:
            return _FILES[kind]
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if isinstance(schema.get("enum"), list):
        return " or ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if isinstance(schema.get("anyOf"), list):
        return " or ".join(_named(one, depth + 1) for one in schema["anyOf"])
    if schema.get("contentEncoding") == "base64":
        return "bytes"
    if schema.get("type") == "array":
        first = schema.get("prefixItems")
        if isinstance(first, list):
            return f"[{', '.join(_named(one, depth + 1) for one in first)}]"
        return f"list of {_named(schema['items'], depth + 1)}" if schema.get("items") else "list"
    return str(schema.get("title") or schema.get("type") or "any")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
