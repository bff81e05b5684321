"""Random conversations of Python's machines, replayed by the TypeScript one: byte for byte."""

import json
import os
from itertools import islice
from pathlib import Path

import pytest

from tests.clients.conversations import conversations
from tests.clients.npm import npm

CONVERSATIONS = int(os.environ.get("FRAMEHUB_CONVERSATIONS") or 1_000)


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("packages")
def test_the_typescript_machine_does_what_the_python_one_does(tmp_path: Path) -> None:
    cases = list(islice(conversations(first_seed=1), CONVERSATIONS))
    deeds = {step.get("does") for case in cases for step in case["steps"]}
    seen = {step["sees"]["type"] for case in cases for step in case["steps"] if "sees" in step}
    assert len(deeds) == 11
    assert len(seen) == 14, "every event there is"
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps({"kind": "conversation", "cases": cases}))
    said = npm("run", "--silent", "replay", str(file))
    assert f"{CONVERSATIONS} conversations, 0 otherwise" in said
