"""The functions of one service: what ``@service.function(1)`` keeps of each, and the interface made of them.

A function that takes a ``ServiceStream`` has the whole conversation. Every other is called with what the
first body says: JSON typed by its annotations, or bytes as they are where they are its only parameter. What
it gives is the last frame; what an async generator gives are messages.
"""

import inspect
import json
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from typing import Any, Final, get_args, get_origin

from framehub.errors import ConfigError
from framehub.names import unfit
from framehub.rpc.bound import BoundFunction
from framehub.rpc.messages import MAX_NAME
from framehub.rpc.signature import FILE, has_file
from framehub.runtime.functionset import Function, is_async
from framehub.runtime.service_stream import ServiceStream

MAX_INTERFACE: Final = 256 * 1024
"""Bytes of an interface that a hub takes."""
_BINARY: Final = (bytes, bytearray, memoryview)
_ITERATORS: Final = (AsyncGenerator, AsyncIterator, AsyncIterable)
_NULL: Final = b"null"


class Kind(Enum):
    """How a function of a service is run."""

    STREAM = "stream"
    """A coroutine that has the stream."""
    CALL = "call"
    """A coroutine that gives one result."""
    PLAIN = "plain"
    """The same without async: it runs in a thread."""
    ITEMS = "items"
    """An async generator: each item is a message."""


class ServiceFunction:
    """One function, with all that is needed to describe and to run it."""

    __slots__ = ("call", "description", "kind", "name", "number", "typed")

    def __init__(
        self, number: int, name: str, kind: Kind, call: Callable[..., Any], typed: Function | None
    ) -> None:
        self.number = number
        self.name = name
        self.kind = kind
        self.call = call
        self.typed = typed
        """How bodies become arguments, and results bodies; none where it has the stream."""
        told = {"doc": inspect.getdoc(_innermost(call)) or "", "parameters": FILE, "result": FILE}
        self.description: dict[str, Any] = {
            "number": number,
            "name": name,
            **(told if typed is None else _told(typed)),
            "kind": (Kind.CALL if kind is Kind.PLAIN else kind).value,
        }
        """Its entry in the interface."""


