"""``framehub story``: one conversation from the client's frame to its rows in the tables."""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import click

from framehub.cli.rows import message_of, peer_of, printable
from framehub.codes import Service
from framehub.report.story import Story, tell


@click.command()
@click.argument("exchange", metavar="EXCHANGE|LINK:ID")
@click.option("--journal", type=click.Path(file_okay=False, path_type=Path), default=Path("journal"),
              show_default=True, metavar="DIR", help="The journal to look in.")  # fmt: skip
@click.option("--tables", type=click.Path(file_okay=False, path_type=Path), metavar="OUT",
              help="Where `framehub pipeline run` put its tables.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def story(exchange: str, journal: Path, tables: Path | None, as_json: bool) -> None:
    """Tell one conversation: its frames, what caused it, what it caused, and its rows in the tables.

    Name it by its EXCHANGE id (the beginning will do if it is unique), or by the connection's LINK and the ID
    of the client's frame; of a remote function's client, the hex digits of its query's id.
    """
    found = tell(exchange, journal, tables)
    if as_json:
        click.echo(json.dumps(_plain(found), default=str))
    else:
        for line in _lines(found, has_tables=tables is not None):
            click.echo(printable(line))


def _plain(found: Story) -> dict[str, Any]:
    return {
        "exchange": found.exchange,
        "frames": [_shown(row) for row in found.frames],
        "parents": found.parents,
        "children": found.children,
        "family": found.family,
        "everything": [_shown(row) for row in found.everything] if len(found.family) > 1 else [],
        "exchanges": found.row,
        "messages": found.messages,
    }


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    plain = {name: value.hex() if isinstance(value, bytes) else value for name, value in row.items()}
    message = message_of(row)
    return plain if message is None else plain | {"message": message}


def _lines(found: Story, *, has_tables: bool) -> Iterator[str]:
    first = found.frames[0]
    who = "the client's" if first["direction"] == "in" else "the gateway's"
    yield f"exchange {found.exchange}"
    yield f"  {who} {_what(first)}, user {first['user']}, link {first['link']}, node {first['node']}"
    if found.parents:
        yield f"  caused by {found.parents[0]}"
    for child in found.children:
        yield f"  caused {child}"
    yield ""
    yield "in the journal:"
    yield from _rows(found)
    yield f"  first frame: {_hex(first['raw'])}"
    if not has_tables:
        return
    yield ""
    yield "in the table exchanges:"
    if found.row is None:
        yield "  not there yet: run the pipeline again"
        return
    for name, value in found.row.items():
        if value is not None:
            yield f"  {name:<13}{value}"
    yield ""
    yield "in the table messages:"
    for row in found.messages:
        said = f"data {row['json']}" if row["error"] is None else f"error {row['error']}"
        unread = row["coder"] is not None and not row["readable"]
        told = f"{row['coder']}, not read" if unread else said
        yield f"  seq {row['seq']:<6} {row['direction']:<3} {row['kind']:<9} {told}"
        for file in row["files"] or []:
            yield f"  {'':<15}file {file['key']}: {file['name']} ({file['type']}), {file['bytes']} bytes"


def _rows(found: Story) -> Iterator[str]:
    """Rows of the exchange and of its family, each of these under a letter."""
    letters = dict(zip(found.family, _letters(), strict=False)) if len(found.family) > 1 else {}
    for exchange, letter in letters.items():
        opened = next(row for row in found.everything if row["exchange"] == exchange)
        cause = letters.get(found.family[exchange] or "")
        yield f"  {letter} is {exchange}, {_what(opened)}" + (f", caused by {cause}" if cause else "")
    start = found.everything[0]
    for row in found.everything:
        clock = "mono_ns" if row["node"] == start["node"] else "time_ns"
        waited = (row[clock] - start[clock]) / 1e6
        mark = f"{letters.get(row['exchange'], '?'):<3}" if letters else ""
        yield (
            f"  {mark}seq {row['seq']:<6} {row['direction']:<3} {_frame(row):<28} {row['bytes']:>7} bytes"
            f"  +{waited:.3f} ms  {_payload(row)}"
        )


def _letters() -> Iterator[str]:
    return ("".join(word) for size in (1, 2) for word in product(ascii_lowercase, repeat=size))


def _what(first: dict[str, Any]) -> str:
    if first["protocol"] == "rpc":
        return f"call of {first['endpoint'] or '(unknown)'}"
    return "ping" if first["kind"] == "service" else f"{first['kind']} to {first['endpoint'] or '(raw)'}"


def _frame(row: dict[str, Any]) -> str:
    if row["protocol"] == "rpc":
        return f"{row['kind']} {'from' if row['direction'] == 'in' else 'to'} {peer_of(row)}"
    text = str(row["kind"])
    if row["kind"] == "service":
        text = Service(row["code"]).name.lower()
    if row["id"] is not None:
        text += f" id {row['id']}"
    if row["ref"] is not None:
        text += f" ref {row['ref']}"
    return text


def _payload(row: dict[str, Any]) -> str:
    if row["payload_at"] is None or row["raw"] is None:
        return ""
    payload: bytes = row["raw"][row["payload_at"] : row["payload_at"] + row["payload_bytes"]]
    if row["coder"] not in (None, "json"):
        return f"{row['coder']} {_hex(payload)}"
    text = payload[:100].decode(errors="replace")
    return text + ("..." if len(payload) > 100 else "")


def _hex(raw: bytes | None) -> str:
    if raw is None:
        return "(not recorded)"
    return raw[:64].hex() + ("..." if len(raw) > 64 else "")
