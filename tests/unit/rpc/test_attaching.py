from pathlib import Path
from typing import Any

import pytest

from framehub import File
from framehub.errors import DecodingError, EncodingError
from framehub.rpc.attaching import as_attached, bytes_of, gathered, handed_out
from framehub.rpc.block import Attached
from framehub.rpc.signature import FileKind

A, B = File(b"a", "a.txt", "text/plain"), Attached(9, b"b")


def test_files_get_the_keys_of_their_places() -> None:
    """[RPC-7.9]"""
    wanted: list[tuple[str, FileKind, Any]] = [
        ("x", "file", A),
        ("y", "optional", None),
        ("z", "files", [B, A]),
    ]
    assert gathered(wanted, bytes_of) == (
        Attached(0, b"a", "a.txt", "text/plain"),
        Attached(2, b"b"),
        Attached(3, b"a", "a.txt", "text/plain"),
    )


@pytest.mark.parametrize(
    ("kind", "value", "why"),
    [
        ("file", None, "x: expected a File, got NoneType"),
        ("optional", b"a", "x: expected a File, got bytes"),
        ("files", A, "x: expected a list of Files, got File"),
        ("files", [A, 1], "x[1]: expected a File, got int"),
        ("file", File(Path("a")), "x: File("),
    ],
)
def test_what_is_no_file_is_refused(kind: FileKind, value: Any, why: str) -> None:
    with pytest.raises(EncodingError) as caught:
        gathered([("x", kind, value)], bytes_of)
    assert caught.value.message.startswith(why)


def test_whoever_can_read_a_path_says_how() -> None:
    assert gathered([("x", "file", File(Path("a.txt")))], lambda _: b"read")[0].data == b"read"


def test_files_go_to_their_places() -> None:
    wanted: list[tuple[str, FileKind]] = [("x", "file"), ("y", "optional"), ("z", "files")]
    came = [Attached(3, b"d"), Attached(0, b"a", "n", "t"), Attached(2, b"c")]
    assert handed_out(wanted, came, as_attached) == [
        Attached(0, b"a", "n", "t"),
        None,
        [Attached(0, b"d"), Attached(0, b"c")],
    ]


def test_a_missing_file_and_one_too_many_are_refused() -> None:
    """[RPC-7.9]"""
    with pytest.raises(DecodingError, match="x: file 0 is missing"):
        handed_out([("x", "file")], [], as_attached)
    with pytest.raises(DecodingError, match="file 1 has no place here"):
        handed_out([("x", "file")], [Attached(0, b""), Attached(1, b"")], as_attached)
    with pytest.raises(DecodingError, match="file 0 has no place here"):
        handed_out([], [Attached(0, b"")], as_attached)
