"""How a child process finds the functions of its worker again: it imports what the worker was made by.

A source is ``module:attribute``, ``module:`` (any worker that the module makes), or the path of a script.
The script runs under another name than ``__main__``, so what ``if __name__ == "__main__"`` guards does not
run. Where there is no such guard, it runs as far as ``worker.run()``, which ends it: see ``stop_here``.
"""

import importlib
import sys
import traceback
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final

from framehub.errors import ConfigError
from framehub.runtime import functionset
from framehub.runtime.functionset import Function, FunctionSet

SCRIPT: Final = "__framehub_script__"
"""What a script is called in a child."""


class ChildHasSeenEnough(BaseException):
    """Ends a script in a child where it would start its worker: all functions are known by then."""


def stop_here() -> None:
    """To be called first by all that starts a worker: in a child nothing may start.

    Raises:
        ChildHasSeenEnough: this is a child, importing what its worker was made by.
    """
    if functionset.collected is not None:
        raise ChildHasSeenEnough(
            "a child of a worker imports this to find its functions: nothing is started here"
        )


def main_source() -> str:
    """The source of what is running now: how its children can find it.

    Raises:
        ConfigError: it has no file, as in a shell or a notebook.
    """
    main = sys.modules["__main__"]
    spec: ModuleSpec | None = getattr(main, "__spec__", None)
    if spec is not None:
        return f"{spec.name}:"  # python -m module
    path = getattr(main, "__file__", None)
    if path is None or not Path(path).is_file():
        raise ConfigError(
            "functions run in processes of their own, which cannot import what was typed here: put them in a"
            " file, or run them in threads (threads=4)"
        )
    return str(Path(path).resolve())


def load(source: str, names: Sequence[tuple[str, bool]]) -> list[Function]:
    """Import the source in a child; its functions by number, as the parent has them.

    Raises:
        ConfigError: what is missing, or where the source itself fails.
    """
    functionset.collected = []
    module_name, colon, attribute = source.partition(":")
    if colon and not Path(source).is_file():
        module = _import(source, module_name)
        if attribute:
            return _matching([_functions_of(source, module, attribute)], names)
    else:
        _run(source)
    return _matching(functionset.collected, names)


def _import(source: str, name: str) -> ModuleType:
    try:
        spec = find_spec(name)
    except ModuleNotFoundError as exc:
        raise ConfigError(f"{source}: no module {exc.name!r} here or installed") from exc
    except Exception as exc:
        raise ConfigError(f"{source}: its package fails at {_where(exc)}: {exc!r}") from exc
    if spec is None:
        raise ConfigError(f"{source}: no module {name!r} here or installed")
    if name in sys.modules:
        return sys.modules[name]
    if spec.loader is None:
        return importlib.import_module(name)
    return _execute(source, spec, name)


def _run(path: str) -> None:
    spec = spec_from_file_location(SCRIPT, path, loader=SourceFileLoader(SCRIPT, path))
    assert spec is not None
    _execute(path, spec, SCRIPT, "__main__")


def _execute(source: str, spec: ModuleSpec, *names: str) -> ModuleType:
    assert spec.loader is not None
    module = module_from_spec(spec)
    for name in names:
        sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except ChildHasSeenEnough:
        pass
    except ModuleNotFoundError as exc:
        raise ConfigError(f"{source}: it needs {exc.name!r}, which is not installed") from exc
    except BaseException as exc:  # sys.exit() too
        raise ConfigError(f"{source}: fails at {_where(exc)}: {exc!r}") from exc
    return module


def _functions_of(source: str, module: ModuleType, attribute: str) -> FunctionSet:
    found = getattr(module, attribute, None)
    if found is None:
        raise ConfigError(f"{source}: the module has no {attribute!r}")
    functions = getattr(found, "functions", found)
    if not isinstance(functions, FunctionSet):
        raise ConfigError(f"{source}: {attribute!r} is a {type(found).__name__}, not framehub.Worker")
    return functions


def _matching(sets: Sequence[FunctionSet], names: Sequence[tuple[str, bool]]) -> list[Function]:
    """The functions of the worker that has all of them; of two such workers, the one that has no others."""
    for functions in sorted(sets, key=len):
        if all(name in functions for name, _ in names):
            return [_same(functions[name], is_async=is_async) for name, is_async in names]
    known = {name for functions in sets for name in functions}
    missing = [name for name, _ in names if name not in known]
    raise ConfigError(
        f"function {missing[0]!r} is not there when its module is imported: define it at the top level,"
        ' not under if __name__ == "__main__"'
        if missing
        else "no worker has all of the functions when the module is imported"
    )


def _same(function: Function, *, is_async: bool) -> Function:
    if function.is_async is not is_async:
        raise ConfigError(f"function {function.name!r} is another one when its module is imported again")
    return function


def _where(exc: BaseException) -> str:
    if isinstance(exc, SyntaxError):
        return f"{exc.filename}:{exc.lineno}"
    # The last frame outside of the import machinery and of this file.
    frames = [frame for frame in traceback.extract_tb(exc.__traceback__) if "importlib" not in frame.filename]
    return f"{frames[-1].filename}:{frames[-1].lineno}"
