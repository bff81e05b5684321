"""What every test shares: how hard hypothesis looks, chosen by HYPOTHESIS_PROFILE."""

import os

from hypothesis import HealthCheck, settings

# Machines are slow and busy: a time limit per example tests the machine, not the code.
settings.register_profile("default", deadline=None)
# The same examples in every run, so that a failure in CI is a failure on a desk.
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile(
    "fuzz", deadline=None, max_examples=20_000, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "default")
