"""Rows of a journal for a terminal or another program."""

import json
from datetime import UTC, datetime
from typing import Any, Final

from framehub.codes import Service

_ARROWS: Final = {"in": "->", "out": "<-"}


def as_json(row: dict[str, Any]) -> str:
    """One line of JSON; binary columns in hex."""
    plain = {name: value.hex() if isinstance(value, bytes) else value for name, value in row.items()}
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


def as_line(row: dict[str, Any]) -> str:
    """One aligned line for people."""
    seconds, ns = divmod(row["time_ns"], 1_000_000_000)
    when = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    ids = f"{row['id'] if row['id'] is not None else '-'}"
    if row["ref"] is not None:
        ids += f" re {row['ref']}"
    head = (
        f"{row['seq']:>10} {when}.{ns // 1000:06d} {row['link'].hex()[:8]} {_ARROWS[row['direction']]} "
        f"{row['kind']:<11} {ids:<14} {row['bytes']:>8} B"
    )
    return " ".join((head, *_details(row))).rstrip()


def _details(row: dict[str, Any]) -> list[str]:
    details = []
    if row["kind"] == "service":
        details.append(_service(row["code"]))
    elif row["code"] is not None:
        details.append(f"code {row['code']}")
    if row["endpoint"] is not None:
        details.append(printable(row["endpoint"]))
    if row["files"]:
        details.append(f"{row['files']} files")
    if row["error"] is not None:
        details.append(f"error: {printable(row['error'])}")
    if row["refused"] is not None:
        details.append(f"refused: {printable(row['refused'])}")
    return details


def _service(code: int | None) -> str:
    try:
        return Service(code or 0).name.lower()
    except ValueError:
        return f"service {code}"


def printable(text: str) -> str:
    """Peers choose these texts: no control character of theirs may reach a terminal."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)
