"""Where a gateway's settings come from: the command line, the environment, one TOML file, the defaults.

The first that has a value wins. A setting stands in a table, ``[mfp] request_timeout``, and its variable is
``FRAMEHUB_MFP__REQUEST_TIMEOUT``.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, get_type_hints

from framehub.errors import ConfigError
from framehub.gateway.config_files import unreadable
from framehub.gateway.config_values import Unfit, from_text, from_toml, is_for_files
from framehub.gateway.config_variables import PREFIX, SAME, is_known, meant
from framehub.gateway.recording import RecordingSettings
from framehub.gateway.settings import AdminSettings, GatewaySettings
from framehub.hub.settings import HubSettings
from framehub.mfp.settings import Settings
from framehub.rpc.settings import ProxySettings
from framehub.runtime.accounts import LimitSettings

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
_OTHERS_CALL: Final = dict.fromkeys(("address", "bind", "host", "port", "url"), "listen")
"""What others call a setting of ours."""


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
    *,
    files: bool = False,
) -> Config:
    """Put a configuration together; ``given`` are values of the command line, each with its option.

    ``files``: look into the files that settings name, too.

    Raises:
        ConfigProblems: all that is wrong, a line each.
    """
    problems: list[str] = []
    found = _from_file(file, problems) if file is not None else {}
    told = _from_environment(environment or {}, problems)
    options = {
        KEYS[place]: (value, f"command line {option}") for place, (value, option) in (given or {}).items()
    }
    for name, place in SAME.items():  # other commands use it, too: perhaps it is meant for another gateway
        key = KEYS[place]
        if key in found and key not in options and told.get(key, found[key])[1] == f"environment {name}":
            (value, _), (other, _) = told[key], found[key]
            if value != other:
                problems.append(f"environment: {name} = {value}, but in {file}: {key} = {other}: which one?")
    found |= told | options
    settings = _made(found, problems)
    if files:
        _look_into_files(found, problems)
    if problems:
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
        told = tomllib.loads(data.decode("utf-8-sig"))  # some editors begin with a BOM
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
        key = KEYS[SAME[name]] if name in SAME and text else known.get(name)
        if not name.startswith(PREFIX) or (key is None and is_known(name, text)):
            continue
        if key is None:
            what = "setting" if "__" in name else "variable of ours"
            hint = f"; did you mean {close}?" if (close := meant(name, known)) else ""
            problems.append(f"environment: {name} is no {what}{hint}")
        elif is_for_files(key.wanted):
            problems.append(f"environment: {name}: {key} can only be set in a file")
        elif key in found and environment[key.variable] != text:
            problems.append(f"environment: {name} and {key.variable} differ: they are the same setting")
        else:
            try:
                found[key] = from_text(text, key.wanted), f"environment {name}"
            except Unfit as exc:
                problems.append(f"environment: {name} = {_short(text)}: want {exc}")
    return found


class _Wrong(Exception):
    """Values of a table that cannot be; the text names them."""

    def __init__(self, table: str, text: str) -> None:
        super().__init__(table, text)
        self.table = table
        self.text = text


def _made(found: dict[Key, tuple[Any, str]], problems: list[str]) -> GatewaySettings:
    """The settings of all these values; each that cannot be is said, and left out to find the next."""
    left = dict(found)
    while True:
        try:
            return _settings(left)
        except _Wrong as wrong:
            named = _named(found, wrong) or [key for key in found if key.table == wrong.table]
            if all(key in left for key in named):  # else it is wrong for want of what was left out
                where = _where(found[named[0]][1]) if named else ""
                problems.append(f"{where}[{wrong.table}] {wrong.text}")
            gone = [key for key in named if key in left]
            for key in gone:
                del left[key]
            if not gone:
                return GatewaySettings()


def _settings(found: dict[Key, tuple[Any, str]]) -> GatewaySettings:
    def values(owner: type[Any]) -> dict[str, Any]:
        return {key.field: value for key, (value, _) in found.items() if key.owner is owner}

    parts: dict[str, Any] = {}
    for table, (field, owner) in _PARTS.items():
        try:
            parts[field] = owner(**values(owner))
        except ConfigError as exc:
            raise _Wrong(table, str(exc).removeprefix(f"{table} ")) from exc
    try:
        return GatewaySettings(**values(GatewaySettings), **parts)
    except ConfigError as exc:
        table, text = re.fullmatch(r"(?:\[(\w+)\] )?(.*)", str(exc), re.DOTALL).groups()  # type: ignore[union-attr]
        raise _Wrong(table or _GATEWAY, text) from exc


def _named(found: dict[Key, tuple[Any, str]], wrong: _Wrong) -> list[Key]:
    """The values that a check names, as it does."""
    places = {
        key: place.start()
        for key in found
        if key.table == wrong.table and (place := re.search(rf"\b{key.name}\b", wrong.text))
    }
    return sorted(places, key=places.__getitem__)


def _look_into_files(found: dict[Key, tuple[Any, str]], problems: list[str]) -> None:
    for key, (value, source) in found.items():
        if why := unreadable((key.table, key.name), value):
            what = f"{key}" if str(value) in why else f"{key} = {value}"
            problems.append(f"{_where(source)}{what}: {why}")


def _where(source: str) -> str:
    return f"{source.removeprefix('file ')}: "


def _nearest(name: str, known: Mapping[str, Any] | Sequence[str], form: str) -> str:
    close = get_close_matches(name, list(known), n=1, cutoff=0.5)
    if close:
        return f"; did you mean {form.format(close[0])}?"
    return f"; there are {', '.join(form.format(one) for one in known)}" if len(known) < 10 else ""


def _nearest_key(table: str, name: str) -> str:
    for where, known in KEYS:
        if known == name:
            return f"; it belongs in [{where}]"
    if name in _PARTS:
        return f"; there is a table [{name}]"
    ours = [known for where, known in KEYS if where == table]
    if (close := _OTHERS_CALL.get(name)) in ours:
        return f"; did you mean {close}?"
    return _nearest(name, ours, "{}")


def _home(name: str) -> str:
    for where, known in KEYS:
        if known == name:
            return f"; it belongs in [{where}]"
    return f"; there are {', '.join(f'[{table}]' for table in TABLES)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
