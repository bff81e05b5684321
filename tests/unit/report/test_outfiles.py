import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from framehub.errors import PipelineError
from framehub.report.outfiles import INDEX, OutDirectory


def row(data: bytes, **more: Any) -> dict[str, Any]:
    return {"sha256": sha256(data).hexdigest(), "name": "../../x", "key": 1} | more


def test_a_whole_file_is_there_and_in_the_index(tmp_path: Path) -> None:
    with OutDirectory(tmp_path / "deep" / "out") as directory:
        file = directory.file("a-1-1", row(b"abcd"))
        file.write(b"ab")
        file.write(b"")
        file.write(b"cd")
        assert file.finish() is None
        file.abandon()
    out = tmp_path / "deep" / "out"
    assert (out / "a-1-1").read_bytes() == b"abcd"
    (line,) = (out / INDEX).read_text().splitlines()
    assert json.loads(line) == {"file": "a-1-1", **row(b"abcd")}


def test_what_is_not_as_it_should_be_does_not_stay(tmp_path: Path) -> None:
    with OutDirectory(tmp_path) as directory:
        wrong, missing, given_up = (directory.file(name, row(b"abcd")) for name in ("a", "b", "c"))
        wrong.write(b"abce")
        given_up.write(b"ab")
        assert "other bytes" in (wrong.finish() or "")
        assert "not in the journal" in (missing.finish() or "")
        given_up.abandon()
    assert [path.name for path in tmp_path.iterdir()] == [INDEX]
    assert (tmp_path / INDEX).read_text() == ""


def test_nothing_is_overwritten_and_no_link_followed(tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    out.mkdir()
    (out / "mine").write_bytes(b"keep")
    (out / "link").symlink_to(elsewhere)
    with OutDirectory(out) as directory:
        for name in ("mine", "link"):
            file = directory.file(name, row(b"new"))
            file.write(b"new")
            file.write(b"more")
            assert "already" in (file.finish() or "")
    assert (out / "mine").read_bytes() == b"keep"
    assert (out / "link").is_symlink()
    assert not elsewhere.exists()


def test_names_are_ours_and_each_is_used_once(tmp_path: Path) -> None:
    with OutDirectory(tmp_path) as directory:
        names = [
            directory.file(name, row(b"")).name for name in ("a-1-1", "a-1-1", "a-1-1", "../x", "a\0b", "")
        ]
    assert names == ["a-1-1", "a-1-1-2", "a-1-1-3", "file", "file-2", "file-3"]


def test_a_second_time_is_refused(tmp_path: Path) -> None:
    with OutDirectory(tmp_path):
        pass
    with pytest.raises(PipelineError, match="give another directory"), OutDirectory(tmp_path):
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(PipelineError, match="cannot write to"), OutDirectory(tmp_path / "file"):
        pass


def test_a_disk_that_takes_nothing_is_one_line(tmp_path: Path) -> None:
    with OutDirectory(tmp_path) as directory:
        file = directory.file("a", row(b"abcd"))
        file.write(b"ab")
        (tmp_path / "a").unlink()
        with pytest.raises(PipelineError, match="cannot write"):
            file.write(b"cd")
