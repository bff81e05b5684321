"""Tokens from the outside: made, used, revoked while somebody is connected, and written down nowhere."""

import asyncio
import json
import signal
import stat
import subprocess
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path

import pytest

import framehub

from .conftest import ENV, Cli, Serve

APP = ("--app", "framehub.gateway.sample:endpoints")
PRICE = ("request", "stock.price", '"apple"')


def add(cli: Cli, user: int, name: str, file: str = "tokens") -> str:
    done = cli("token", "add", "--tokens", file, "--user", str(user), "--name", name)
    assert done.returncode == 0, done.stderr
    token = done.stdout.removesuffix("\n")
    assert "\n" not in token
    assert token not in done.stderr
    return token


def said(process: "subprocess.Popen[str]") -> str:
    """End it; all that it wrote on stderr."""
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=30)
    assert process.returncode == 0, log
    return log


def test_tokens_are_made_listed_and_revoked(cli: Cli, tmp_path: Path) -> None:
    anna, bob = add(cli, 7, "Anna's laptop"), add(cli, 65_535, "bob")
    file = tmp_path / "tokens"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    ids = [sha256(token.encode()).hexdigest()[:12] for token in (anna, bob)]

    listed = cli("token", "list", "--tokens", "tokens")
    assert (listed.returncode, listed.stderr) == (0, "")
    head, *lines = listed.stdout.splitlines()
    assert head.split() == ["id", "user", "created", "name"]
    assert [(line.split()[0], line.split()[1]) for line in lines] == [(ids[0], "7"), (ids[1], "65535")]
    assert lines[0].endswith("  Anna's laptop")
    as_json = json.loads(cli("token", "list", "--tokens", "tokens", "--json").stdout)
    assert [(one["id"], one["user"], one["name"]) for one in as_json] == [
        (ids[0], 7, "Anna's laptop"),
        (ids[1], 65_535, "bob"),
    ]

    done = cli("token", "revoke", ids[0][:6], "--tokens", "tokens")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"tokens: token {ids[0]} (Anna's laptop) of user 7 is revoked\n"
    assert cli("token", "revoke", "bob", "--tokens", "tokens").returncode == 0
    empty = cli("token", "list", "--tokens", "tokens")
    assert (empty.returncode, empty.stdout) == (0, "")
    assert "there is no token in tokens" in empty.stderr
    assert cli("token", "list", "--tokens", "tokens", "--json").stdout == "[]\n"


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        (["add", "--user", "0", "--name", "x"], 2, "0 is not in the range 1<=x<=65535"),
        (["add", "--user", "7"], 2, "Missing option '--name'"),
        (["add", "--user", "7", "--name", "taken"], 1, "there is a token named 'taken' already"),
        (["add", "--user", "7", "--name", "a\x1b[1m"], 1, "name: want 1 to 100 letters"),
        (["revoke", "nobody"], 1, "no token is 'nobody'"),
        (["revoke", "nobody", "--tokens", "missing"], 1, "cannot read the tokens in missing: No such file"),
        (["list", "--tokens", "missing"], 1, "cannot read the tokens in missing: No such file"),
        (["list", "--tokens", "broken"], 1, "broken, line 2: want USER WHEN SHA256 NAME"),
    ],
)
def test_what_cannot_be_is_one_line(cli: Cli, tmp_path: Path, args: list[str], code: int, text: str) -> None:
    add(cli, 7, "taken")
    (tmp_path / "broken").write_text("# one\nnonsense\n")
    done = cli("token", *args, *(() if "--tokens" in args else ("--tokens", "tokens")))
    assert (done.returncode, done.stdout) == (code, "")
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_a_token_opens_a_gateway_and_is_written_down_nowhere(
    serve: Serve, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna = add(cli, 7, "anna")
    process, url = serve(*APP, "--tokens", "tokens", "-v")
    (tmp_path / "secret").write_text(f"{anna}\n")
    monkeypatch.setitem(ENV, "FRAMEHUB_URL", url)

    refused = cli(*PRICE)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == f"Error: cannot connect to {url}: HTTP 401 a token is needed\n"
    for given in (["--token", anna], ["--token-file", "secret"]):
        done = cli(*PRICE, *given)
        assert (done.returncode, json.loads(done.stdout)["cents"]) == (0, 120), done.stderr
    twice = cli(*PRICE, "--token", anna, "--token-file", "secret")
    assert (twice.returncode, twice.stderr) == (2, "Error: --token and --token-file: give one of them\n")
    wrong = cli(*PRICE, "--token", "wrong one")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (1, 1)
    assert "token: want up to 4089 ASCII letters without spaces" in wrong.stderr

    monkeypatch.setitem(ENV, "FRAMEHUB_TOKEN", anna)
    assert cli(*PRICE).returncode == 0
    assert cli("ping", "--count", "1").returncode == 0
    assert cli("stream", "files.upload", stdin="hello").returncode == 0
    assert cli(*PRICE, "--token", "wrong").stderr.endswith(": HTTP 401 no such token\n")
    over_tcp = cli(*PRICE, "--url", "tcp://127.0.0.1:1")
    assert over_tcp.stderr == "Error: cannot connect to tcp://127.0.0.1:1: Connection refused\n"

    log = said(process)
    rows = [json.loads(line) for line in cli("journal", "cat", "journal", "--json").stdout.splitlines()]
    assert {row["user"] for row in rows if row["protocol"] == "mfp"} == {7}
    assert "refused with HTTP 401" in log
    written = [file for file in (tmp_path / "journal").rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in written) > 1_000
    for secret in (anna, urlsafe_b64encode(anna.encode()).decode().rstrip("=")):
        assert secret not in log
        assert [file for file in written if secret.encode() in file.read_bytes()] == []


async def test_a_revoked_token_is_cut_off_and_a_new_one_gets_in(serve: Serve, cli: Cli) -> None:
    anna, bob = add(cli, 7, "anna"), add(cli, 8, "bob")
    process, url = serve(*APP, "--tokens", "tokens", "--no-journal")
    async with framehub.connect(url, token=anna) as one, framehub.connect(url, token=bob) as other:
        asking = asyncio.create_task(one.request("report.build", {"seconds": 30}))
        await one.ping()
        assert cli("token", "revoke", "anna", "--tokens", "tokens").returncode == 0
        async with asyncio.timeout(30):
            lost = await one.closed
        assert (lost.code, lost.reason) == (1008, "token revoked")
        with pytest.raises(framehub.ConnectionClosed, match="token revoked"):
            await asking
        assert (await other.request("stock.price", "apple")).data["cents"] == 120
        with pytest.raises(framehub.ConnectFailed) as caught:
            async with framehub.connect(url, token=anna):
                pass
        assert caught.value.status == 401
        async with framehub.connect(url, token=add(cli, 7, "anna")) as again:
            assert (await again.request("stock.price", "apple")).data["cents"] == 120
    log = said(process)
    assert "(anna) of user 7 is revoked" in log
    assert anna not in log


def test_a_file_that_breaks_while_it_runs_keeps_who_is_in(serve: Serve, cli: Cli, tmp_path: Path) -> None:
    anna = add(cli, 7, "anna")
    process, url = serve(*APP, "--tokens", "tokens", "--no-journal")
    with (tmp_path / "tokens").open("a") as file:
        file.write("nonsense\n")
    done = cli(*PRICE, "--url", url, "--token", anna)
    assert done.returncode == 0, done.stderr
    assert "tokens, line 3: want USER WHEN SHA256 NAME" in said(process)


@pytest.mark.parametrize(
    ("text", "said"),
    [("# one\nnonsense\n", "tokens, line 2: want USER"), ("", "tokens in tokens: it is empty")],
)
def test_a_file_that_is_wrong_at_the_start_is_one_line(
    cli: Cli, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "tokens").write_text(text)
    done = cli(
        "serve", "--listen", "127.0.0.1:0", "--clients", "off", "--workers", "off", "--tokens", "tokens"
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith(f"Error: command line --tokens: [gateway] tokens: {said}")
    missing = cli("serve", "--tokens", "nowhere")
    assert missing.returncode == 2
    assert "File 'nowhere' does not exist" in missing.stderr


def test_beyond_this_machine_tokens_are_enough_and_guessing_has_an_end(serve: Serve, cli: Cli) -> None:
    refused = cli("serve", "--listen", "0.0.0.0:0")
    assert refused.returncode == 1
    assert "use tokens (--tokens), or say that this is meant (--allow-anonymous)" in refused.stderr
    anna = add(cli, 7, "anna")
    _, url = serve("--listen", "0.0.0.0:0", *APP, "--tokens", "tokens", "--no-journal")
    url = url.replace("0.0.0.0", "127.0.0.1")
    assert cli(*PRICE, "--url", url, "--token", anna).returncode == 0
    assert cli(*PRICE, "--url", url).stderr.endswith(": HTTP 401 a token is needed\n")
    for n in range(10):
        assert cli("ping", "--count", "1", "--url", url, "--token", f"guess-{n}").returncode == 1
    done = cli(*PRICE, "--url", url, "--token", "guess-10")
    assert done.returncode == 1
    assert done.stderr == (
        f"Error: cannot connect to {url}: HTTP 429 too many wrong tokens from your address, and this one is"
        " wrong too\n"
    )
    assert cli(*PRICE, "--url", url, "--token", anna).returncode == 0


def test_anybody_may_be_let_in_beside_those_with_tokens(serve: Serve, cli: Cli, tmp_path: Path) -> None:
    anna = add(cli, 7, "anna")
    process, url = serve(*APP, "--tokens", "tokens", "--allow-anonymous")
    assert cli(*PRICE, "--url", url).returncode == 0
    assert cli(*PRICE, "--url", url, "--token", anna).returncode == 0
    said(process)
    rows = [json.loads(line) for line in cli("journal", "cat", "journal", "--json").stdout.splitlines()]
    assert {row["user"] for row in rows if row["protocol"] == "mfp"} == {0, 7}
