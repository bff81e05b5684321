"""``framehub ls``, ``describe``, ``call`` and ``decode rpc``, against a gateway and a worker as processes."""

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from .calling import Hub, Places, hub
from .conftest import ENV, FRAMEHUB, Cli


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with hub(tmp_path_factory.mktemp("jobs")) as made:
        yield made


@pytest.fixture(scope="module")
def places(house: Hub) -> Places:
    """A gateway with a worker."""
    told = house.gateway("--journal", "journal")
    house.worker(told["workers"], "--processes", "2")
    return told


@pytest.fixture
def ask(places: Places, cli: Cli) -> Cli:
    """``framehub ARGS --connect`` to the gateway above."""
    return lambda *args, stdin=None: cli(*args, "--connect", places["clients"], stdin=stdin)


def test_ls_is_a_table_for_people_and_json_for_programs(ask: Cli) -> None:
    done = ask("ls")
    assert (done.returncode, done.stderr) == (0, "")
    head, *rows = done.stdout.splitlines()
    assert head.split() == ["function", "parameters", "workers", "about"]
    assert [row.split()[0] for row in rows] == sorted(row.split()[0] for row in rows)
    (square,) = (row for row in rows if row.startswith("square"))
    assert square.split(maxsplit=4) == ["square", "x:", "integer", "1", "The square of x."]
    assert any("a: number, b: number = 1.0" in row for row in rows)
    assert any("picture: file, size: integer = 4" in row for row in rows)
    listed = {entry["name"]: entry for entry in json.loads(ask("ls", "--json").stdout)}
    assert len(listed) == len(rows)
    assert listed["multiply"]["argument"] == "Pair<Int, Int>"
    assert listed["multiply"]["redispatch"] == "unacknowledged"


def test_describe_says_how_to_call_it(ask: Cli, cli: Cli, places: Places) -> None:
    done = ask("describe", "square")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "square(x: integer) -> integer\n  The square of x.\n\n  Of whole numbers only.\n"
    )
    assert "coders      json -> json\nworkers     1\nredispatch  always" in done.stdout
    command = done.stdout.splitlines()[-1].split()
    assert command[:4] == ["call", "it", "framehub", "call"]
    assert cli(*command[3:]).stdout == "1\n"
    about = ask("describe", "multiply").stdout
    assert "redispatch  unacknowledged: never run twice" in about
    assert "ends after  5 s" in about
    assert "call cut 4 --file picture=PATH" in ask("describe", "cut").stdout
    assert "call reverse --file PATH" in ask("describe", "reverse").stdout
    assert "'{\"times\": 1}' --file blob=PATH" in ask("describe", "repeat").stdout
    entry = json.loads(ask("describe", "add", "--json").stdout)
    assert (entry["name"], entry["argument"], entry["workers"]) == ("add", "json", 1)


@pytest.mark.parametrize("command", ["describe", "call"])
def test_a_wrong_name_is_one_line_with_the_right_one(ask: Cli, command: str) -> None:
    done = ask(command, "squar")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: no worker offers a function 'squar'. Did you mean 'square'?\n"


@pytest.mark.parametrize(
    ("args", "stdin", "want"),
    [
        (["square", "12"], None, 144),
        (["square", "-3"], None, 9),
        (["add", "[1, 2]"], None, 3.0),
        (["add", '{"a": 1}'], None, 2.0),
        (["add", "@ask.json"], None, 7.0),
        (["add", "-"], "[2]", 3.0),
        (["hello"], None, "hello"),
        (["hello", "null"], None, "hello"),
        (["multiply", "[3, -4]"], None, -12),
        (["multiply", '{"b": 3, "a": 5}'], None, 15),
        (["repeat", '{"times": 2}', "--file", "blob=me.png"], None, {"blob": "UE5HUE5H"}),
        (["repeat", "--file", "me.png"], None, {"blob": "UE5H"}),
    ],
)
def test_json_becomes_arguments(
    ask: Cli, tmp_path: Path, args: list[str], stdin: str | None, want: object
) -> None:
    (tmp_path / "ask.json").write_text('{"a": 5, "b": 2}')
    (tmp_path / "me.png").write_bytes(b"PNG")
    done = ask("call", *args, stdin=stdin)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == want
    assert json.loads(ask("call", *args, "--json", stdin=stdin).stdout) == {"data": want, "files": []}


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["square", '"x"'], "square: x: expected integer, got string"),
        (["square"], "square: x is missing"),
        (["add", "1"], "add: it takes several arguments (a, b): give an array or an object"),
        (["add", "[1, 2, 3]"], "add: it takes 2 arguments, got 3"),
        (["add", '{"c": 1}'], "add: has no parameter c"),
        (["hello", "1"], "hello: it takes no arguments"),
        (["square", "1", "--file", "me.png"], "square: me.png has no place: it takes no files"),
        (["cut", "--file", "a=me.png"], "cut: no file goes to 'a': it takes picture"),
        (["cut", "--file", "me.png", "--file", "me.png"], "cut: me.png has no place: it takes only 1"),
        (["cut", "--file", "picture=me.png", "--file", "0=me.png"], "cut: picture is given twice"),
        (["cut", "--file", "none.png"], "none.png: No such file or directory"),
        (["reverse", '"x"'], "reverse: it takes bytes: give them with --file PATH, and nothing else"),
    ],
)
def test_wrong_arguments_are_refused_here(ask: Cli, tmp_path: Path, args: list[str], why: str) -> None:
    (tmp_path / "me.png").write_bytes(b"PNG")
    done = ask("call", *args)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"Error: {why}\n")


