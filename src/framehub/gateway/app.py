"""Find what ``MODULE:NAME`` on a command line means: ``Endpoints`` of an app, a ``Worker``, a ``Service``."""

import importlib
import sys
import traceback
from pathlib import Path
from typing import TypeVar

from framehub.errors import ConfigError, FramehubError
from framehub.runtime.endpoints import Endpoints

_T = TypeVar("_T")
_HERE = str(Path(__file__).parents[1])


def load_app(name: str) -> Endpoints:
    """Import ``MODULE:NAME``; the working directory counts as a place to import from.

    Raises:
        ConfigError: what is missing, or where the module itself failed.
    """
    return load(name, Endpoints, what="app", example="myapp:endpoints")


def load(name: str, kind: type[_T], *, what: str, example: str) -> _T:
    """The same for a ``what`` of any ``kind``.

    Raises:
        ConfigError: what is missing, or where the module itself failed.
    """
    module_name, attribute = split_name(name, what=what, example=example)
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as exc:
        if exc.name == module_name or module_name.startswith(f"{exc.name}."):
            raise ConfigError(f"{what} {name!r}: no module {exc.name!r} here or installed") from exc
        raise ConfigError(f"{what} {name!r}: it needs {exc.name!r}, which is not installed") from exc
    except Exception as exc:
        why = str(exc) if isinstance(exc, FramehubError) else failure(exc)
        raise ConfigError(f"{what} {name!r}: its module fails at {_where(exc)}: {why}") from exc
    found = getattr(module, attribute, None)
    if found is None:
        raise ConfigError(
            f"{what} {name!r}: module {module_name!r} has no {attribute!r}{_hint(module, kind)}"
        )
    if not isinstance(found, kind):
        wanted = f"framehub.{kind.__name__}"
        raise ConfigError(f"{what} {name!r}: {attribute!r} is of type {type(found).__name__}, not {wanted}")
    return found


def split_name(name: str, *, what: str, example: str) -> tuple[str, str]:
    """MODULE and NAME of ``MODULE:NAME``; nothing is imported.

    Raises:
        ConfigError: it has another form.
    """
    module, colon, attribute = name.partition(":")
    if not colon or not module or not attribute or module.endswith(".py"):
        raise ConfigError(f"{what} {name!r}: want MODULE:NAME, like {example}")
    return module, attribute


def failure(exc: Exception) -> str:
    """What a module failed with, on one line; where is said elsewhere."""
    return f"{type(exc).__name__}: {exc.msg}" if isinstance(exc, SyntaxError) else repr(exc)


def _where(exc: Exception) -> str:
    if isinstance(exc, SyntaxError):
        return f"{exc.filename}:{exc.lineno}"
    frames = list(traceback.extract_tb(exc.__traceback__))
    # What we refuse is a mistake of the line that asked us.
    if isinstance(exc, FramehubError):
        frames = [frame for frame in frames if not frame.filename.startswith((_HERE, "<"))] or frames
    last = frames[-1]
    return f"{last.filename}:{last.lineno}"


def _hint(module: object, kind: type) -> str:
    found = [name for name, value in vars(module).items() if isinstance(value, kind)]
    return f"; it has {', '.join(found)}" if found else ""
