import io
from pathlib import Path

import pytest

from framehub.errors import EncodingError
from framehub.runtime.files import File
from framehub.runtime.function_files import read_whole


def test_all_bytes_wherever_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"on disk")
    assert read_whole(File(b"here")) == b"here"
    assert read_whole(File(path)) == b"on disk"
    assert read_whole(File(io.BytesIO(b"open file"))) == b"open file"


@pytest.mark.parametrize("size", [10, 11])
def test_a_file_larger_than_a_message_is_refused(tmp_path: Path, size: int) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(size))
    for file in (File(path), File(io.BytesIO(bytes(size)))):
        if size <= 10:
            assert len(read_whole(file, 10)) == size
        else:
            with pytest.raises(EncodingError, match="over 10 bytes"):
                read_whole(file, 10)
