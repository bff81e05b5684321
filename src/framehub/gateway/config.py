"""Where a gateway's settings come from: the command line, the environment, one TOML file, the defaults.

The first that has a value wins. A setting stands in a table, ``[mfp] request_timeout``, and its variable is
``FRAMEHUB_MFP__REQUEST_TIMEOUT``; variables without a double underscore are not settings.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, get_type_hints

from framehub.errors import ConfigError
from framehub.gateway.config_values import Unfit, from_text, from_toml
from framehub.gateway.recording import RecordingSettings
from framehub.gateway.settings import AdminSettings, GatewaySettings
from framehub.hub.settings import HubSettings
from framehub.mfp.settings import Settings
from framehub.rpc.settings import ProxySettings
from framehub.runtime.accounts import LimitSettings

PREFIX: Final = "FRAMEHUB_"
MOST_BYTES: Final = 1 << 20
"""Of a file."""
DEFAULT: Final = "default"

_GATEWAY: Final = "gateway"
_PARTS: Final[dict[str, tuple[str, type[Any]]]] = {
    "journal": ("recording", RecordingSettings),
    "mfp": ("mfp", Settings),
    "hub": ("hub", HubSettings),
    "rpc": ("rpc", ProxySettings),
    "limits": ("limits", LimitSettings),
    "admin": ("admin", AdminSettings),
}
"""Tables that are a value of their own: the field of ``GatewaySettings`` that has it, and its class."""
_ELSEWHERE: Final = {"journal": ("journal", "directory"), "node": ("journal", "node")}
"""Fields of ``GatewaySettings`` that stand in another table than [gateway], and by which name."""


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """One setting: where it stands, and whose field it is."""

    table: str
    name: str
    owner: type[Any]
    field: str
    wanted: Any
    default: Any

    @property
    def variable(self) -> str:
        """Its variable in the environment."""
        return f"{PREFIX}{self.table}__{self.name}".upper()

    def __str__(self) -> str:
        return f"[{self.table}] {self.name}"


@dataclass(frozen=True, slots=True)
class Value:
    """A setting in force, and where it comes from."""

    key: Key
    value: Any
    source: str


class ConfigProblems(ConfigError):
    """Everything that is wrong with a configuration; ``problems`` are lines."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(*problems)
        self.problems = list(problems)

    def __str__(self) -> str:
        more = len(self.problems) - 1
        return self.problems[0] + (f" (and {more} more: framehub config check)" if more else "")


@dataclass(frozen=True, slots=True)
class Config:
    """Settings, and where each comes from."""

    settings: GatewaySettings
    values: list[Value]
    """In the order of the tables."""


def _keys() -> dict[tuple[str, str], Key]:
    found: dict[tuple[str, str], Key] = {}
    parts: list[tuple[str, type[Any]]] = [
        (_GATEWAY, GatewaySettings),
        *((table, kind) for table, (_, kind) in _PARTS.items()),
    ]
    inner = {field for field, _ in _PARTS.values()}
    for table, owner in parts:
        hints, defaults = get_type_hints(owner), owner()
        for field in fields(owner):
            if owner is GatewaySettings and field.name in inner:
                continue
            place = _ELSEWHERE.get(field.name) if owner is GatewaySettings else None
            where, name = place or (table, field.name)
            default = getattr(defaults, field.name)
            found[where, name] = Key(where, name, owner, field.name, hints[field.name], default)
    order = [_GATEWAY, *_PARTS]
    return dict(sorted(found.items(), key=lambda item: order.index(item[0][0])))


KEYS: Final = _keys()
"""Every setting, by table and name."""
TABLES: Final = (_GATEWAY, *_PARTS)


def load(
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
    given: Mapping[tuple[str, str], tuple[Any, str]] | None = None,
) -> Config:
    """Put a configuration together; ``given`` are values of the command line, each with its option.

    Raises:
        ConfigProblems: all that is wrong, a line each.
    """
    problems: list[str] = []
    found: dict[Key, tuple[Any, str]] = {}
    if file is not None:
        found |= _from_file(file, problems)
    found |= _from_environment(environment or {}, problems)
    found |= {
        KEYS[place]: (value, f"command line {option}") for place, (value, option) in (given or {}).items()
    }
    settings = _made(found, problems)
    if problems or settings is None:
        raise ConfigProblems(problems)
    values = [Value(key, *found.get(key, (key.default, DEFAULT))) for key in KEYS.values()]
    return Config(settings, values)