def test_files_go_in_and_come_out(ask: Cli, tmp_path: Path) -> None:
    (tmp_path / "me.png").write_bytes(b"0123456789")
    (tmp_path / "b.txt").write_bytes(b"text")
    done = ask("call", "cut", "--file", "me.png")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "file 0: small-me.png (image/png), 4 bytes\n"
    done = ask("call", "cut", "6", "--file", "picture=me.png", "--out", "got")
    assert done.stderr.endswith(", saved as got/file-0\n")
    assert (tmp_path / "got" / "file-0").read_bytes() == b"012345"
    told = json.loads(ask("call", "cut", "2", "--file", "0=-", "--out", "got", "--json", stdin="in").stdout)
    assert told["files"] == [{"key": 0, "name": "small-", "type": "", "bytes": 2, "path": "got/file-0-1"}]
    for files in (["me.png", "b.txt"], ["pictures=me.png", "pictures=b.txt"], ["0=me.png", "1=b.txt"]):
        done = ask("call", "album", '"mine"', *(word for file in files for word in ("--file", file)))
        assert json.loads(done.stdout) == {"me.png": 10, "b.txt": 4}
        assert done.stderr.count("\n") == 2


def test_bytes_and_columns_are_summed_up_or_saved(ask: Cli, tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    done = ask("call", "reverse", "--file", "abc", "--out", "got")
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "got" / "file-0").read_bytes() == b"cba"
    done = ask("call", "same", '{"x": [1, 2, 3]}', "--out", "got")
    assert (done.returncode, done.stdout) == (0, "")
    assert "table: 3 rows, columns x int64\n" in done.stderr
    saved = tmp_path / "got" / "file-0-1"
    assert pa.ipc.open_stream(saved.read_bytes()).read_all().to_pydict() == {"x": [1, 2, 3]}
    assert "table: 3 rows" in ask("call", "same", "--file", str(saved)).stderr


def test_what_fails_is_one_line_and_exit_1(ask: Cli, tmp_path: Path) -> None:
    done = ask("call", "fail", '"no\\u001b[31m luck"')
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: fail failed: ValueError: no luck\n"
    told = ask("call", "fail", '"x"', "--json")
    assert told.returncode == 1
    assert json.loads(told.stdout) == {
        "error": {"type": "RemoteFunctionError", "message": "fail failed: ValueError: x"}
    }
    done = ask("call", "wait_for", '"never"', "--timeout", "0.5")
    assert done.returncode == 1
    assert done.stderr.endswith("in time (0.5 s)\n")
    assert done.stderr.count("\n") == 1


def test_ctrl_c_ends_the_call_there_too(house: Hub, places: Places) -> None:
    asking = subprocess.Popen(
        [FRAMEHUB, "call", "wait_for", '"dropped"', "--connect", places["clients"]],
        stderr=subprocess.PIPE,
        text=True,
        env=ENV,
    )
    wait_until(house.folder / "dropped.started")
    asking.send_signal(signal.SIGINT)
    assert asking.communicate(timeout=20)[1].strip() == "Aborted!"
    wait_until(house.folder / "dropped.cancelled")


@pytest.mark.parametrize("args", [["ls"], ["describe", "square"], ["call", "square", "1"]])
def test_without_a_proxy_it_is_said_where_and_what_to_start(cli: Cli, args: list[str]) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{nobody.getsockname()[1]}"
        done = cli(*args, "--connect", where, "--timeout", "1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"Error: cannot connect to tcp://{where}: no proxy is there; `framehub serve` starts one\n"
    )


