"""README and guides: what they print as code runs as printed."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT

import pytest
import trustme

ROOT = Path(__file__).parents[2]
FRAMEHUB = str(Path(sys.executable).with_name("framehub"))
HERE = "127.0.0.1:"
OPTIONS = ("--listen", "--services", "--clients", "--workers", "--admin")
ANY_PORTS = (
    "--services",
    "127.0.0.1:0",
    "--clients",
    "127.0.0.1:0",
    "--workers",
    "127.0.0.1:0",
    "--admin",
    "off",
)
BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[tuple[str, str]]:
    """(file name, text) of every block of a language, with the usual port replaced by a free one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    text = (ROOT / page).read_text().replace("127.0.0.1:7400", f"127.0.0.1:{port}")
    return [(name, body) for kind, name, body in BLOCK.findall(text) if kind == language]


def free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [int(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def promised(text: str) -> "re.Pattern[str]":
    """What a page says is printed; three dots are anything."""
    return re.compile(re.escape(text).replace(r"\.\.\.", ".*"))


def python(path: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, path.name, *arguments],
        cwd=path.parent,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readmes_example_prints_what_it_says(tmp_path: Path) -> None:
    ((_, body),) = blocks("README.md", "python")
    (tmp_path / "example.py").write_text(body)
    comments = re.findall(r"print\(.*\)  # (.*)", body)
    assert len(comments) == body.count("print(")
    # What the two ends print is not in the order of the lines of the example.
    assert sorted(python(tmp_path / "example.py").splitlines()) == sorted(comments)


def test_the_readmes_service_answers_what_is_asked_from_a_shell(tmp_path: Path) -> None:
    page = (ROOT / "README.md").read_text()
    (body,) = (body for kind, _, body in BLOCK.findall(page) if kind == "text" and "Service(" in body)
    (tmp_path / "prices.py").write_text(body)
    ((asked, answer),) = re.findall(r"\./framehub (request prices.*?)  +# (.*?):? a request", page)
    port, services = map(str, free_ports(2))
    listen = ("--listen", HERE + port, *ANY_PORTS, "--services", HERE + services, "--no-journal")
    offer = ("prices:service", "--connect", f"tcp://{HERE}{services}")
    started: list[subprocess.Popen[str]] = []
    try:
        for words in (("serve", *listen), ("service", *offer)):
            process = subprocess.Popen([FRAMEHUB, *words], cwd=tmp_path, stdout=PIPE, text=True)
            started.append(process)
            assert process.stdout is not None
            assert process.stdout.readline().startswith("ready")
        said = subprocess.run(
            [FRAMEHUB, *shlex.split(asked), "--url", f"ws://{HERE}{port}/mfp"],
            stdout=PIPE,
            timeout=60,
            check=True,
        ).stdout
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=40)
    assert json.loads(said) == json.loads(answer.removesuffix(":"))


def test_the_readmes_commands_exist() -> None:
    from framehub.cli.main import COMMANDS

    named = set(re.findall(r"framehub (\w+)", (ROOT / "README.md").read_text()))
    assert named & set(COMMANDS) == set(COMMANDS)


def test_the_push_guide_prints_what_it_says(tmp_path: Path) -> None:
    page = "docs/guides/push-and-wait.md"
    ((name, body),) = blocks(page, "python")
    ((_, text),) = blocks(page, "text")
    (tmp_path / name).write_text(body)
    assert sorted(python(tmp_path / name).splitlines()) == sorted(text.splitlines())


def test_the_stream_guide_runs_as_printed(tmp_path: Path) -> None:
    page = "docs/guides/stream-a-file.md"
    found = blocks(page, "python")
    (port,) = re.findall(r"127\.0\.0\.1:(\d+)", found[1][1])
    for name, body in found:
        (tmp_path / name).write_text(body)
    serve, send, again = (shlex.split(body) for _, body in blocks(page, "sh"))
    serve = [re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{port}", word) for word in serve]
    content = bytes(range(256)) * 40_000
    (tmp_path / send[2]).write_bytes(content)
    gateway = subprocess.Popen(
        [FRAMEHUB, *serve[1:], *ANY_PORTS], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    try:
        assert gateway.stdout is not None
        assert gateway.stdout.readline().startswith("ready")
        said = python(tmp_path / send[1], *send[2:])
        told = subprocess.run(
            [FRAMEHUB, *again[1:]],
            cwd=tmp_path,
            env={**os.environ, "FRAMEHUB_URL": f"ws://127.0.0.1:{port}/mfp"},
            capture_output=True,
            timeout=60,
            check=True,
        )
    finally:
        gateway.send_signal(signal.SIGTERM)
        gateway.communicate(timeout=20)
    assert gateway.returncode == 0
    assert said.startswith("big.bin is stored as ")
    stored = json.loads(told.stdout)
    assert stored["token"] == "t1"
    assert {file.name for file in (tmp_path / "uploads").iterdir()} == {said.split()[-1], stored["as"]}
    assert all(file.read_bytes() == content for file in (tmp_path / "uploads").iterdir())
    (tmp_path / "me.png").write_bytes(bytes(1000))
    assert python(tmp_path / "attach.py") == "{'me.png': 1000, 'note.txt': 5}\n"
    assert [(tmp_path / f"picture-{key}").stat().st_size for key in (0, 1)] == [1000, 5]


def test_the_transports_guide_prints_what_it_says(tmp_path: Path) -> None:
    page = "docs/guides/transports.md"
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    certificate = authority.issue_cert("127.0.0.1")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "server.pem")
    certificate.private_key_pem.write_to_path(tmp_path / "server.key")
    programs, promises = blocks(page, "python"), blocks(page, "text")
    assert len(programs) == len(promises) == 3
    for (name, body), (_, text) in zip(programs, promises, strict=True):
        (tmp_path / name).write_text(body)
        assert python(tmp_path / name) == text


def test_the_guide_of_functions_runs_as_printed(tmp_path: Path) -> None:
    page = (ROOT / "docs/guides/call-functions.md").read_text()
    usual = ("7400", "7401", "7402", "7403", "7404")
    ports = dict(zip(usual, map(str, free_ports(len(usual))), strict=True))
    page = re.sub("|".join(f"(?<=127.0.0.1:){port}" for port in ports), lambda found: ports[found[0]], page)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "FRAMEHUB_URL": f"ws://127.0.0.1:{ports['7400']}/mfp",
        "FRAMEHUB_SERVICES": f"tcp://127.0.0.1:{ports['7401']}",
        "FRAMEHUB_CLIENTS": f"tcp://127.0.0.1:{ports['7402']}",
        "FRAMEHUB_WORKERS": f"tcp://127.0.0.1:{ports['7403']}",
    }
    listen = [
        word for option, port in zip(OPTIONS, ports.values(), strict=True) for word in (option, HERE + port)
    ]
    found = BLOCK.findall(page)
    started: list[subprocess.Popen[str]] = []
    seen = 0
    try:
        for (language, name, body), (following, _, text) in pairwise(found):
            if language == "python":
                (tmp_path / name).write_text(body)
            if language == "text" or following != "text":
                continue
            seen += 1
            command = f"python {name}\n" if language == "python" else body
            if command.startswith(("framehub serve", "framehub worker")):
                words = [FRAMEHUB, *command.split()[1:], *(listen if "serve" in command else ())]
                process = subprocess.Popen(
                    words, cwd=tmp_path, env=environment, stdout=PIPE, stderr=DEVNULL, text=True
                )
                started.append(process)
                assert process.stdout is not None
                said = process.stdout.readline()
            else:
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
            assert promised(text).fullmatch(said), f"{command}printed:\n{said}instead of:\n{text}"
    finally:
        for process in reversed(started):
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=40)
    assert [process.returncode for process in started] == [0, 0, 0]
    assert seen == 13


