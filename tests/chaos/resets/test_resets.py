"""Nothing that peers do to their connections ends the gateway. ``make resets`` does a hundred thousand."""

from pathlib import Path

import pytest

from tests.chaos.resets.resets import run


@pytest.mark.timeout(300)
@pytest.mark.parametrize("keyed", [False, True], ids=["plain", "curve"])
def test_connections_reset_under_full_queues(keyed: bool, tmp_path: Path) -> None:
    verdict = run(tmp_path, resets=300, keyed=keyed, seed=7)
    assert verdict.problem == ""
    assert verdict.calls > 0
