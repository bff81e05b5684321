"""The table of settings is that of the code."""

import re
from dataclasses import fields
from pathlib import Path

from framehub.mfp.settings import Settings

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"


def test_every_setting_is_in_the_table_with_its_default() -> None:
    table = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE.read_text(), re.MULTILINE))
    settings = Settings()
    wanted = {setting.name: getattr(settings, setting.name) for setting in fields(Settings)}
    sums = wanted.pop("checksums")
    assert table.pop("checksums") == f"{sums.mode}, {sums.algorithm}"
    assert table == {name: shown(value) for name, value in wanted.items()}


def shown(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)
