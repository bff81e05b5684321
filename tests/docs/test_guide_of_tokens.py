"""The guide of tokens, step by step as printed."""

import os
import re
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT

from .test_snippets import ANY_PORTS, BLOCK, FRAMEHUB, HERE, ROOT, free_ports, promised


def test_the_guide_of_tokens_runs_as_printed(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    page = re.sub(r"(?<=127.0.0.1:)7400", str(port), (ROOT / "docs/guides/tokens.md").read_text())
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "FRAMEHUB_URL": f"ws://{HERE}{port}/mfp",
    }
    gateway: subprocess.Popen[str] | None = None
    seen = 0
    try:
        for (language, name, body), (following, _, text) in pairwise(BLOCK.findall(page)):
            if language == "python":
                (tmp_path / name).write_text(body)
            if language == "text" or following != "text":
                continue
            seen += 1
            if body.startswith("framehub serve"):
                words = [FRAMEHUB, *body.split()[1:], "--listen", f"{HERE}{port}", *ANY_PORTS]
                gateway = subprocess.Popen(
                    words, cwd=tmp_path, env=environment, stdout=PIPE, stderr=DEVNULL, text=True
                )
                assert gateway.stdout is not None
                said = gateway.stdout.readline()
            else:
                command = f"python {name}\n" if language == "python" else body
                done = subprocess.run(
                    ["/bin/sh", "-c", command],
                    cwd=tmp_path,
                    env=environment,
                    stdout=PIPE,
                    stderr=STDOUT,
                    text=True,
                    timeout=60,
                    check=False,
                )
                said = done.stdout
            assert promised(text).fullmatch(said), f"{body}printed:\n{said}instead of:\n{text}"
    finally:
        if gateway is not None:
            gateway.send_signal(signal.SIGTERM)
            gateway.communicate(timeout=40)
    assert gateway is not None
    assert gateway.returncode == 0
    assert seen == 7
    assert oct((tmp_path / "tokens").stat().st_mode)[-3:] == "600"
