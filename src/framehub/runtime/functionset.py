"""The functions of one worker: what ``@worker.function`` keeps of each."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from framehub.errors import ConfigError
from framehub.names import unfit
from framehub.rpc.bound import BoundFunction
from framehub.rpc.messages import MAX_FUNCTIONS, MAX_NAME
from framehub.runtime.files import PIECE_BYTES, File, open_regular, received

Redispatch: TypeAlias = Literal["always", "unacknowledged"]
MAX_FILE_BYTES: Final = 1 << 30
"""Of one file in a result, far over what a message can carry: what has no end is not read for ever."""

collected: "list[FunctionSet] | None" = None
"""In a child process: every set made since it began to import its worker's module. Else None."""


class Function:
    """One function, with all that is needed to offer and to run it."""

    __slots__ = ("bound", "function", "is_async", "max_runtime", "name", "read", "redispatch", "write")

    def __init__(self, bound: BoundFunction, *, redispatch: Redispatch, max_runtime: float | None) -> None:
        self.name = bound.name
        self.function = bound.function
        self.bound = bound
        self.is_async = is_async(bound.function)
        self.redispatch: Redispatch = redispatch
        """Whether it may be run again when the process that had begun it died."""
        self.max_runtime = max_runtime
        """Seconds after which a call of it is ended; None for never."""
        self.read = bound.call
        """From the argument's bytes to what the function is called with."""
        self.write = bound.encode_result
        """From what the function returned to the result's bytes."""


class FunctionSet(Mapping[str, Function]):
    """Functions by name, in the order in which they were added."""

    def __init__(self) -> None:
        self._functions: dict[str, Function] = {}
        if collected is not None:
            collected.append(self)

    def add(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        coders: tuple[str, str] | None = None,
        redispatch: Redispatch = "always",
        max_runtime: float | None = None,
    ) -> Function:
        """Offer ``function``, under its own name if no other is given.

        Raises:
            ConfigError: the name is taken or cannot be one, or the function cannot be offered like that.
        """
        if not callable(function):
            raise ConfigError(f"want a function, not {function!r}")
        name = self._checked(getattr(function, "__name__", "") if name is None else name)
        if redispatch not in ("always", "unacknowledged"):
            raise ConfigError(
                f"function {name!r}: redispatch is 'always' or 'unacknowledged', not {redispatch!r}"
            )
        if max_runtime is not None and not max_runtime > 0:
            raise ConfigError(f"function {name!r}: max_runtime must be above zero, not {max_runtime!r}")
        if max_runtime == inf:
            max_runtime = None
        bound = BoundFunction(function, name, coders, make_file=received, read_file=bytes_of)
        added = Function(bound, redispatch=redispatch, max_runtime=max_runtime)
        self._functions[name] = added
        return added

    @property
    def registrations(self) -> list[tuple[str, str, str]]:
        """Name, argument coder and result coder of each: what WORKER_REGISTER says."""
        signatures = [function.bound.signature for function in self.values()]
        return [(own.name, own.argument, own.result) for own in signatures]

    @property
    def descriptions(self) -> dict[str, dict[str, Any]]:
        """What WORKER_DESCRIBE says of each."""
        return {
            name: {
                **function.bound.description,
                "redispatch": function.redispatch,
                "max_runtime": function.max_runtime,
                "coroutine": function.is_async,
            }
            for name, function in self.items()
        }

    @property
    def are_async(self) -> bool:
        """Whether any number of calls can be under way in one process."""
        return all(function.is_async for function in self.values())

    def __getitem__(self, name: str) -> Function:
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def _checked(self, name: str) -> str:
        if not isinstance(name, str) or not name:
            raise ConfigError("a function needs a name: give one with name=")
        try:
            size = len(name.encode())
        except UnicodeEncodeError as exc:
            raise ConfigError(f"function {name!r}: its name is not UTF-8") from exc
        if size > MAX_NAME:
            raise ConfigError(f"function {name[:20]!r}...: its name has {size} bytes, more than {MAX_NAME}")
        if why := unfit(name):
            raise ConfigError(f"function {name!r}: {why}")
        if name in self._functions:
            raise ConfigError(f"function {name!r} is there already: two functions need two names")
        if len(self) >= MAX_FUNCTIONS:
            raise ConfigError(f"function {name!r}: a worker has at most {MAX_FUNCTIONS} functions")
        return name


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a call of it has to be awaited."""
    while isinstance(function, partial):
        function = function.func
    # What is no function may be an object with a method of that name.
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def bytes_of(file: File) -> bytes:
    """What is in a file that a function returned: read here and now, where the function ran.

    Raises:
        OSError: it cannot be read.
        ValueError: it has no end in sight.
    """
    source = file.source
    if isinstance(source, bytes):
        return source
    if isinstance(source, Path):
        with open_regular(source) as opened:
            return bytes_of(File(opened))
    pieces, size = [], 0
    while piece := source.read(PIECE_BYTES):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_FILE_BYTES:
            raise ValueError(f"a file of more than {MAX_FILE_BYTES} bytes")
    return b"".join(pieces)
