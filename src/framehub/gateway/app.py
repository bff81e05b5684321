"""Find the ``Endpoints`` that ``--app MODULE:NAME`` names."""

import importlib
import sys
import traceback
from pathlib import Path

from framehub.errors import ConfigError
from framehub.runtime.endpoints import Endpoints


def load_app(name: str) -> Endpoints:
    """Import ``MODULE:NAME``; the working directory counts as a place to import from.

    Raises:
        ConfigError: what is missing, or where the module itself failed.
    """
    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise ConfigError(f"app {name!r}: want MODULE:NAME, like myapp:endpoints")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as exc:
        if exc.name == module_name or module_name.startswith(f"{exc.name}."):
            raise ConfigError(f"app {name!r}: no module {exc.name!r} here or installed") from exc
        raise ConfigError(f"app {name!r}: it needs {exc.name!r}, which is not installed") from exc
    except Exception as exc:
        raise ConfigError(f"app {name!r}: its module fails at {_where(exc)}: {exc!r}") from exc
    app = getattr(module, attribute, None)
    if app is None:
        raise ConfigError(f"app {name!r}: module {module_name!r} has no {attribute!r}{_hint(module)}")
    if not isinstance(app, Endpoints):
        raise ConfigError(f"app {name!r}: {attribute!r} is a {type(app).__name__}, not framehub.Endpoints")
    return app


def _where(exc: Exception) -> str:
    if isinstance(exc, SyntaxError):
        return f"{exc.filename}:{exc.lineno}"
    last = traceback.extract_tb(exc.__traceback__)[-1]
    return f"{last.filename}:{last.lineno}"


def _hint(module: object) -> str:
    found = [name for name, value in vars(module).items() if isinstance(value, Endpoints)]
    return f"; it has {', '.join(found)}" if found else ""
