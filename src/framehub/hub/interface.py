"""What a service says of itself: its interface (spec/hub.md, section 11). Pure.

JSON: ``{"name", "doc", "functions": [{"number", "name", "doc", "parameters", "result"}]}``. Only the numbers
of functions are required; what is not known is kept.
"""

from typing import Any, Final

import msgspec
from msgspec import Struct

from framehub.errors import MalformedFrame
from framehub.names import unfit

MOST_NAME: Final = 255
"""Bytes of a service's name: it stands in every row of the journal about it."""


class Interface(Struct, frozen=True):
    """What the hub reads of it."""

    name: str = ""
    functions: dict[str, int] = {}
    """Numbers by name."""


NONE = Interface()


def read_interface(body: bytes) -> Interface:
    """Read what follows a service's settings; nothing at all is an interface without a name.

    Raises:
        MalformedFrame: it is no interface, and what is wrong with it.
    """
    if not body:
        return NONE
    try:
        told: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as exc:
        raise MalformedFrame(f"the interface is no JSON: {exc}", offset=0) from exc
    if not isinstance(told, dict):
        raise MalformedFrame("the interface is no JSON object", offset=0)
    name = told.get("name", "")
    listed = told.get("functions", [])
    if not isinstance(name, str) or not isinstance(listed, list):
        raise MalformedFrame('in the interface "name" is a text and "functions" a list', offset=0)
    if len(name.encode()) > MOST_NAME:
        raise MalformedFrame(f"the service's name has over {MOST_NAME} bytes", offset=0)
    if why := unfit(name):
        raise MalformedFrame(f"the service's name: {why}", offset=0)
    functions: dict[str, int] = {}
    numbers: set[int] = set()
    for function in listed:
        number = function.get("number") if isinstance(function, dict) else None
        if type(number) is not int or not 0 <= number <= 255 or number in numbers:
            raise MalformedFrame('a function of the interface has a "number" of its own, 0 to 255', offset=0)
        numbers.add(number)
        called = function.get("name")
        if isinstance(called, str) and called:
            if why := unfit(called):
                raise MalformedFrame(f"the name of function {number}: {why}", offset=0)
            functions.setdefault(called, number)
    return Interface(name, functions)
