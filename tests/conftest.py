"""What every test shares: how hard hypothesis looks (HYPOTHESIS_PROFILE), and how long a test may take."""

import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from framehub.gateway.config_variables import OURS, TOLD
from tests.uncompiled import UNCOMPILED

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

# What is set for Python here is not what people have: most have buffers, and modules that are compiled once.
for _name in ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"):
    os.environ.pop(_name, None)

# A shell that starts the tests in the background has Ctrl-C ignored, which what they start would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What is set for some gateway of this machine is not for those that tests start.
for _name in [name for name in os.environ if name.startswith("FRAMEHUB_") and name not in OURS - TOLD]:
    del os.environ[_name]

WITH_SPARK = 900
"""Seconds after which a test that starts Spark hangs: on a busy machine a start alone may take a minute."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.timeout(WITH_SPARK), append=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None]:
    """Around all fixtures: what they do with Spark counts too."""
    yield
    UNCOMPILED.check()
