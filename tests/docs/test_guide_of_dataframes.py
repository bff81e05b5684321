"""The guide of functions in DataFrames, step by step as printed."""

import os
import re
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest

from .test_snippets import BLOCK, FRAMEHUB, HERE, OPTIONS, ROOT, free_ports, promised

USUAL = ("7400", "7401", "7402", "7403", "7404")


@pytest.mark.spark
def test_the_guide_of_dataframes_runs_as_printed(tmp_path: Path) -> None:
    ports = dict(zip(USUAL, map(str, free_ports(5)), strict=True))
    page = (ROOT / "docs/guides/functions-in-dataframes.md").read_text()
    page = re.sub(r"(?<=127.0.0.1:)740[0-4]", lambda found: ports[found[0]], page)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONWARNINGS": "ignore",
        "FRAMEHUB_WORKERS": f"tcp://{HERE}{ports['7403']}",
    }
    listen = [
        word for option, port in zip(OPTIONS, USUAL, strict=True) for word in (option, HERE + ports[port])
    ]
    started: list[subprocess.Popen[str]] = []
    seen = 0
    try:
        for (language, name, body), (following, _, text) in pairwise(BLOCK.findall(page)):
            if language == "python":
                (tmp_path / name).write_text(body)
            if language == "text" or following != "text":
                continue
            seen += 1
            if language == "sh":
                words = [FRAMEHUB, *body.split()[1:], *(listen if body == "framehub serve\n" else ())]
                process = subprocess.Popen(
                    words, cwd=tmp_path, env=environment, stdout=PIPE, stderr=DEVNULL, text=True
                )
                started.append(process)
                assert process.stdout is not None
                said = process.stdout.readline()
            else:
                done = subprocess.run(
                    [sys.executable, name],
                    cwd=tmp_path,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=400,
                    check=False,
                )
                said = done.stdout or done.stderr
            # A port has as many digits as the system gives it, and tables are as wide as what is in them.
            assert promised(text).fullmatch(said), f"{body}printed:\n{said}instead of:\n{text}"
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=40)
    assert [process.returncode for process in started] == [0, 0, 0]
    assert seen == 6
