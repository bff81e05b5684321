import json
import os
from pathlib import Path

import pytest

from framehub.errors import ConfigError, JournalError
from framehub.rpc.placing import MAX_BEGUN
from framehub.runtime import rpc_state
from framehub.runtime.rpc_state import KEY_BYTES, ProxyState


def wid(number: int) -> bytes:
    return number.to_bytes(16, "big")


def test_a_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    """[RPC-4.1]"""
    first = ProxyState(tmp_path / "rpc")
    first.close()
    second = ProxyState(tmp_path / "rpc")
    assert first.key == second.key
    assert len(first.key) == KEY_BYTES
    assert (tmp_path / "rpc" / "key").stat().st_mode & 0o077 == 0
    second.close()


def test_without_a_directory_nothing_outlives_the_process() -> None:
    state = ProxyState(None)
    state.note([wid(1)])
    state.save_roster([b"w"])
    assert state.quarantine(wid(1), "f", b"", 3) is None
    state.close()
    assert ProxyState(None).key != state.key
    assert (ProxyState(None).roster, ProxyState(None).begun) == ([], [])


def test_workers_and_begun_queries_are_known_again(tmp_path: Path) -> None:
    """[RPC-4.1.3]"""
    state = ProxyState(tmp_path)
    state.save_roster([b"one", b"two"])
    state.note([wid(1), wid(2)])
    state.note([wid(3)])
    state.close()
    again = ProxyState(tmp_path)
    assert again.roster == [b"one", b"two"]
    assert again.begun == [wid(1), wid(2), wid(3)]
    again.close()


def test_a_note_that_was_cut_short_costs_only_itself(tmp_path: Path) -> None:
    state = ProxyState(tmp_path)
    state.note([wid(1)])
    state.close()
    with (tmp_path / "begun-0").open("ab") as file:
        file.write(b"torn")
    again = ProxyState(tmp_path)
    assert again.begun == [wid(1)]
    again.note([wid(2)])
    again.close()
    third = ProxyState(tmp_path)
    assert third.begun == [wid(1), wid(2)]
    third.close()


def test_begun_queries_are_bounded_and_the_newest_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc_state, "MAX_BEGUN", 4)
    state = ProxyState(tmp_path)
    for number in range(1, 30):
        state.note([wid(number)])
    state.close()
    assert sum(file.stat().st_size for file in tmp_path.glob("begun-*")) <= 2 * 6 * 16
    again = ProxyState(tmp_path)
    assert again.begun == [wid(number) for number in range(26, 30)]
    again.close()
    assert MAX_BEGUN > 4


def test_two_proxies_do_not_share_a_directory(tmp_path: Path) -> None:
    state = ProxyState(tmp_path)
    with pytest.raises(ConfigError, match="another proxy uses it"):
        ProxyState(tmp_path)
    state.close()
    ProxyState(tmp_path).close()


@pytest.mark.parametrize(
    ("name", "content", "why"), [("key", b"short", "32 bytes"), ("roster", b"zz", "hex")]
)
def test_a_file_that_is_not_ours_is_refused(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    ProxyState(tmp_path).close()
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=why):
        ProxyState(tmp_path)


def test_a_place_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be used"):
        ProxyState(tmp_path / "file")


def test_what_cannot_be_written_down_is_said(tmp_path: Path) -> None:
    state = ProxyState(tmp_path)
    assert state._begun is not None
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, state._begun)
    os.close(full)
    with pytest.raises(JournalError, match="No space left"):
        state.note([wid(1)])
    state.close()


def test_a_roster_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    state = ProxyState(tmp_path / "rpc")
    (tmp_path / "rpc" / "roster.new").mkdir()
    with pytest.raises(JournalError, match="cannot be written"):
        state.save_roster([b"w"])
    state.close()


def test_poison_is_kept_for_people_but_not_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc_state, "_MOST_POISON", 2)
    state = ProxyState(tmp_path)
    place = state.quarantine(wid(1), "burn", b"argument", 3)
    assert place is not None
    assert b'"burn"' in place.read_bytes()
    assert place.with_suffix(".bin").read_bytes() == b"argument"
    assert state.quarantine(wid(1), "burn", b"argument", 3) is None  # it is there already
    assert state.quarantine(wid(2), "burn", b"", 3) is not None
    assert state.quarantine(wid(3), "burn", b"", 3) is None
    state.close()


def test_arguments_that_are_not_recorded_are_not_written_down_with_poison_either(tmp_path: Path) -> None:
    state = ProxyState(tmp_path, keeps=lambda function: function == "burn")
    kept, left_out = (
        state.quarantine(wid(n), name, b"argument", 3) for n, name in ((1, "burn"), (2, "login"))
    )
    assert kept is not None
    assert left_out is not None
    assert kept.with_suffix(".bin").read_bytes() == b"argument"
    assert json.loads(left_out.read_bytes()) == {"function": "login", "deaths": 3, "argument_bytes": 8}
    assert not left_out.with_suffix(".bin").exists()
    state.close()
