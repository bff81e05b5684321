"""A configuration as a TOML file that explains itself: every setting, what it is for, its value."""

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from typing import Final

from framehub.gateway.config import DEFAULT, KEYS, TABLES, Value
from framehub.gateway.config_values import as_toml

HEADER: Final = """\
# framehub.toml: every setting of `framehub serve`, with its default.
#
#     framehub serve --config framehub.toml
#     framehub config check framehub.toml
#
# The command line comes first, then the environment (FRAMEHUB_MFP__REQUEST_TIMEOUT is [mfp] request_timeout),
# then this file, then the defaults. "off" means: not there. Sizes are bytes, times are seconds. Paths are
# as from the directory that the gateway is started in.
"""
_WIDTH: Final = 110


def example() -> str:
    """The file with every setting in it, all of them commented out."""
    lines = [HEADER]
    for table in TABLES:
        lines.append(f"[{table}]")
        for key in (key for key in KEYS.values() if key.table == table):
            lines += textwrap.wrap(
                docs(key.owner)[key.field],
                _WIDTH,
                initial_indent="# ",
                subsequent_indent="# ",
            )
            lines.append(f"#{key.name} = {as_toml(key.default)}")
        lines.append("")
    return "\n".join(lines)


def shown(values: Iterable[Value]) -> Iterator[str]:
    """What is in force, as TOML, and where each value comes from."""
    table = ""
    for one in values:
        if one.key.table != table:
            yield f"{'' if not table else chr(10)}[{one.key.table}]"
            table = one.key.table
        source = "" if one.source == DEFAULT else f"  # {one.source}"
        yield f"{one.key.name} = {as_toml(one.value)}{source}"


def docs(owner: type) -> dict[str, str]:
    """What each field of a dataclass is for: the string that stands below it."""
    (made,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    assert isinstance(made, ast.ClassDef)
    found: dict[str, str] = {}
    for field, below in zip(made.body, made.body[1:], strict=False):
        is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_text:
            found[field.target.id] = _plain(str(below.value.value))  # type: ignore[attr-defined]
    return found


def _plain(text: str) -> str:
    """As somebody reads it who writes TOML."""
    return " ".join(text.split()).replace("``", "`").replace("None", '"off"')
