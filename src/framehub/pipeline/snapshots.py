"""Where tables lie on disk, and how one whole set of them replaces another.

OUT/snapshots/<id>/<table>/date=.../*.parquet   tables at one position of the journal, never changed
OUT/snapshots/<id>/state/                       what the next step needs to go on from there
OUT/snapshots/<id>/manifest.json                what they rest on; written last, so its presence says "whole"
OUT/current -> snapshots/<id>                   replaced in one step
OUT/lock                                        held by the one run that writes here

A file that the next snapshot keeps is linked into it, not copied. A reader that resolved ``current`` before
it moved still finds its snapshot: the last few are kept.
"""

import fcntl
import json
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from framehub.errors import PipelineError
from framehub.private import FILE_MODE, NotAFile, make_directory, new_file, open_file, shared

KEEP: Final = 3
"""Snapshots kept whatever their age."""
KEEP_SECONDS: Final = 600.0
"""And all that are younger: somebody may be reading them."""
MANIFEST: Final = "manifest.json"
CURRENT: Final = "current"
STAGED: Final = ".staged"
"""Inside a snapshot that is being made: where Spark writes."""


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Be the one run that writes to ``out``.

    Raises:
        PipelineError: another run is, or the directory cannot be made, or others can write there.
    """
    try:
        make_directory(out / "snapshots")
        if (why := shared(out, out / "snapshots")) is not None:
            raise PipelineError(why)
        fd = open_file(out / "lock", os.O_RDWR | os.O_CREAT)
    except NotAFile as exc:
        raise PipelineError(f"{out / 'lock'}: {exc.strerror}") from exc
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


def load(out: Path) -> tuple[Path, dict[str, Any]] | None:
    """The current snapshot and its manifest; None if there is none.

    Raises:
        PipelineError: there is one, but its manifest cannot be read.
    """
    snapshot = (out / CURRENT).resolve()
    try:
        manifest = json.loads((snapshot / MANIFEST).read_bytes())
    except FileNotFoundError:
        if (out / CURRENT).is_symlink():
            raise PipelineError(
                f"{out / CURRENT} leads to tables that are not there: make them anew with --fresh"
            ) from None
        return None
    except (OSError, ValueError) as exc:
        raise PipelineError(f"{snapshot / MANIFEST} cannot be read: {exc}") from exc
    return snapshot, manifest


def begin(out: Path) -> Path:
    """A fresh directory for a run's tables; what failed runs left behind is removed first."""
    for leftover in _directories(out):
        if not (leftover / MANIFEST).exists():
            shutil.rmtree(leftover, ignore_errors=True)
    for link in out.glob(f".{CURRENT}-*"):
        link.unlink(missing_ok=True)
    snapshot = out / "snapshots" / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}Z-{uuid.uuid4().hex[:6]}"
    make_directory(snapshot)
    return snapshot


def keep(file: Path, target: Path) -> None:
    """Have a file of an earlier snapshot in this one too; where the disk knows no links, a copy."""
    make_directory(target.parent)
    try:
        os.link(file, target)
    except OSError:
        with new_file(target) as copy, file.open("rb") as source:
            shutil.copyfileobj(source, copy)
        _sync(target)


def take(staged: Path, target: Path) -> None:
    """Move a file that Spark wrote to its place, whole on disk."""
    make_directory(target.parent)
    staged.chmod(FILE_MODE)  # whoever wrote it has an umask of his own
    _sync(staged)
    staged.replace(target)


def commit(out: Path, snapshot: Path, manifest: dict[str, Any], *, publish: bool = True) -> None:
    """Make the snapshot whole on disk, then, by one rename, the current one; or not yet."""
    shutil.rmtree(snapshot / STAGED, ignore_errors=True)
    for path in sorted(snapshot.rglob("*")):
        if path.is_dir() or "state" in path.relative_to(snapshot).parts:
            _sync(path)
    described = snapshot / f".{MANIFEST}"
    with new_file(described) as file:
        file.write(json.dumps(manifest, indent=1).encode() + b"\n")
    _sync(described)
    described.replace(snapshot / MANIFEST)
    _sync(snapshot)
    _sync(snapshot.parent)
    if not publish:
        return
    beside = out / f".{CURRENT}-{uuid.uuid4().hex[:6]}"
    beside.symlink_to(Path("snapshots") / snapshot.name, target_is_directory=True)
    beside.replace(out / CURRENT)
    _sync(out)


def is_current(out: Path, snapshot: Path) -> bool:
    """Whether readers find this one."""
    return (out / CURRENT).resolve() == snapshot.resolve()


def sweep(out: Path, snapshot: Path) -> None:
    """Remove what was replaced long ago, counted back from this one, and is not held."""
    every = [path for path in _directories(out) if path.name <= snapshot.name]
    for old, following in list(pairwise(every))[: -(KEEP - 1)]:
        if is_current(out, old) or _age(following) <= KEEP_SECONDS or _is_held(old):
            continue
        (old / MANIFEST).unlink(missing_ok=True)  # should we die now, the next run removes the rest
        shutil.rmtree(old, ignore_errors=True)


@contextmanager
def held(snapshot: Path) -> Iterator[None]:
    """Keep a snapshot from being removed, however long one reads in it."""
    fd = os.open(snapshot / MANIFEST, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH)
        yield
    finally:
        os.close(fd)


def _is_held(snapshot: Path) -> bool:
    try:
        fd = os.open(snapshot / MANIFEST, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _age(snapshot: Path) -> float:
    """Seconds since it was made, and the one before it replaced."""
    try:
        return time.time() - (snapshot / MANIFEST).stat().st_mtime
    except OSError:
        return 0.0


def _directories(out: Path) -> list[Path]:
    """Snapshots, oldest first."""
    return sorted(path for path in (out / "snapshots").iterdir() if path.is_dir())


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
