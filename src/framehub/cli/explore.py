"""``framehub pipeline explore``: SQL over the tables, at a prompt or as given."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table
from rich.text import Text

from framehub.cli.rows import printable
from framehub.cli.tables import show
from framehub.errors import PipelineError

if TYPE_CHECKING:
    from framehub.pipeline.explore import Answer, Explorer

PROMPT = "framehub> "
MORE = "     ...> "
HELP = """\
Any SQL of Spark, ended by a semicolon. Tables: {tables}.
  .tables          the tables and their columns
  .columns TABLE   the columns of one, with what they mean
  .quit            leave (or Ctrl-D)
For example:
  SELECT endpoint, outcome, count(*) FROM exchanges GROUP BY ALL ORDER BY 3 DESC;
  SELECT time, user, data:text::string FROM messages WHERE endpoint = 'chat' LIMIT 10;\
"""


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("sql", required=False)
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, metavar="N",
              help="Rows shown of an answer.")  # fmt: skip
@click.option("--json", "form", flag_value="json", help="One JSON object per row.")
@click.option("--csv", "form", flag_value="csv", help="CSV with a line of names.")
def explore(out: Path, sql: str | None, limit: int, form: str | None) -> None:
    """Ask the tables in OUT, in SQL.

    Without SQL, a prompt (or the statements on stdin, each ended by a semicolon). The tables are those of
    OUT/current when it begins: messages, frames, exchanges, files, violations, metrics.
    """
    from framehub.pipeline.explore import explorer

    with explorer(out, say=lambda what: click.echo(what, err=True)) as tables:
        if sql is not None:
            _print(tables.ask(sql, limit), form)
        elif sys.stdin.isatty():
            _prompt(tables, limit, form)
        else:
            for statement in statements(sys.stdin):
                _print(tables.ask(statement, limit), form)


def statements(lines: Iterator[str] | io.TextIOBase) -> Iterator[str]:
    """What was typed, cut at semicolons that end a line."""
    held: list[str] = []
    for line in lines:
        held.append(line)
        if line.rstrip().endswith(";"):
            yield "".join(held).strip().rstrip(";")
            held = []
    if rest := "".join(held).strip():
        yield rest


def _prompt(tables: "Explorer", limit: int, form: str | None) -> None:
    import readline  # noqa: F401  (gives input() its history and editing)

    click.echo(HELP.format(tables=", ".join(tables.names)), err=True)
    held = ""
    while True:
        try:
            line = input(MORE if held else PROMPT)
        except EOFError:
            click.echo("", err=True)
            return
        except KeyboardInterrupt:
            click.echo("", err=True)
            held = ""
            continue
        if not held and line.strip().startswith("."):
            if line.strip() in (".quit", ".exit", ".q"):
                return
            _command(tables, line.split())
            continue
        held = f"{held}\n{line}" if held else line
        if held.rstrip().endswith(";"):
            _try(tables, held.strip().rstrip(";"), limit, form)
            held = ""


def _try(tables: "Explorer", statement: str, limit: int, form: str | None) -> None:
    try:
        _print(tables.ask(statement, limit), form)
    except PipelineError as exc:
        click.echo(f"Error: {exc}", err=True)
    except KeyboardInterrupt:
        click.echo("given up", err=True)


def _command(tables: "Explorer", words: list[str]) -> None:
    if words[0] == ".tables":
        for name in tables.names:
            click.echo(f"{name}: {', '.join(column for column, _, _ in tables.columns(name))}")
    elif words[0] == ".columns" and len(words) == 2 and words[1] in tables.names:
        for column, kind, comment in tables.columns(words[1]):
            click.echo(f"{column:<16} {kind:<12} {comment}")
    else:
        click.echo(HELP.format(tables=", ".join(tables.names)), err=True)


def _print(answer: "Answer", form: str | None) -> None:
    if form == "json":
        for row in answer.rows:
            click.echo(json.dumps(dict(zip(answer.names, row, strict=True)), default=str))
    elif form == "csv":
        made = io.StringIO()
        writer = csv.writer(made, lineterminator="\n")
        writer.writerow(answer.names)
        writer.writerows(answer.rows)
        click.echo(made.getvalue(), nl=False)
    elif answer.names:
        table = Table()
        for name in answer.names:
            table.add_column(Text(printable(name)), overflow="fold")
        for row in answer.rows:
            table.add_row(*[Text(_cell(value)) for value in row])
        show(table)
    if answer.more:
        click.echo(f"only the first {len(answer.rows):,} rows are shown; --limit shows more", err=True)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (dict, list)):
        return printable(json.dumps(value, default=str))
    return printable(str(value))
