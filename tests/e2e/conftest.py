"""The installed command line, in processes of its own."""

import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias
from weakref import WeakKeyDictionary

import pytest

Cli: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]
Serve: TypeAlias = Callable[..., tuple["subprocess.Popen[str]", str]]
FRAMEHUB = str(Path(sys.executable).with_name("framehub"))
FREE = "127.0.0.1:0"
PORTS = ("--listen", FREE, "--services", FREE, "--clients", FREE, "--workers", FREE, "--admin", "off")
ENV = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1"}


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Run ``framehub ARGS`` in a directory of its own."""

    def run(*args: str, stdin: str | None = None) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [FRAMEHUB, *args],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=ENV,
            timeout=600,
            check=False,
        )

    return run


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Start ``framehub serve ARGS``; its process and its URL. Whatever is still up at the end is ended."""
    with serving(tmp_path) as start:
        yield start


_lines: WeakKeyDictionary["subprocess.Popen[str]", str] = WeakKeyDictionary()


def serving_line(process: "subprocess.Popen[str]") -> str:
    """What a gateway said when it was ready."""
    return _lines[process]


@contextmanager
def serving(folder: Path) -> Iterator[Serve]:
    """The same, for gateways that several tests share."""
    started: list[subprocess.Popen[str]] = []

    def start(*args: str) -> tuple["subprocess.Popen[str]", str]:
        process = subprocess.Popen(
            [FRAMEHUB, "serve", *PORTS, *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=ENV,
        )
        started.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("ready "), process.communicate()
        _lines[process] = line
        return process, line.split("mfp=")[1].split()[0]

    try:
        yield start
    finally:
        for process in started:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.communicate()


def wait_for_read(pid: int) -> None:
    """Until the process has read what is in its stdin."""
    until = time.monotonic() + 20
    with Path(f"/proc/{pid}/fd/0").open("rb", buffering=0) as pipe:
        while struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]:
            assert time.monotonic() < until
            time.sleep(0.02)
