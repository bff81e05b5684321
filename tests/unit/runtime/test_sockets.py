"""Listening sockets, and the files of Unix sockets."""

import socket
import stat
from pathlib import Path

import pytest

from framehub.errors import ConfigError
from framehub.runtime.address import parse
from framehub.runtime.sockets import bind


async def test_a_free_port_is_found_and_told() -> None:
    bound = await bind(parse("tcp://127.0.0.1:0"))
    port = bound.port
    with socket.create_connection(("127.0.0.1", port)):
        pass
    bound.release()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


async def test_every_address_of_a_host_has_the_same_port() -> None:
    bound = await bind(parse("tcp://localhost:0"))
    assert {listening.getsockname()[1] for listening in bound.sockets} == {bound.port}
    bound.release()


async def test_ipv6() -> None:
    bound = await bind(parse("tcp://[::1]:0"))
    assert bound.sockets[0].getsockname()[:2] == ("::1", bound.port)
    bound.release()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("tcp://203.0.113.7:0", "Cannot assign requested address"),
        ("tcp://no.such.host.invalid:1", "cannot listen on tcp://no.such.host.invalid:1: "),
        (f"tcp://{'a' * 70}.invalid:1", "cannot listen on tcp://a"),
        ("unix:///no/such/directory/hub", "No such file or directory"),
        (f"unix:///tmp/{'x' * 120}", "path too long"),
    ],
)
async def test_an_address_that_cannot_be_had_is_a_clear_error(url: str, reason: str) -> None:
    with pytest.raises(ConfigError, match="cannot listen on") as caught:
        await bind(parse(url))
    assert reason in str(caught.value)


async def test_a_taken_port_is_a_clear_error() -> None:
    bound = await bind(parse("tcp://127.0.0.1:0"))
    with pytest.raises(ConfigError, match="Address already in use"):
        await bind(parse(f"tcp://127.0.0.1:{bound.port}"))
    bound.release()


async def test_a_unix_socket_is_only_for_its_owner_and_goes_with_it(tmp_path: Path) -> None:
    """[MFP-9.4.7]"""
    path = tmp_path / "hub.sock"
    bound = await bind(parse(f"unix://{path}"))
    mode = path.stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600
    assert bound.port == 0
    bound.release()
    assert not path.exists()


async def test_a_socket_that_somebody_listens_at_is_left_alone(tmp_path: Path) -> None:
    """[MFP-9.4.7]"""
    url = f"unix://{tmp_path / 'hub.sock'}"
    bound = await bind(parse(url))
    with pytest.raises(ConfigError, match="somebody listens there"):
        await bind(parse(url))
    bound.release()


async def test_a_socket_that_nobody_listens_at_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "hub.sock"
    with socket.socket(socket.AF_UNIX) as crashed:
        crashed.bind(str(path))
    bound = await bind(parse(f"unix://{path}"))
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    bound.release()


async def test_a_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    """[MFP-9.4.7]"""
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    with pytest.raises(ConfigError, match="it is no socket"):
        await bind(parse(f"unix://{path}"))
    assert path.read_text() == "mine"


async def test_another_process_socket_in_the_same_place_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "hub.sock"
    bound = await bind(parse(f"unix://{path}"))
    path.rename(tmp_path / "moved")  # keeps its inode from being used again
    second = await bind(parse(f"unix://{path}"))
    bound.release()
    assert path.exists()
    second.release()
    bound.release()
    assert not path.exists()
