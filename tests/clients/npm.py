"""npm in clients/typescript, with the Node of the test tools."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "typescript"
FRAMEHUB = str(Path(sys.executable).with_name("framehub"))


def npm(*args: str) -> str:
    """Run ``npm ARGS`` and return what it says; if it fails, whatever it says is told."""
    done = subprocess.run(
        [str(ROOT / "scripts" / "npm.sh"), *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "FRAMEHUB": FRAMEHUB, "NO_COLOR": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:]
    return done.stdout
