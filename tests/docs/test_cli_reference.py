"""The page that people read is what the commands say."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from framehub.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_listed_command_is_there(name: str) -> None:
    module, _, attribute = COMMANDS[name].partition(":")
    assert hasattr(import_module(module), attribute)


def test_the_reference_is_fresh() -> None:
    code = "import cli_reference, sys; sys.stdout.write(cli_reference.page())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "scripts", capture_output=True, text=True, check=True
    )
    stored = (ROOT / "docs" / "reference" / "cli.md").read_text()
    assert done.stdout == stored, "run `make docs`"
