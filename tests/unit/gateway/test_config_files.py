import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from framehub.errors import JournalError
from framehub.gateway.config_files import shut_out, unreadable
from framehub.gateway.settings import GatewaySettings
from framehub.journal.writer import JournalWriter
from framehub.runtime.curve import write_keys
from framehub.runtime.tokens import add


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_keys(tmp_path / "key")
    add(tmp_path / "tokens", user=1, name="one")
    (tmp_path / "nonsense").write_text("nonsense\n")
    (tmp_path / "none").write_text("# nobody yet\n")
    return tmp_path


RIGHT = {
    ("gateway", "static"): ".",
    ("gateway", "tokens"): "tokens",
    ("gateway", "curve_key"): "key",
    ("gateway", "service_keys"): "key.pub",
    ("gateway", "client_keys"): "key.pub",
    ("gateway", "worker_keys"): "key.pub",
    ("admin", "tokens"): "tokens",
}


@pytest.mark.parametrize(("place", "name"), RIGHT.items())
def test_what_is_not_there_or_has_something_else_in_it(
    folder: Path, place: tuple[str, str], name: str
) -> None:
    assert unreadable(place, folder / name) == ""
    assert unreadable(place, None) == ""
    assert "No such file or directory" in unreadable(place, folder / "nowhere")
    assert unreadable(place, folder / "nonsense")


def test_a_journal_may_be_new_and_is_a_directory(folder: Path) -> None:
    assert unreadable(("journal", "directory"), folder / "new") == ""
    assert unreadable(("journal", "directory"), folder) == ""
    assert unreadable(("journal", "directory"), folder / "tokens") == "it is no directory"


@pytest.mark.parametrize("bits", [0o775, 0o757, 0o1777])
def test_a_journal_is_nowhere_where_others_can_write(folder: Path, bits: int) -> None:
    folder.chmod(bits)
    why = unreadable(("journal", "directory"), folder)
    assert why == f"{folder}: others can write there: chmod go-w {folder}"
    with pytest.raises(JournalError, match=re.escape(why)):
        JournalWriter(folder)
    folder.chmod(0o755)
    assert unreadable(("journal", "directory"), folder) == ""


def test_other_settings_name_no_files() -> None:
    assert unreadable(("gateway", "app"), "a:b") == ""


def test_a_file_without_keys_lets_nobody_in(folder: Path) -> None:
    public = folder / "key.pub"
    told = GatewaySettings(
        curve_key=folder / "key", service_keys=public, client_keys=public, worker_keys=public
    )
    assert list(shut_out(told)) == []
    assert list(shut_out(GatewaySettings())) == []
    (warning,) = shut_out(replace(told, client_keys=folder / "none"))
    assert warning == (
        f"[gateway] client_keys: there is no key in {folder / 'none'}, so no client can connect"
    )


def test_a_pipe_is_left_to_the_gateway_which_reads_it_once(folder: Path) -> None:
    pipe = folder / "pipe"
    os.mkfifo(pipe, 0o600)
    for name in ("curve_key", "service_keys", "client_keys", "worker_keys"):
        assert unreadable(("gateway", name), pipe) == ""
    assert list(shut_out(GatewaySettings(curve_key=pipe, client_keys=pipe, worker_keys=pipe))) == []
    assert "it is no file" in unreadable(("gateway", "tokens"), pipe)
