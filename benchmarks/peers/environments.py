"""An environment for each peer, made when first needed: ``.venv-NAME`` from ``NAME.txt``, both in here."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


class NoEnvironment(Exception):
    """It could not be made; the text says why."""


def python_of(name: str) -> str:
    """The interpreter of the peer's environment; made afresh if its requirements or our Python changed.

    Raises:
        NoEnvironment: pip could not install what is needed.
    """
    requirements = HERE / f"{name}.txt"
    key = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()
    home = HERE / f".venv-{name}"
    stamp, python = home / ".stamp", home / "bin" / "python"
    if stamp.exists() and stamp.read_text() == key:
        return str(python)
    print(
        f"   making {home.relative_to(Path.cwd()) if home.is_relative_to(Path.cwd()) else home}", flush=True
    )
    _run(sys.executable, "-m", "venv", "--clear", str(home))
    _run(str(python), "-m", "pip", "install", "--quiet", "--no-input", "-r", str(requirements))
    stamp.write_text(key)
    return str(python)


def _run(*command: str) -> None:
    # What is installed for us must not be seen by them.
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=clean)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise NoEnvironment(" ".join(last) or f"{command[0]} ended with {done.returncode}")
