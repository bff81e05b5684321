"""Ctrl-C while Spark works: it ends soon, and says nothing of what went on inside."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from framehub.journal.generate import generate
from tests.e2e.conftest import ENV, FRAMEHUB

pytestmark = pytest.mark.spark


def test_an_audit_is_ended_by_ctrl_c_without_a_word_of_sparks(tmp_path: Path) -> None:
    generate(tmp_path / "journal", frames=100_000, seed=1)
    auditing = subprocess.Popen(
        [FRAMEHUB, "pipeline", "audit", "journal"],
        cwd=tmp_path,
        env=ENV,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert auditing.stderr is not None
    for line in auditing.stderr:
        if "checking the rules" in line:
            break
    time.sleep(1.0)  # until it waits for Spark
    auditing.send_signal(signal.SIGINT)
    told, said = auditing.communicate(timeout=60)
    assert (told, said.strip(), auditing.returncode) == ("", "Aborted!", 1)
