"""What is done about a peer that is behind, told by a link that only writes it down."""

import pytest

from framehub.runtime.behind import HARD_BYTES, PROVOKED_BYTES, Behind
from framehub.runtime.link import AHEAD_BYTES


class Noted(Behind):
    def __init__(self, *, listening: bool) -> None:
        self._owner = None
        self._listening = listening
        self._max_sent = 1000
        self._patience = 30.0
        self.waiting = 0
        self.noted: list[str] = []

    def pause(self, why: str) -> None:
        self.noted.append(f"pause {why}")

    def resume(self, why: str) -> None:
        self.noted.append(f"resume {why}")

    def close(self, code: int, reason: str) -> None:
        self.noted.append(f"close {code} {reason}")

    def _waiting_bytes(self) -> int:
        return self.waiting


@pytest.mark.parametrize(
    ("waiting", "noted"),
    [
        (PROVOKED_BYTES, []),
        (PROVOKED_BYTES + 1, ["pause slow"]),
        (HARD_BYTES + 1000, ["pause slow"]),
        (HARD_BYTES + 1001, ["pause slow", "close 1008 the peer does not read"]),
    ],
)
def test_what_waits_is_bounded(waiting: int, noted: list[str]) -> None:
    link = Noted(listening=True)
    link.waiting = waiting
    link._guard()
    assert link.noted == noted


async def test_of_one_that_is_behind_little_more_is_read() -> None:
    link = Noted(listening=True)
    link._read_ahead(AHEAD_BYTES + 1)
    assert link.noted == []
    link.pause_writing()
    link._read_ahead(AHEAD_BYTES)
    assert link.noted == []
    link._read_ahead(1)
    link.resume_writing()
    link._read_ahead(AHEAD_BYTES + 1)
    assert link.noted == ["pause slow", "resume slow"]


async def test_a_client_reads_on() -> None:
    link = Noted(listening=False)
    link.pause_writing()
    link._read_ahead(AHEAD_BYTES + 1)
    link.waiting = PROVOKED_BYTES + 1
    link._guard()
    link.resume_writing()
    assert link.noted == []
