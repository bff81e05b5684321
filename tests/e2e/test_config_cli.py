"""Settings in a file and in the environment, by the installed command."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

import framehub

from .conftest import FRAMEHUB, Cli, Serve

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
    assert refused.stderr == (
        "Error: f.toml: [mfp] request_timout is no setting; did you mean request_timeout?"
        " (and 1 more: framehub config check)\n"
    )


def test_a_right_file_is_said_to_be(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text(cli("config", "example").stdout)
    done = cli("config", "check", "f.toml")
    assert (done.returncode, done.stdout) == (0, "")


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
