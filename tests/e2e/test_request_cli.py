"""``framehub request`` against a gateway in a process of its own."""

import hashlib
import json
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import ENV, FRAMEHUB, Cli, Serve, serving, wait_for_read

APP = """
from framehub import Call, EndpointError, Endpoints, File, Reply

endpoints = Endpoints()


@endpoints.on("echo")
def echo(call: Call) -> Reply:
    files = {str(key): [file.name, file.type, len(file.data)] for key, file in call.files.items()}
    return Reply({"data": call.data, "files": files})


@endpoints.on("back")
def back(call: Call) -> Reply:
    return Reply(None, {0: File(b"evil", "../../evil\\x1b[2J", "x/y"), 4294967295: File(b"", "/etc/passwd")})


@endpoints.on("escape")
def escape(call: Call) -> str:
    return "\\x1b[31m\\x7f\\u202e red \\u00e9"


@endpoints.on("fail")
def fail(call: Call) -> None:
    raise EndpointError(call.data)


@endpoints.on("never")
async def never(call: Call) -> None:
    import asyncio

    await asyncio.Event().wait()
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("app")
    (folder / "app.py").write_text(APP)
    with serving(folder) as start:
        yield start("--app", "app:endpoints", "--no-journal")[1]


@pytest.fixture
def ask(url: str, cli: Cli) -> Cli:
    """``framehub request ARGS`` to the endpoints above."""
    return lambda *args, stdin=None: cli("request", *args, "--url", url, stdin=stdin)


def test_the_answer_is_json_on_stdout_and_nothing_else(ask: Cli, tmp_path: Path) -> None:
    (tmp_path / "ask.json").write_text('{"from": "a file"}')
    for args, stdin, want in (
        (["echo", '{"text": "hi"}'], None, {"text": "hi"}),
        (["echo", "@ask.json"], None, {"from": "a file"}),
        (["echo", "-"], "[1, 2]", [1, 2]),
        (["echo"], None, None),
    ):
        done = ask(*args, stdin=stdin)
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout) == {"data": want, "files": {}}
    one = ask("echo", "7", "--json", "--checksum", "crc32.always")
    assert json.loads(one.stdout) == {"data": {"data": 7, "files": {}}, "files": []}
    assert one.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"text": }', "JSON: Expecting value: line 1 column 10 (char 9)"),
        ("", "JSON: Expecting value: line 1 column 1 (char 0)"),
        ("NaN", "JSON: not JSON: NaN is no number"),
        ("[" * 100_000, "JSON: not JSON"),
        ("@bad.json", "bad.json: not JSON: 'utf-8' codec"),
    ],
)
def test_bad_json_is_one_line_with_its_place_and_exit_2(
    cli: Cli, tmp_path: Path, text: str, why: str
) -> None:
    (tmp_path / "bad.json").write_bytes(b'"\xff"')
    done = cli("request", "echo", text, "--url", "ws://127.0.0.1:1/mfp")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {why}")
    assert done.stderr.count("\n") == 1


def test_json_that_is_too_much_is_not_read_to_its_end(cli: Cli, tmp_path: Path) -> None:
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(1 << 40)
    done = cli("request", "echo", "@huge.json")
    assert done.returncode == 2
    assert done.stderr == "Error: huge.json: over 16777216 bytes; send it as a file or a stream\n"


def test_files_are_numbered_or_keyed_and_keep_name_and_type(ask: Cli, tmp_path: Path) -> None:
    (tmp_path / "me.png").write_bytes(bytes(1000))
    (tmp_path / "a=b.txt").write_bytes(b"text")
    done = ask(
        "echo", "--file", "me.png", "--file", "0=a=b.txt", "--file", "9=-", "--file", "a=b.txt", stdin="in"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["files"] == {
        "1": ["me.png", "image/png", 1000],
        "0": ["a=b.txt", "text/plain", 4],
        "9": ["", "", 2],
        "2": ["a=b.txt", "text/plain", 4],
    }


@pytest.mark.parametrize(
    ("args", "code", "why"),
    [
        (["--file", "gone.png"], 1, "gone.png: No such file or directory"),
        (["--file", "."], 1, ".: Is a directory"),
        (["--file", "huge"], 1, "(max_frame_bytes; send bigger things as a stream)"),
        (["--file", "/dev/zero"], 1, "(max_frame_bytes; send bigger things as a stream)"),
        (["--file", "1=x", "--file", "1=y"], 2, "--file 1=y: key 1 is taken"),
        (["--file", "4294967296=x"], 2, "key 4294967296 is too big"),
        (["--file", "7="], 2, "--file 7=: want a path after the key"),
        (["-", "--file", "-"], 2, "stdin can be used only once"),
        (["@gone.json"], 1, "gone.json: No such file or directory"),
        (['"\\ud800"'], 1, "cannot be sent as JSON"),
    ],
)
def test_what_cannot_be_sent_is_one_line(
    ask: Cli, tmp_path: Path, args: list[str], code: int, why: str
) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    done = ask("echo", *args, stdin="")
    assert (done.returncode, done.stdout) == (code, "")
    assert why in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_other_side_chooses_no_path_and_no_colour(ask: Cli, tmp_path: Path) -> None:
    listed = ask("back")
    assert (listed.returncode, listed.stdout) == (0, "null\n")
    assert listed.stderr.splitlines() == [
        "file 0: ../../evil\\x1b[2J (x/y), 4 bytes",
        "file 4294967295: /etc/passwd, 0 bytes",
    ]
    before = set(tmp_path.iterdir())
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "file-0").symlink_to(tmp_path / "victim")
    saved = ask("back", "--out", "out")
    assert "file 0: ../../evil\\x1b[2J (x/y), 4 bytes, saved as out/file-0-1\n" in saved.stderr
    assert (tmp_path / "out" / "file-0-1").read_bytes() == b"evil"
    assert (tmp_path / "out" / "file-4294967295").read_bytes() == b""
    again = json.loads(ask("back", "--out", "out", "--json").stdout)
    assert [file["path"] for file in again["files"]] == ["out/file-0-2", "out/file-4294967295-1"]
    assert [file["name"] for file in again["files"]] == ["../../evil\x1b[2J", "/etc/passwd"]
    assert set(tmp_path.iterdir()) - before == {tmp_path / "out"}

    shown = ask("escape").stdout
    assert shown == '"\\u001b[31m\\u007f\\u202e red \u00e9"\n'
    assert json.loads(shown) == "\x1b[31m\x7f\u202e red \u00e9"


def test_an_error_is_one_line_and_exit_1(ask: Cli) -> None:
    for args, line in (
        (["nobody"], "nobody answered with an error: unknown_endpoint: no endpoint 'nobody' here"),
        (["fail", '{"reason": "\\u001b[1m"}'], 'fail answered with an error: {"reason": "\\u001b[1m"}'),
        (["fail", '"\\u001b[1m"'], "fail answered with an error: \\x1b[1m"),
        (["never", "--timeout", "0.2"], "never: no answer in time (0.2 s)"),
    ):
        done = ask(*args)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", f"Error: {line}\n")
    done = ask("fail", '"no"', "--json")
    assert (done.returncode, json.loads(done.stdout)) == (1, {"error": "no", "files": []})


def test_nobody_listening_names_the_url(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"ws://127.0.0.1:{bound.getsockname()[1]}/mfp"
        monkeypatch.setitem(ENV, "FRAMEHUB_URL", url)
        for command in (["request", "echo"], ["stream", "echo"], ["ping"]):
            done = cli(*command, stdin="")
            assert (done.returncode, done.stdout) == (1, "")
            assert done.stderr == f"Error: cannot connect to {url}: Connection refused\n"


def test_a_token_is_sent_and_a_refusal_cannot_steer_the_terminal(cli: Cli, tmp_path: Path) -> None:
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse() -> None:
            link, _ = server.accept()
            with link:
                asked.append(link.recv(65536))
                link.sendall(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 9\r\n\r\nno\x1b[1m\nyou")

        thread = threading.Thread(target=refuse)
        thread.start()
        (tmp_path / "token").write_text("secret-7\n")
        (tmp_path / "bad").write_text("two words\n")
        url = f"ws://127.0.0.1:{server.getsockname()[1]}/mfp"
        done = cli("request", "echo", "--url", url, "--token-file", "token")
        thread.join()
    assert b"Authorization: Bearer secret-7\r\n" in asked[0]
    assert done.returncode == 1
    assert done.stderr == f"Error: cannot connect to {url}: HTTP 401 no\\x1b[1m\\x0ayou\n"
    done = cli("request", "echo", "--token-file", "bad")
    assert (done.returncode, done.stderr) == (2, "Error: bad: want one token there, without spaces\n")


def test_ctrl_c_ends_it_even_while_stdin_is_silent(serve: Serve) -> None:
    _, url = serve("--app", "framehub.gateway.sample:endpoints", "--no-journal")
    for args in (["request", "files.store", "--file", "-"], ["stream", "files.upload"]):
        with subprocess.Popen(
            [FRAMEHUB, *args, "--url", url], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV
        ) as process:
            assert process.stdin is not None
            process.stdin.write(b"begun")
            process.stdin.flush()
            wait_for_read(process.pid)
            process.send_signal(signal.SIGINT)
            assert process.stderr is not None
            assert process.stderr.read() == b"\nAborted!\n"
            assert process.wait(10) == 1


def test_the_samples_receipt_is_right(serve: Serve, cli: Cli, tmp_path: Path) -> None:
    _, url = serve("--app", "framehub.gateway.sample:endpoints", "--no-journal")
    content = bytes(range(256)) * 4000
    (tmp_path / "a.bin").write_bytes(content)
    done = cli("request", "files.store", "--file", "a.bin", "--out", "got", "--url", url)
    assert json.loads(done.stdout) == {"stored": 1, "bytes": len(content)}
    assert (tmp_path / "got" / "file-0").read_text() == f"{hashlib.sha256(content).hexdigest()}  a.bin"
