"""What a cluster is sent can be imported from where it lands."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from framehub.errors import PipelineError
from framehub.pipeline.shipping import pack, ship


def test_the_packages_are_whole(tmp_path: Path) -> None:
    packed = pack(tmp_path)
    names = zipfile.ZipFile(packed).namelist()
    assert {"framehub/__init__.py", "framehub/pipeline/source.py"} <= set(names)
    assert "pyspark_framehub/__init__.py" in names
    imports = "import framehub.journal.reader as r; print(r.__file__)"
    program = f"import sys; sys.path.insert(0, {str(packed)!r}); {imports}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(packed))


def test_the_same_modules_give_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert pack(tmp_path / "a").read_bytes() == pack(tmp_path / "b").read_bytes()


def test_without_spark_nothing_is_sent() -> None:
    with pytest.raises(PipelineError, match="does not run"):
        ship(None)
