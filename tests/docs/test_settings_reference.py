"""The tables of settings are those of the code."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from framehub.hub.called import HubClientSettings
from framehub.hub.served import ServiceSettings
from framehub.hub.settings import HubSettings
from framehub.mfp.settings import Settings
from framehub.rpc.settings import ClientSettings, ProxySettings, WorkerSettings

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"


def table(name: str) -> dict[str, str]:
    """Setting and default of the section about ``name``."""
    _, section = PAGE.read_text().split(f"## `{name}`")
    return dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", section.partition("\n## ")[0], re.MULTILINE))


def test_every_setting_is_in_the_table_with_its_default() -> None:
    told = table("Settings")
    settings = Settings()
    wanted = {setting.name: getattr(settings, setting.name) for setting in fields(Settings)}
    sums = wanted.pop("checksums")
    assert told.pop("checksums") == f"{sums.mode}, {sums.algorithm}"
    assert told == {name: shown(value) for name, value in wanted.items()}


@pytest.mark.parametrize(
    "kind",
    [HubSettings, ServiceSettings, HubClientSettings, ProxySettings, ClientSettings, WorkerSettings],
)
def test_those_of_the_hub_and_of_remote_functions_are_too(kind: type[Any]) -> None:
    settings = kind()
    assert table(kind.__name__) == {one.name: shown(getattr(settings, one.name)) for one in fields(kind)}


def shown(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)
