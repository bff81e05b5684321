"""The guide of services, step by step as printed."""

import os
import re
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT

from .test_snippets import BLOCK, FRAMEHUB, HERE, ROOT, free_ports, promised

ANY = ("--clients", f"{HERE}0", "--workers", f"{HERE}0", "--no-journal")


def test_the_guide_of_services_runs_as_printed(tmp_path: Path) -> None:
    ports = dict(zip(("7400", "7401"), map(str, free_ports(2)), strict=True))
    page = (ROOT / "docs/guides/streaming-service.md").read_text()
    page = re.sub(r"(?<=127.0.0.1:)740[01]", lambda found: ports[found[0]], page)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "FRAMEHUB_URL": f"ws://{HERE}{ports['7400']}/mfp",
        "FRAMEHUB_SERVICES": f"tcp://{HERE}{ports['7401']}",
    }
    listen = ("--listen", HERE + ports["7400"], "--services", HERE + ports["7401"], *ANY)
    started: list[subprocess.Popen[str]] = []
    seen = 0
    try:
        for (language, name, body), (following, _, text) in pairwise(BLOCK.findall(page)):
            if language == "python":
                (tmp_path / name).write_text(body)
            if language == "text" or following != "text":
                continue
            seen += 1
            if body.startswith(("framehub serve", "framehub service")):
                words = [FRAMEHUB, *body.split()[1:], *(listen if body == "framehub serve\n" else ())]
                process = subprocess.Popen(
                    words, cwd=tmp_path, env=environment, stdout=PIPE, stderr=DEVNULL, text=True
                )
                started.append(process)
                assert process.stdout is not None
                said = process.stdout.readline()
            else:
                command = f"python {name}\n" if language == "python" else body
                said = subprocess.run(
                    ["/bin/sh", "-c", command],
                    cwd=tmp_path,
                    env=environment,
                    stdout=PIPE,
                    stderr=STDOUT,
                    text=True,
                    timeout=60,
                    check=False,
                ).stdout
            assert promised(text).fullmatch(said), f"{body}printed:\n{said}instead of:\n{text}"
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=40)
    assert [process.returncode for process in started] == [0, 0, 0]
    assert seen == 6


def test_it_is_15_lines() -> None:
    """Those that say something: what the guide's name promises."""
    page = (ROOT / "docs/guides/streaming-service.md").read_text()
    service = next(body for _, name, body in BLOCK.findall(page) if name == "quotes.py")
    assert len([line for line in service.splitlines() if line]) <= 15
