"""The parts of the page, each as HTML; strangers' text comes in escaped only."""

from html import escape
from typing import Any

from framehub.report import timelines
from framehub.report.facts import Facts
from framehub.report.markup import Cell, called, command, count, figure, none, outcome, table, text
from framehub.report.minutes import FAILED
from framehub.report.units import amount, duration, moment, number, share

PERCENTILES = ("p50", "p95", "p99")
_UNFOLDED = 10
"""Broken rules that are seen at once."""


def basis(facts: Facts) -> str:
    """What the page rests on."""
    span = facts["span"]
    when = f"{moment(span[0])} to {moment(span[1])} UTC" if span else "no frames yet"
    nodes = ", ".join(f"{escape(node)} up to row {number(seq)}" for node, seq in facts["nodes"].items())
    rows = [
        ("journal", f"<code>{escape(facts['journal'])}</code>"),
        ("time", when),
        ("nodes", nodes or "none"),
        ("snapshot", f"<code>{escape(facts['snapshot'])}</code>"),
        ("made", f"{moment(facts['made'])} UTC"),
    ]
    return "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows)


def damage(facts: Facts) -> str:
    """What the journal has lost: the first thing that one must know."""
    if not facts["damage"]:
        return ""
    shown = facts["damage"][:20]
    lines = "".join(f"<li>{escape(line)}</li>" for line in shown)
    if len(facts["damage"]) > len(shown):
        lines += f"<li>and {number(len(facts['damage']) - len(shown))} more</li>"
    return (
        '<section class="damage" id="damage"><h2>The journal is damaged</h2>'
        f"<p>Rows are missing from everything below.</p><ul>{lines}</ul></section>"
    )


def tiles(facts: Facts) -> str:
    """The figures to begin with: what went wrong, then how much there is."""
    totals, files, audit = facts["totals"], facts["files"], facts["audit"]
    broken, rules = len(audit["broken"]), _rules(audit)
    held = f"violations, all {rules} rules held" if rules else "violations"
    of_rules = f"violations of {broken} {'rule' if broken == 1 else 'rules'}"
    failed = f"exchanges failed, {share(totals['failed'], totals['exchanges'])}"
    lacking = f"files incomplete, of {number(files['count'])}"
    waited = facts["waits"]["all"]
    half = f"p99 wait, half within {duration(waited['p50'])}" if waited["count"] else "answers"
    told = [
        ("violations", number(audit["violations"]), of_rules if broken else held, bool(broken)),
        ("failures", number(totals["failed"]), failed, bool(totals["failed"])),
        ("files", number(files["incomplete"]), lacking, bool(files["incomplete"])),
        ("latency", duration(waited["p99"]) or "0", half, False),
        ("outcomes", number(totals["exchanges"]), f"exchanges, {number(totals['open'])} open", False),
        ("traffic", number(facts["rows"]["frames"]), "frames", False),
        ("traffic", amount(totals["bytes_in"]), "received", False),
        ("traffic", amount(totals["bytes_out"]), "sent", False),
    ]
    return "".join(
        f'<a href="#{place}"{" class=bad" if bad else ""}><strong>{value}</strong><span>{what}</span></a>'
        for place, value, what, bad in told
    )


def _rules(audit: Facts) -> int | None:
    rules = audit["rules"]
    return rules if rules is None or isinstance(rules, int) else len(rules)


def violations(facts: Facts) -> str:
    """Broken rules with examples, or that all held."""
    audit = facts["audit"]
    rules, rows = _rules(audit), number(audit["rows"])
    if not audit["broken"]:
        words = f"All {rules} rules held" if rules else "Every rule held"
        return f'<p class="good">{words} over {rows} {"row" if audit["rows"] == 1 else "rows"}.</p>'
    broken = len(audit["broken"])
    intact = f" The other {rules - broken} held." if rules and rules > broken else ""
    lead = (
        f"<p>{number(audit['violations'])} violations of {broken} {'rule' if broken == 1 else 'rules'} in "
        f"{rows} rows.{intact}</p>"
    )
    told = [_rule(rule, first=at == 0) for at, rule in enumerate(audit["broken"])]
    folded = "".join(told[_UNFOLDED:])
    words = f"{len(told) - _UNFOLDED} more broken rules"
    more = f"<details class=fold><summary>{words}</summary>{folded}</details>" if folded else ""
    return lead + "".join(told[:_UNFOLDED]) + more


def _rule(rule: Facts, *, first: bool) -> str:
    left = rule["count"] - len(rule["examples"])
    more = (
        f'<p class="more">and {number(left)} more, the last at {moment(rule["last"])} UTC</p>' if left else ""
    )
    return (
        f"<details{' open' if first else ''}><summary><span class=many>{number(rule['count'])}</span> "
        f"<span class=sentence>{escape(rule['sentence'])}</span> "
        f"<code>{escape(rule['rule'])}</code></summary>"
        f"{''.join(_example(example) for example in rule['examples'])}{more}</details>"
    )


def _example(example: Facts) -> str:
    seqs = ", ".join(number(seq) for seq in example["evidence"])
    left = example["evidence_rows"] - len(example["evidence"])
    seqs += f" and {number(left)} more" if left else ""
    facts = [
        f"{moment(example['time'], fine=True)} UTC",
        f"node {escape(example['node'])}",
        f"{'rows' if example['evidence_rows'] > 1 else 'row'} {seqs}",
        escape(" ".join(filter(None, [example["protocol"], example["endpoint"]]))),
    ]
    detail = f'<p class="detail">{escape(example["detail"])}</p>' if example["detail"] else ""
    return (
        f'<div class="example"><p class="facts">{" · ".join(filter(None, facts))}</p>{detail}'
        f"{command(example['cat'])}{command(example['story'])}</div>"
    )


