"""Limits and times of the hub."""

import math
import re
from pathlib import Path

import pytest

from framehub.errors import ConfigError
from framehub.hub.settings import KIB, LONGEST, MIB, HubSettings

SPEC = Path(__file__).parents[3] / "spec" / "hub.md"
UNITS = {"": 1, " s": 1, " KiB": KIB, " MiB": MIB}
NAMES = tuple(HubSettings.__dataclass_fields__)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_number_above_zero_is_refused(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be a number above zero"):
        HubSettings(**{name: value})  # type: ignore[arg-type]


def test_the_default_timeout_is_within_the_bounds() -> None:
    assert HubSettings(timeout=1.0).timeout == 1.0
    assert HubSettings(timeout=3_600.0).timeout == 3_600.0
    with pytest.raises(
        ConfigError, match=r"timeout 0\.9 is not between least_timeout 1 and most_timeout 3600"
    ):
        HubSettings(timeout=0.9)
    with pytest.raises(ConfigError, match="timeout 3601 is not between"):
        HubSettings(timeout=3_601.0)


def test_timeouts_fit_their_field_of_milliseconds() -> None:
    assert HubSettings(most_timeout=LONGEST).most_timeout == LONGEST
    assert HubSettings(least_timeout=0.001).least_timeout == 0.001
    with pytest.raises(ConfigError, match="most_timeout must be at most 4294967, not 4294968"):
        HubSettings(most_timeout=LONGEST + 1)
    with pytest.raises(ConfigError, match=r"least_timeout must be at least 0\.001, not 0\.0009"):
        HubSettings(least_timeout=0.0009)


def test_a_service_is_asked_before_it_counts_as_dead() -> None:
    assert HubSettings(heartbeat=4.9).heartbeat == 4.9
    for settings in ({"heartbeat": 5}, {"heartbeat": 10, "dead_after": 1}, {"dead_after": 1}):
        with pytest.raises(ConfigError, match="is not above heartbeat"):
            HubSettings(**settings)


def test_a_timeout_that_is_asked_for_is_kept_within_the_bounds() -> None:
    """At each bound, and on both sides of it."""
    settings = HubSettings()
    asked = [1, 999, 1_000, 1_001, 3_599_999, 3_600_000, 3_600_001, 2**32 - 1]
    assert [settings.bounded(each) for each in asked] == [
        1.0, 1.0, 1.0, 1.001, 3_599.999, 3_600.0, 3_600.0, 3_600.0,
    ]  # fmt: skip


def test_the_defaults_are_those_of_the_spec() -> None:
    """[HUB-13.4] The table of section 13: every setting, and its number."""
    told: dict[str, float] = {}
    for names, numbers in re.findall(r"^\| (`[^|]+`) \| ([^|]+?) \|", SPEC.read_text(), re.MULTILINE):
        values = re.findall(r"(\d[\d,]*)( s| KiB| MiB|)(?:, |$)", numbers)
        for name, (number, unit) in zip(re.findall(r"`(\w+)`", names), values, strict=True):
            told[name] = int(number.replace(",", "")) * UNITS[unit]
    told = {name: value for name, value in told.items() if name in NAMES}
    assert told == {name: getattr(HubSettings(), name) for name in NAMES}
