"""Where tables lie on disk, and how one whole set of them replaces another.

OUT/snapshots/<id>/<table>/date=.../*.parquet   one run's tables, never changed once they are whole
OUT/snapshots/<id>/manifest.json                what they rest on; written last, so its presence says "whole"
OUT/current -> snapshots/<id>                   replaced in one step
OUT/lock                                        held by the one run that writes here

A reader that resolved ``current`` before it moved still finds its snapshot: the last few are kept.
"""

import fcntl
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from framehub.errors import PipelineError

KEEP: Final = 3
MANIFEST: Final = "manifest.json"
CURRENT: Final = "current"


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Be the one run that writes to ``out``.

    Raises:
        PipelineError: another run is, or the directory cannot be made.
    """
    try:
        (out / "snapshots").mkdir(parents=True, exist_ok=True)
        fd = os.open(out / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as exc:
        raise PipelineError(f"cannot write tables to {out}: {exc.strerror}") from exc
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PipelineError(f"{out}: another run is writing these tables") from None
        yield
    finally:
        os.close(fd)


def begin(out: Path) -> Path:
    """A fresh directory for a run's tables; what failed runs left behind is removed first."""
    for leftover in _directories(out):
        if not (leftover / MANIFEST).exists():
            shutil.rmtree(leftover, ignore_errors=True)
    for link in out.glob(f".{CURRENT}-*"):
        link.unlink(missing_ok=True)
    snapshot = out / "snapshots" / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}Z-{uuid.uuid4().hex[:6]}"
    snapshot.mkdir()
    return snapshot


def commit(out: Path, snapshot: Path, manifest: dict[str, Any]) -> None:
    """Make the snapshot the current one: whole on disk first, then one rename."""
    for file in sorted(snapshot.rglob("*")):
        if file.name.endswith(".crc"):
            file.unlink()  # Spark's own sums, which some readers take for tables
        else:
            _sync(file)
    described = snapshot / f".{MANIFEST}"
    described.write_text(json.dumps(manifest, indent=2) + "\n")
    _sync(described)
    described.replace(snapshot / MANIFEST)
    _sync(snapshot)
    beside = out / f".{CURRENT}-{uuid.uuid4().hex[:6]}"
    beside.symlink_to(Path("snapshots") / snapshot.name, target_is_directory=True)
    beside.replace(out / CURRENT)
    _sync(out)
    for old in [path for path in _directories(out) if path != snapshot][: -(KEEP - 1)]:
        shutil.rmtree(old, ignore_errors=True)


def _directories(out: Path) -> list[Path]:
    """Snapshots, oldest first."""
    return sorted(path for path in (out / "snapshots").iterdir() if path.is_dir())


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