def outcomes(facts: Facts) -> str:
    """The plot's place, and the counts."""
    if not facts["outcomes"]:
        return none("No exchange has begun.")
    rows = []
    for row in facts["outcomes"]:
        failed = sum(row[name] for name in FAILED)
        percent = share(failed, row["count"]) if failed else ""
        rows.append([Cell("name", called(row)), count("exchanges", row["count"]), count("ok", row["ok"]),
                     count("failed", failed), figure("share", percent), count("open", row["open"]),
                     figure("received", amount(row["bytes_in"])),
                     figure("sent", amount(row["bytes_out"]))])  # fmt: skip
    return '<div id="plot-outcomes" class="plot"></div>' + table(rows, "", "narrow counts")


def failures(facts: Facts) -> str:
    """Error codes, then one failure of each of the most frequent kinds with its timeline."""
    if not facts["codes"]:
        return '<p class="good">Nothing has failed.</p>'
    rows = [
        [Cell("name", called(row)), Cell("outcome", outcome(row | {"code": None})), text("code", row["code"]),
         count("count", row["count"]), Cell("latest", moment(row["latest"]), "t")]
        for row in facts["codes"]
    ]  # fmt: skip
    left = facts["code_kinds"] - len(rows)
    more = f'<p class="more">and {number(left)} rarer kinds</p>' if left > 0 else ""
    shown = timelines.cards(facts["failed"])
    return f"{table(rows, '', 'narrow codes')}{more}<h3>One of each kind</h3>{shown}"


def latency(facts: Facts) -> str:
    """Waits over time and by name."""
    rows = [
        [Cell("name", called(row)), count("answers", row["count"]),
         *[figure(name, duration(row[name])) for name in (*PERCENTILES, "max")]]
        for row in facts["waits"]["by_name"]
    ]  # fmt: skip
    if not rows:
        return none("No request, call or stream has been answered.")
    whole = facts["waits"]["all"]
    if len(rows) > 1:
        rows.append([Cell("name", "<strong>all</strong>"), count("answers", whole["count"]),
                     *[figure(name, duration(whole[name])) for name in (*PERCENTILES, "max")]])  # fmt: skip
    return (
        '<p class="hint">From the opening to the first answer. The stronger the colour, the more answers.</p>'
        '<h3>Over time</h3><div id="plot-waits" class="plot"></div>'
        '<h3>By endpoint, function and service</h3><div id="plot-strips" class="plot"></div>'
        + table(rows, "", "narrow latency")
    )


def slowest(facts: Facts) -> str:
    """The longest waits, each with its timeline."""
    if not facts["slowest"]:
        return none("No request, call or stream has been answered.")
    return timelines.cards(facts["slowest"])


def traffic(facts: Facts) -> str:
    """The plot's place."""
    if facts["traffic"] is None:
        return none("No frames yet.")
    step = duration(facts["traffic"]["step_ms"] * 1000)
    return (
        f'<p class="hint">In above the line, out below it; one bar is {step}.</p>'
        '<div id="plot-traffic" class="plot"></div>'
    )


def files(facts: Facts) -> str:
    """Counted by type, the biggest, and what has not come whole."""
    told = facts["files"]
    if not told["count"]:
        return none("No files.")
    how = ", ".join(f"{number(row['count'])} {escape(row['how'])}" for row in told["by_how"])
    lead = f"<p>{number(told['count'])} files, {amount(told['bytes'])}: {how}.</p>"
    types = [
        [text("type", row["type"]), count("files", row["count"]), figure("size", amount(row["bytes"])),
         count("incomplete", row["incomplete"])]
        for row in told["by_type"]
    ]  # fmt: skip
    lacking = table([_file(row) for row in told["latest_incomplete"]], "All have come whole.", "wide files")
    biggest = table([_file(row) for row in told["biggest"]], "None has come yet.", "wide files")
    return (
        f"{lead}{table(types, '', 'narrow types')}"
        f"<h3>Latest incomplete</h3>{lacking}"
        f"<h3>Biggest</h3>{biggest}"
    )


def _file(row: dict[str, Any]) -> list[Cell]:
    frames = f"{number(row['frames'] or 0)} {'frame' if row['frames'] == 1 else 'frames'}"
    name = row["name"] if row["name"] is not None else f"(key {row['key']})" if row["key"] is not None else ""
    return [
        Cell("time", moment(row["time"]), "t"),
        text("name", name),
        text("type", row["type"]),
        Cell("has come", f"{amount(row['bytes'])} in {frames}" if row["frames"] else "nothing", "n"),
        Cell("how", escape(f"{row['how']} {row['direction']}"), "t"),
        text("endpoint", row["endpoint"]),
    ]


def messages(facts: Facts) -> str:
    """The latest."""
    return table([_message(row) for row in facts["messages"]], "No messages.")


def _message(row: dict[str, Any]) -> list[Cell]:
    if row["readable"]:
        said = row["json"] if row["error"] is None else f"error: {row['error']}"
    else:
        unread = f"(not read: {row['coder']})" if row["coder"] else "(not an envelope)"
        said = "(not recorded)" if row["readable"] is None else unread
    names = ", ".join(str(file["name"] or file["key"]) for file in row["files"])
    left = row["files_count"] - len(row["files"])
    return [
        Cell("time", moment(row["time"]), "t"),
        Cell("what", escape(f"{row['kind']} {row['direction']}"), "t"),
        text("endpoint", row["endpoint"]),
        text("user", row["user"]),
        Cell("data", f"<code>{escape(said or '')}</code>"),
        text("files", names + (f" and {left} more" if left else "")),
    ]