def test_wrong_addresses_and_keys_are_named(cli: Cli, places: Places, tmp_path: Path) -> None:
    (tmp_path / "k").write_text("secret")
    assert "want tcp://HOST:PORT" in cli("ls", "--connect", "here").stderr
    alone = cli("ls", "--curve-key", "k")
    assert (alone.returncode, "go together" in alone.stderr) == (2, True)
    wrong = cli("ls", "--connect", places["workers"], "--timeout", "0.5")
    assert wrong.returncode == 1
    assert "is that where clients connect?" in wrong.stderr


def test_no_functions_is_no_error(house: Hub, cli: Cli) -> None:
    told = house.gateway("--no-journal")
    done = cli("ls", "--connect", told["clients"])
    assert (done.returncode, done.stdout) == (0, "")
    assert "no functions are offered" in done.stderr
    assert cli("ls", "--connect", told["clients"], "--json").stdout == "[]\n"


def test_with_keys_only_those_who_are_known_may_call(house: Hub, cli: Cli, tmp_path: Path) -> None:
    for name in ("proxy", "mine", "others"):
        made = cli("keys", "new", f"{name}.key")
        assert made.stdout == (tmp_path / f"{name}.key.pub").read_text()
    assert cli("keys", "new", "mine.key").returncode == 1
    known = str(tmp_path / "mine.key.pub")
    allowed = ("--curve-key", str(tmp_path / "proxy.key"), "--client-keys", known, "--worker-keys", known)
    told = house.gateway("--no-journal", *allowed)
    server = ("--server-key", str(tmp_path / "proxy.key.pub"))
    house.worker(told["workers"], "--threads", "1", "--curve-key", str(tmp_path / "mine.key"), *server)
    call = ("call", "square", "5", "--connect", told["clients"])
    assert cli(*call, "--curve-key", "mine.key", *server).stdout == "25\n"
    for keys in ([], ["--curve-key", "others.key", *server]):
        refused = cli(*call, *keys, "--timeout", "2")
        assert refused.returncode == 1
        assert "we are not let in there: wrong keys" in refused.stderr
    assert "chmod 600" in cli(*call, "--curve-key", "mine.key.pub", *server).stderr


def test_recorded_messages_are_explained_part_by_part(ask: Cli, cli: Cli, house: Hub) -> None:
    assert ask("call", "square", "6543").returncode == 0
    assert ask("call", "nobody").returncode == 1
    raws: dict[str, str] = {}
    until = time.monotonic() + 20
    while "QUERY" not in raws:
        assert time.monotonic() < until
        for line in cli("journal", "cat", str(house.folder / "journal"), "--json").stdout.splitlines():
            row = json.loads(line)
            message = row.get("message", {})
            if message and (message["type"] != "QUERY" or message["argument"] == "6543"):
                raws.setdefault(message["type"], row["raw"])
    told = cli("decode", "rpc", raws["QUERY"])
    assert told.returncode == 0, told.stderr
    first, *lines = told.stdout.splitlines()
    assert first.startswith("QUERY message, 4 parts, ")
    fields = {line[:18].strip(): line[18:] for line in lines}
    assert fields["from"] == "client to proxy or proxy to worker"
    assert (fields["argument"], fields["function"]) == ("4 bytes: 6543", "square")
    whole = json.loads(cli("decode", "rpc", raws["QUERY"], "--json").stdout)
    assert bytes.fromhex(whole["argument"]) == b"6543"
    assert (whole["type"], whole["id"]) == ("QUERY", fields["id"])
    without = raws["QUERY"][8 + 2 * len(bytes.fromhex(whole["identity"])) :]
    assert "identity" not in json.loads(cli("decode", "rpc", without, "--json").stdout)
    every = cli("decode", "rpc", "-", stdin="\n".join(raws.values()))
    assert every.returncode == 0, every.stderr
    assert every.stdout.count(" message, ") == len(raws) > 8
    assert "  function        square: json -> json\n" in every.stdout


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0000", "the length of a part is cut short at byte 0"),
        ("0000000541", "a part of 5 bytes is cut short at byte 4"),
        ("00000003414243", "none of the first two parts names a type of message at byte 0"),
        ("000000055155455259", "QUERY has 4 parts, not 1 at byte 0"),
        ("0000000161000000055155455259", "QUERY has 4 parts, not 1 at byte 5"),
        ("", "none of the first two parts names a type of message at byte 0"),
    ],
)
def test_a_malformed_message_is_a_reason_and_exit_1(cli: Cli, text: str, why: str) -> None:
    done = cli("decode", "rpc", text, "--json")
    assert (done.returncode, done.stderr) == (1, f"malformed: {why}\n")
    assert json.loads(done.stdout)["malformed"]["reason"] == why.rpartition(" at byte")[0]
    assert cli("decode", "rpc", "xyz").returncode == 2


def wait_until(path: Path) -> None:
    until = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < until, path
        time.sleep(0.02)