# --- inside --------------------------------------------------------------------------------------------


def _from_file(file: Path, problems: list[str]) -> dict[Key, tuple[Any, str]]:
    try:
        with file.open("rb") as source:
            data = source.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ValueError(f"over {MOST_BYTES} bytes")
        told = tomllib.loads(data.decode())
    except OSError as exc:
        problems.append(f"{file}: {exc.strerror or exc}")
        return {}
    except ValueError as exc:  # no TOML, or no UTF-8
        problems.append(f"{file}: cannot be read as TOML: {exc}")
        return {}
    found: dict[Key, tuple[Any, str]] = {}
    for table, inside in told.items():
        if not isinstance(inside, dict):
            problems.append(f"{file}: {table} stands outside a table{_home(table)}")
        elif table not in TABLES:
            problems.append(f"{file}: [{table}] is no table{_nearest(table, TABLES, '[{}]')}")
        else:
            for name, value in inside.items():
                key = KEYS.get((table, name))
                if key is None:
                    problems.append(f"{file}: [{table}] {name} is no setting{_nearest_key(table, name)}")
                    continue
                try:
                    found[key] = from_toml(value, key.wanted), f"file {file}"
                except Unfit as exc:
                    problems.append(f"{file}: {key} = {_short(value)}: want {exc}")
    return found


def _from_environment(environment: Mapping[str, str], problems: list[str]) -> dict[Key, tuple[Any, str]]:
    known = {key.variable: key for key in KEYS.values()}
    found: dict[Key, tuple[Any, str]] = {}
    for name, text in sorted(environment.items()):
        if not name.startswith(PREFIX) or "__" not in name:
            continue
        if name not in known:
            problems.append(f"environment: {name} is no setting{_nearest(name, known, '{}')}")
            continue
        key = known[name]
        try:
            found[key] = from_text(text, key.wanted), f"environment {name}"
        except Unfit as exc:
            problems.append(f"environment: {name} = {_short(text)}: want {exc}")
    return found


def _made(found: dict[Key, tuple[Any, str]], problems: list[str]) -> GatewaySettings | None:
    """The settings of all these values; what cannot be is said for each table."""
    parts: dict[str, Any] = {}
    for table, (field, owner) in _PARTS.items():
        values = {key.field: value for key, (value, _) in found.items() if key.owner is owner}
        try:
            parts[field] = owner(**values)
        except ConfigError as exc:
            # It names the first that is wrong; each by itself may be wrong too.
            alone = [_blame(found, table, text, name) for name, text in _unsound(owner, values)]
            problems += alone or [_blame(found, table, str(exc))]
    outer = {key.field: value for key, (value, _) in found.items() if key.owner is GatewaySettings}
    try:
        return GatewaySettings(**outer, **parts)
    except ConfigError as exc:
        problems.append(_blame(found, _GATEWAY, str(exc)))
        return None


def _unsound(owner: type[Any], values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Values that cannot be, whatever the others are, and why."""
    for name, value in values.items():
        try:
            owner(**{name: value})
        except ConfigError as exc:
            yield name, str(exc)


def _blame(found: dict[Key, tuple[Any, str]], table: str, text: str, name: str | None = None) -> str:
    """Where a value comes from that a table's check names, and what the check says."""
    for key, (_, source) in found.items():
        is_named = key.field == name if name is not None else re.search(rf"\b{key.field}\b", text)
        if key.table == table and is_named:
            return f"{source.removeprefix('file ')}: [{table}] {text}"
    return f"[{table}] {text}"


def _nearest(name: str, known: Mapping[str, Any] | Sequence[str], form: str) -> str:
    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    if close:
        return f"; did you mean {form.format(close[0])}?"
    return f"; there are {', '.join(form.format(one) for one in known)}" if len(known) < 10 else ""


def _nearest_key(table: str, name: str) -> str:
    for where, known in KEYS:
        if known == name:
            return f"; it belongs in [{where}]"
    ours = [known for where, known in KEYS if where == table]
    return _nearest(name, ours, "{}")


def _home(name: str) -> str:
    for where, known in KEYS:
        if known == name:
            return f"; it belongs in [{where}]"
    return f"; there are {', '.join(f'[{table}]' for table in TABLES)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
