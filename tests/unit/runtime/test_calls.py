from pathlib import Path

from framehub.runtime.calls import File, Reply


def test_a_file_from_disk_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"hello")
    assert File.read(tmp_path / "a.txt", type="text/plain") == File(b"hello", "a.txt", "text/plain")


def test_a_reply_has_no_files_unless_given() -> None:
    assert Reply(1) == Reply(1, {}, None)
