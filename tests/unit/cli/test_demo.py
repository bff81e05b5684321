"""What the demo says while it works."""

from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from framehub.cli import demo


def test_that_spark_takes_its_time_is_said_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = StringIO()
    before: list[str] = []

    def run(*_places: Path, **_others: Any) -> SimpleNamespace:
        before.append(told.getvalue())
        return SimpleNamespace(rows={"frames": 1_234}, seconds=56.7)

    monkeypatch.setattr("framehub.pipeline.run.run", run)
    monkeypatch.setattr("framehub.report.page.write_report", lambda tables: tables / "report.html")
    demo._pipeline(tmp_path, tmp_path, Console(file=told, highlight=False, soft_wrap=True))
    assert before == ["7 Spark makes tables of both, which takes a minute or so: "]
    assert told.getvalue().splitlines()[0] == f"{before[0]}1,234 frames, in 57 s"
