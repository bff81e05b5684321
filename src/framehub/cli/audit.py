"""``framehub pipeline audit``: did every rule hold? With the rows that show where not."""

import json
import os
import shlex
from collections import defaultdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from framehub.cli.rows import printable
from framehub.cli.spark_options import CONF, MASTER
from framehub.cli.steps import Steps
from framehub.cli.tables import show

Found = dict[str, Any]


@click.command()
@click.argument("journal", type=click.Path(path_type=Path))
@MASTER
@CONF
@click.option("--rule", "only", multiple=True, metavar="RULE", help="Only this rule; may be given again.")
@click.option("--limit", type=click.IntRange(min=1), default=5, show_default=True, metavar="N",
              help="Violations shown of each rule.")  # fmt: skip
@click.option("--rules", "listed", is_flag=True, help="List the rules and end.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def audit(
    journal: Path,
    master: str | None,
    conf: dict[str, str],
    only: tuple[str, ...],
    limit: int,
    listed: bool,
    as_json: bool,
) -> None:
    """Check every rule over JOURNAL, and show the rows that break one.

    Exits with 1 if any rule is broken, or rows cannot be read. The rules are those of spec/audit.md; nothing
    is written.
    """
    from framehub.journal.reader import nodes

    nodes(journal)
    from framehub.pipeline.audit import audit as look
    from framehub.pipeline.stages.rules import RULES

    names = [rule.name for rule in RULES]
    if unknown := sorted(set(only) - set(names)):
        raise click.BadParameter(f"no rule {unknown[0]!r}; `--rules` lists them", param_hint="--rule")
    if listed:
        _list([(rule.name, rule.sentence) for rule in RULES], as_json=as_json)
        return
    with Steps(Console(stderr=True, highlight=False)) as steps:
        result = look(journal, master=master, conf=conf, rules=only, progress=steps.tell)
    for line in result.damage:
        click.echo(f"warning: the journal is damaged: {line}", err=True)
    checked = only or tuple(names)
    if as_json:
        told = {
            "journal": str(journal),
            "rows": result.rows,
            "rules": len(checked),
            "broken": result.counts,
            "violations": result.violations,
            "damage": result.damage,
        }
        click.echo(json.dumps(told, default=str))
    else:
        _show(journal, result.violations, result.counts, limit)
        found = sum(result.counts.values())
        click.echo(
            f"{result.rows:,} rows, {len(checked)} rules: "
            + (f"{found:,} violations of {len(result.counts)} rules" if found else "all held")
        )
    if result.violations or result.damage:
        raise click.exceptions.Exit(1)


def _list(rules: list[tuple[str, str]], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([{"rule": name, "sentence": sentence} for name, sentence in rules]))
        return
    table = Table("rule", "sentence")
    for row in rules:
        table.add_row(*row)
    show(table)


def _show(journal: Path, violations: list[Found], counts: dict[str, int], limit: int) -> None:
    by_rule: dict[str, list[Found]] = defaultdict(list)
    for found in violations:
        by_rule[found["rule"]].append(found)
    program = os.environ.get("FRAMEHUB_COMMAND", "framehub")
    where = shlex.quote(str(journal))
    for rule, count in sorted(counts.items()):
        every = by_rule[rule]
        if not every:  # so many were found that none of these could be brought along
            click.echo(f"{rule}: broken {_times(count)} (--rule {rule} shows them)")
            continue
        click.echo(f"{rule}: {every[0]['sentence']} Broken {_times(count)}:")
        for found in every[:limit]:
            seqs = ",".join(map(str, found["evidence"]))
            about = printable(" ".join(filter(None, [found["endpoint"], found["detail"]])))
            click.echo(
                f"  {found['time']:%Y-%m-%d %H:%M:%S.%f} UTC  {printable(found['node'])}  {about}".rstrip()
            )
            click.echo(f"    {program} journal cat {where} --node {shlex.quote(found['node'])} --seq {seqs}")
            if found["exchange"]:
                click.echo(f"    {program} story {found['exchange']} --journal {where}")
        if (shown := min(limit, len(every))) < count:
            click.echo(f"  ... and {count - shown:,} more (--limit shows them)")


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