class ServiceFunctions(Mapping[int, ServiceFunction]):
    """Functions by number, in the order in which they were added."""

    def __init__(self) -> None:
        self._functions: dict[int, ServiceFunction] = {}

    def add(self, number: int, function: Callable[..., Any], name: str | None = None) -> ServiceFunction:
        """Offer ``function`` under this number.

        Raises:
            ConfigError: the number or the name is taken or cannot be one, or the function cannot be offered.
        """
        if not callable(function):
            raise ConfigError(f"want a function, not {function!r}")
        if type(number) is not int or not 1 <= number <= 255:
            raise ConfigError(f"a function's number is 1 to 255, not {number!r}; 0 is the interface")
        if number in self._functions:
            raise ConfigError(f"function {number} is there already: {self._functions[number].name}")
        own = checked_name("function", getattr(function, "__name__", "") if name is None else name)
        if any(other.name == own for other in self.values()):
            raise ConfigError(f"function {own!r} is there already: two functions need two names")
        self._functions[number] = added = _read(number, own, function)
        return added

    def interface(self, name: str, doc: str) -> bytes:
        """What function 0 answers.

        Raises:
            ConfigError: it is too long, or no JSON.
        """
        told = {"name": name, "doc": doc, "functions": [one.description for one in self.values()]}
        try:
            text = json.dumps(told, ensure_ascii=False, allow_nan=False).encode()
        except ValueError as exc:
            raise ConfigError(f"the functions cannot be described: {exc}") from exc
        if len(text) > MAX_INTERFACE:
            raise ConfigError(
                f"docs and schemas of the functions have {len(text)} bytes, more than {MAX_INTERFACE}:"
                " shorten them, or offer some of the functions in another service"
            )
        return text

    def __getitem__(self, number: int) -> ServiceFunction:
        return self._functions[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


def checked_name(what: str, name: str) -> str:
    """A name that can stand in a line and in ``service.function``.

    Raises:
        ConfigError: it cannot.
    """
    if not isinstance(name, str) or not name:
        raise ConfigError(f"a {what} needs a name: give one with name=")
    if not name.isprintable() or " " in name:
        raise ConfigError(f"a {what}'s name has no spaces or control characters: {name!r}")
    if why := unfit(name):
        raise ConfigError(f"{what} {name!r}: {why}")
    if len(name.encode()) > MAX_NAME:
        raise ConfigError(f"{what} {name[:20]!r}...: its name has more than {MAX_NAME} bytes")
    return name


def _read(number: int, name: str, function: Callable[..., Any]) -> ServiceFunction:
    try:
        described = inspect.signature(function, eval_str=True)
    except (TypeError, ValueError, NameError, AttributeError, SyntaxError) as exc:
        raise ConfigError(f"{name} cannot be read: {exc}") from exc
    parameters = list(described.parameters.values())
    if any(one.annotation is ServiceStream for one in parameters):
        if len(parameters) != 1:
            raise ConfigError(f"{name}: who takes a ServiceStream takes nothing else: it has the first body")
        if not is_async(function):
            raise ConfigError(
                f"{name}: who takes a ServiceStream is written with async def, and no generator"
            )
        return ServiceFunction(number, name, Kind.STREAM, function, None)
    if any(one.name == "stream" and one.annotation is one.empty for one in parameters):
        raise ConfigError(f"{name}: say what stream is, mostly framehub.ServiceStream")
    kind = _kind(name, function)
    typed = _typed(name, function, described, kind)
    return ServiceFunction(number, name, kind, function, typed)


def _kind(name: str, function: Callable[..., Any]) -> Kind:
    inner = _innermost(function)
    if inspect.isgeneratorfunction(inner):
        raise ConfigError(f"{name} is a generator: write it with async def, or return a list")
    if inspect.isasyncgenfunction(inner):
        return Kind.ITEMS
    return Kind.CALL if is_async(function) else Kind.PLAIN


def _typed(name: str, function: Callable[..., Any], described: inspect.Signature, kind: Kind) -> Function:
    """Read it as a remote function is read, by what stands for it."""
    output = described.return_annotation
    if kind is Kind.ITEMS:
        args = get_args(output)
        output = args[0] if get_origin(output) in _ITERATORS and args else described.empty
    inputs = [one.annotation for one in described.parameters.values()]
    if any(has_file(type_) for type_ in (*inputs, output)):
        raise ConfigError(f"{name}: a File cannot go through the hub: take or give bytes")
    takes_bytes = inputs == [bytes]
    if any(_has_bytes(type_) for type_ in (*(() if takes_bytes else inputs), *get_args(output))):
        raise ConfigError(f"{name}: bytes are a whole body, or none: JSON cannot carry them beside others")

    def stand_in() -> None: ...

    stand_in.__doc__ = inspect.getdoc(_innermost(function))
    stand_in.__signature__ = described.replace(return_annotation=output)  # type: ignore[attr-defined]
    coders = ("bytes" if takes_bytes else "json", "bytes" if output is bytes else "json")
    try:
        bound = BoundFunction(stand_in, name, coders)
    except ConfigError as exc:
        # What is said after that is for workers, who can choose.
        raise ConfigError(str(exc).partition("; give coders=")[0]) from exc
    typed = Function(bound, redispatch="always", max_runtime=None)
    typed.function = function
    typed.is_async = kind is not Kind.PLAIN
    if not takes_bytes:
        typed.read = partial(_arguments, bound)
    typed.write = partial(_written, bound)
    return typed


def _arguments(bound: BoundFunction, body: bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return bound.call(body or _NULL)  # who has nothing to say need not say so


def _written(bound: BoundFunction, value: Any) -> bytes:
    return bytes(value) if isinstance(value, _BINARY) else bound.encode_result(value)


def _told(typed: Function) -> dict[str, Any]:
    """What the interface says of it: where a body is bytes, that it is no JSON."""
    own, told = typed.bound.signature, typed.bound.description
    if own.argument == "bytes":
        told["parameters"] = own.parameters | {"properties": {own.inputs[0].name: FILE}}
    if own.result == "bytes":
        told["result"] = FILE
    return told


def _has_bytes(type_: Any) -> bool:
    return type_ in _BINARY or any(map(_has_bytes, get_args(type_)))


def _innermost(function: Any) -> Any:
    while isinstance(function, partial):
        function = function.func
    return function
