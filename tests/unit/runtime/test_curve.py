"""Keys, and the files they are kept in."""

import stat
from pathlib import Path

import pytest

from framehub.errors import ConfigError
from framehub.runtime.curve import (
    CurveClient,
    CurveServer,
    new_keys,
    public_of,
    read_public,
    read_secret,
    write_keys,
)


def test_a_pair_belongs_together() -> None:
    public, secret = new_keys()
    assert public_of(secret) == public
    assert len(public) == len(secret) == 40
    assert new_keys() != new_keys()


@pytest.mark.parametrize("key", ["", "x" * 39, "x" * 41, "~" * 40, "ключ" * 10, "#" * 40])
def test_what_is_no_key_is_refused_without_being_repeated(key: str) -> None:
    public, secret = new_keys()
    for make in (
        lambda: public_of(key),
        lambda: CurveServer(key, [public]),
        lambda: CurveServer(secret, [key]),
        lambda: CurveClient(key, secret),
        lambda: CurveClient(public, key),
    ):
        with pytest.raises(ConfigError, match=r"no (public|secret) key: want 40 letters of Z85") as caught:
            make()
        assert not key or key not in str(caught.value)


def test_secrets_are_not_shown() -> None:
    public, secret = new_keys()
    for one in (CurveServer(secret, [public]), CurveClient(public, secret)):
        assert secret not in repr(one)
        assert secret not in str(one)
        assert public in repr(one)


def test_keys_in_files(tmp_path: Path) -> None:
    path = tmp_path / "server.key"
    public = write_keys(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert public_of(read_secret(path)) == public
    assert read_public(tmp_path / "server.key.pub") == [public]


def test_keys_are_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "server.key"
    write_keys(path)
    before = path.read_text()
    with pytest.raises(ConfigError, match=f"cannot write keys to {path}: File exists"):
        write_keys(path)
    assert path.read_text() == before
    other = tmp_path / "other.key"
    (tmp_path / "other.key.pub").touch()
    with pytest.raises(ConfigError, match=r"other\.key\.pub: File exists"):
        write_keys(other)
    assert not other.exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644, 0o610])
def test_a_secret_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "server.key"
    write_keys(path)
    path.chmod(mode)
    with pytest.raises(ConfigError) as caught:
        read_secret(path)
    assert str(caught.value) == f"others can read the secret key in {path}: chmod 600 {path}"


def test_a_file_without_a_key(tmp_path: Path) -> None:
    path = tmp_path / "server.key"
    with pytest.raises(ConfigError, match=r"cannot read the key in .*: No such file"):
        read_secret(path)
    path.touch(mode=0o600)
    with pytest.raises(ConfigError, match=f"no secret key in {path}: want 40 letters of Z85, not 0"):
        read_secret(path)
    path.write_bytes(b"\xff" * 40)
    with pytest.raises(ConfigError, match="it is no text"):
        read_secret(path)


def test_a_list_of_public_keys(tmp_path: Path) -> None:
    path = tmp_path / "allowed"
    ann, bob = new_keys()[0], new_keys()[0]
    path.write_text(f"# who may ask\n{ann}  Ann's laptop\n\n   \n#comment\n{bob}\n")
    assert read_public(path) == [ann, bob]
    path.write_text(f"{ann}\nnonsense\n")
    with pytest.raises(ConfigError, match=f"no public key in {path}"):
        read_public(path)
    with pytest.raises(ConfigError, match=r"cannot read the keys in .*: Is a directory"):
        read_public(tmp_path)
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="it is no text"):
        read_public(path)
