"""``framehub story``: one conversation from the client's frame to its rows in the tables."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from framehub.cli.rows import printable
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
    """Tell one conversation: its frames, and its rows in the tables.

    Name it by its EXCHANGE id (the beginning will do if it is unique), or by the connection's LINK and the ID
    of the client's frame.
    """
    found = tell(exchange, journal, tables)
    if as_json:
        click.echo(json.dumps(_plain(found), default=str))
    else:
        for line in _lines(found, has_tables=tables is not None):
            click.echo(printable(line))


def _plain(found: Story) -> dict[str, Any]:
    frames = [
        {name: value.hex() if isinstance(value, bytes) else value for name, value in row.items()}
        for row in found.frames
    ]
    return {
        "exchange": found.exchange,
        "frames": frames,
        "children": found.children,
        "exchanges": found.row,
        "messages": found.messages,
    }


def _lines(found: Story, *, has_tables: bool) -> Iterator[str]:
    first = found.frames[0]
    what = "ping" if first["kind"] == "service" else f"{first['kind']} to {first['endpoint'] or '(raw)'}"
    who = "the client's" if first["direction"] == "in" else "the gateway's"
    yield f"exchange {found.exchange}"
    yield f"  {who} {what}, user {first['user']}, link {first['link']}, node {first['node']}"
    if first["parent"]:
        yield f"  caused by {first['parent']}"
    for child in found.children:
        yield f"  caused {child}"
    yield ""
    yield "in the journal:"
    for row in found.frames:
        waited = (row["mono_ns"] - first["mono_ns"]) / 1e6
        yield (
            f"  seq {row['seq']:<6} {row['direction']:<3} {_frame(row):<28} {row['bytes']:>7} bytes"
            f"  +{waited:.3f} ms  {_payload(row)}"
        )
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
        yield f"  seq {row['seq']:<6} {row['direction']:<3} {row['kind']:<9} {said}"
        for file in row["files"] or []:
            yield f"  {'':<15}file {file['key']}: {file['name']} ({file['type']}), {file['bytes']} bytes"


def _frame(row: dict[str, Any]) -> str:
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
    text = payload[:100].decode(errors="replace")
    return text + ("..." if len(payload) > 100 else "")


def _hex(raw: bytes | None) -> str:
    if raw is None:
        return "(not recorded)"
    return raw[:64].hex() + ("..." if len(raw) > 64 else "")
