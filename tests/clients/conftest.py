"""What the clients' tests share."""

import fcntl
import hashlib

import pytest

from tests.clients.npm import CLIENT, npm


@pytest.fixture(scope="session")
def packages() -> None:
    """What package-lock.json names, installed once; whoever comes second waits."""
    lock_file = CLIENT / "package-lock.json"
    wanted = hashlib.sha256(lock_file.read_bytes()).hexdigest()
    stamp = CLIENT / "node_modules" / ".stamp"
    with lock_file.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != wanted:
            npm("ci")
            stamp.write_text(wanted)