@pytest.mark.spark
def test_the_first_endpoint_guide_runs_as_printed(tmp_path: Path) -> None:
    page = "docs/guides/first-endpoint.md"
    found = blocks(page, "python")
    port = re.findall(r"127\.0\.0\.1:(\d+)", found[1][1])[0]
    for name, body in found:
        (tmp_path / name).write_text(body)
    lines = [line for _, body in blocks(page, "sh") for line in body.splitlines()]
    commands = {line.split()[1]: line for line in lines}
    serve = re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{port}", commands["serve"]).split()
    gateway = subprocess.Popen(
        [FRAMEHUB, *serve[1:], *ANY_PORTS], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    try:
        assert gateway.stdout is not None
        assert gateway.stdout.readline().startswith(f"ready mfp=ws://127.0.0.1:{port}/mfp hub=")
        said = python(tmp_path / "client.py")
        assert said.startswith("Hello, Ada!\n{'reason': 'tell me your name'}\nTrue, link ")
        link = said.split()[-1]
    finally:
        gateway.send_signal(signal.SIGTERM)
        gateway.communicate(timeout=20)
    assert gateway.returncode == 0

    def framehub(line: str) -> str:
        done = subprocess.run(
            [FRAMEHUB, *line.split()[1:]],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    for line in lines:
        if line.startswith("framehub pipeline"):
            framehub(line)
    assert (tmp_path / "tables" / "report.html").exists()
    assert python(tmp_path / "query.py") == "Ada\n"
    story = framehub(commands["story"].replace("LINK", link))
    assert "the client's request to greet" in story
    assert "outcome      ok" in story
    assert 'data {"text":"Hello, Ada!"}' in story
