"""The example file is what the settings say, and can be used as it is."""

import re
from pathlib import Path

from framehub.gateway.config import KEYS, load
from framehub.gateway.config_page import docs, example
from framehub.gateway.config_values import as_toml

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "framehub.toml"


def test_the_example_is_fresh() -> None:
    assert PAGE.read_text() == example(), "run `make docs`"


def test_it_changes_nothing() -> None:
    assert load(PAGE).settings == load().settings


def test_its_values_are_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / "all.toml"
    file.write_text(re.sub(r"^#(?=\w+ =)", "", PAGE.read_text(), flags=re.MULTILINE))
    found = load(file)
    assert found.settings == load().settings
    assert all(one.source == f"file {file}" for one in found.values)


def test_every_setting_is_explained() -> None:
    for key in KEYS.values():
        assert docs(key.owner)[key.field]
        assert f"#{key.name} = {as_toml(key.default)}" in PAGE.read_text()
