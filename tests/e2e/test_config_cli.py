"""Settings in a file and in the environment, by the installed command."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

import framehub

from .conftest import ENV, FRAMEHUB, Cli, Serve

WRONG = """
[mfp]
request_timout = 1
max_files = "many"
"""


def test_check_says_all_that_is_wrong_a_line_each(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text(WRONG)
    done = cli("config", "check", "f.toml")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "f.toml: [mfp] request_timout is no setting; did you mean request_timeout?",
        "f.toml: [mfp] max_files = 'many': want a whole number",
    ]
    refused = cli("serve", "--config", "f.toml")
    assert refused.returncode == 1
    assert refused.stderr == "".join(f"Error: {line}\n" for line in done.stdout.splitlines())
    shown = cli("config", "show", "--config", "f.toml")
    assert shown.returncode == 1
    assert shown.stderr == (
        "Error: f.toml: [mfp] request_timout is no setting; did you mean request_timeout?"
        " (and 1 more: framehub config check)\n"
    )


def test_a_right_file_is_said_to_be(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text(cli("config", "example").stdout)
    done = cli("config", "check", "f.toml")
    assert (done.returncode, done.stderr) == (0, "f.toml: right\n")


def test_check_says_what_is_open_to_whom(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text(
        """
        [gateway]
        listen = "0.0.0.0:7400"
        allow_anonymous = true
        clients = "off"
        workers = "off"
        """
    )
    done = cli("config", "check", "f.toml")
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            "WebSocket: 0.0.0.0:7400, reachable from elsewhere, anybody",
            "services: 127.0.0.1:7401, this machine only, anybody",
            "clients: off",
            "workers: off",
            "admin: 127.0.0.1:7404, this machine only, anybody",
        ],
    )
    assert done.stderr.splitlines() == [
        "warning: WebSocket: anybody who reaches 0.0.0.0:7400 may connect",
        "f.toml: right",
    ]
    (tmp_path / "f.toml").write_text('[gateway]\nallow_anonymous = true\nworkers = "0.0.0.0:7403"\n')
    refused = cli("config", "check", "f.toml")
    assert refused.returncode == 1
    assert "f.toml: [gateway] workers = 0.0.0.0:7403: anybody who reaches" in refused.stdout
    (tmp_path / "f.toml").write_text('[gateway]\nallow_plain_zeromq = true\nworkers = "0.0.0.0:7403"\n')
    meant = cli("config", "check", "f.toml")
    assert meant.returncode == 0
    assert "warning: workers: anybody who reaches 0.0.0.0:7403 may connect\n" in meant.stderr


def test_show_says_where_each_value_comes_from(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text("[mfp]\nrequest_timeout = 9\n")
    done = cli("config", "show", "--config", "f.toml")
    assert "request_timeout = 9.0  # file f.toml" in done.stdout
    assert tomllib.loads(done.stdout)["hub"]["timeout"] == 30
    (tmp_path / "again.toml").write_text(done.stdout)
    assert cli("config", "check", "again.toml").returncode == 0
    told = json.loads(cli("config", "show", "--config", "f.toml", "--json").stdout)
    assert {"table": "mfp", "key": "request_timeout", "value": 9.0, "source": "file f.toml"} in told
    assert {"table": "mfp", "key": "idle_timeout", "value": "inf", "source": "default"} in told


def test_the_environment_counts(tmp_path: Path) -> None:
    variables = {"FRAMEHUB_MFP__MAX_FILES": "3", "FRAMEHUB_URL": "ws://elsewhere"}
    done = subprocess.run(
        [FRAMEHUB, "config", "show"],
        env=os.environ | variables,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "max_files = 3  # environment FRAMEHUB_MFP__MAX_FILES" in done.stdout


def test_a_variable_that_is_none_is_an_error_of_a_gateway_and_no_matter_to_others(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f.toml").touch()
    monkeypatch.setitem(ENV, "FRAMEHUB_MFP_MAX_FILES", "3")
    said = (
        "environment: FRAMEHUB_MFP_MAX_FILES is no variable of ours; did you mean FRAMEHUB_MFP__MAX_FILES?\n"
    )
    done = cli("config", "check", "f.toml")
    assert (done.returncode, done.stdout) == (1, said)
    refused = cli("serve")
    assert (refused.returncode, refused.stderr) == (1, f"Error: {said}")
    assert cli("decode", "mfp", "210000000900000007").returncode == 0


def test_the_file_to_check_may_be_that_of_the_environment(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("config", "check").returncode == 2
    (tmp_path / "f.toml").touch()
    monkeypatch.setitem(ENV, "FRAMEHUB_CONFIG", "f.toml")
    assert cli("config", "check").stderr == "f.toml: right\n"


def test_an_app_is_said_to_be_unseen(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text('[gateway]\napp = "nothere:app"\n')
    done = cli("config", "check", "f.toml")
    assert (done.returncode, done.stderr) == (0, "f.toml: right; app 'nothere:app' was not imported\n")


def test_the_file_to_show_is_an_argument_as_that_to_check(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, name in enumerate(("a.toml", "b.toml"), 7):
        (tmp_path / name).write_text(f"[mfp]\nmax_files = {number}\n")
    monkeypatch.setitem(ENV, "FRAMEHUB_CONFIG", "a.toml")
    assert "max_files = 7  # file a.toml" in cli("config", "show").stdout
    assert "max_files = 8  # file b.toml" in cli("config", "show", "b.toml").stdout
    assert "max_files = 8  # file b.toml" in cli("config", "show", "--config", "b.toml").stdout
    twice = cli("config", "show", "a.toml", "--config", "b.toml")
    assert (twice.returncode, twice.stderr.splitlines()[-1]) == (
        2,
        "Error: FILE and --config: give one of them",
    )


def test_files_that_settings_name_are_looked_into(cli: Cli, tmp_path: Path) -> None:
    assert cli("keys", "new", "key").returncode == 0
    (tmp_path / "none").write_text("# nobody yet\n")
    keys = 'curve_key = "key"\nclient_keys = "none"\nworker_keys = "key.pub"\n'
    (tmp_path / "f.toml").write_text(f"[gateway]\n{keys}")
    done = cli("config", "check", "f.toml")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "warning: [gateway] client_keys: there is no key in none, so no client can connect",
        "f.toml: right",
    ]
    (tmp_path / "f.toml").write_text(f"[gateway]\ntokens = '.'\nstatic = 'nowhere'\n{keys}")
    wrong = [
        "f.toml: [gateway] tokens: tokens in .: it is no file",
        "f.toml: [gateway] static = nowhere: No such file or directory",
    ]
    assert cli("config", "check", "f.toml").stdout.splitlines() == wrong
    refused = cli("serve", "--config", "f.toml")
    assert refused.returncode == 1
    assert refused.stderr.splitlines() == [f"Error: {line}" for line in wrong]


def test_a_journal_and_none_is_wrong_usage(cli: Cli) -> None:
    done = cli("serve", "--journal", "j", "--no-journal")
    assert (done.returncode, done.stderr) == (2, "Error: --journal and --no-journal: give one of them\n")


async def test_a_gateway_goes_by_its_file_and_the_command_line_comes_first(
    serve: Serve, tmp_path: Path
) -> None:
    (tmp_path / "f.toml").write_text(
        """
        [gateway]
        app = "framehub.gateway.sample:endpoints"
        listen = "127.0.0.1:1"  # the command line says otherwise
        [journal]
        directory = "here"
        node = "told"
        [mfp]
        max_files = 2
        """
    )
    _, url = serve("--config", "f.toml")
    async with framehub.connect(url) as peer:
        assert (await peer.request("stock.price", "apple")).data["cents"] == 120
    assert json.loads((tmp_path / "here" / "node.json").read_text())["node"] == "told"
