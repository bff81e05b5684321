"""What every test shares: how hard hypothesis looks (HYPOTHESIS_PROFILE), and how long a test may take."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Machines are slow and busy: a time limit per example tests the machine, not the code.
settings.register_profile("default", deadline=None)
# The same examples in every run, so that a failure in CI is a failure on a desk.
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile(
    "fuzz", deadline=None, max_examples=20_000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "default")

# What a test starts in a process of its own inherits it.
os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).parent / "quick_jvm"))

WITH_SPARK = 900
"""Seconds after which a test that starts Spark hangs: on a busy machine a start alone may take a minute."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.timeout(WITH_SPARK), append=False)
