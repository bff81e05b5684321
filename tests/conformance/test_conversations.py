"""Conversations as data, replayed with real connections: every byte and event as written, none beside."""

import math
import re
from collections import deque
from typing import Any

import pytest
from msgspec import UNSET, structs

from framehub import errors
from framehub.codes import Service
from framehub.errors import LocalProtocolError, RemoteProtocolError, StreamAborted
from framehub.mfp import plain
from framehub.mfp.checksum import Checksums
from framehub.mfp.connection import Connection
from framehub.mfp.events import Event
from framehub.mfp.settings import Settings

CLOCKED = {"request", "ping"}
QUIET = {"keepalive": math.inf}
"""No ping comes by itself, unless a case says so."""
OTHER = {"A": "B", "B": "A"}


def told(event: Event) -> dict[str, Any]:
    """An event as the vectors write it."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()
    value: dict[str, Any] = {"type": name}
    for field, content in structs.asdict(event).items():
        if field == "frame":
            value[field] = plain.to_plain(content)
        elif field == "left_out":
            value |= {field: [list(entry) for entry in content]} if content else {}
        else:
            value[field] = content.name.lower() if isinstance(content, Service) else content
    return value


class Replay:
    """Two sides and the wire between them; a side written by hand has no machine."""

    def __init__(self, case: Any, hands: set[str]) -> None:
        self.now = 0.0
        checksums = Checksums(case.checksum.mode, case.checksum.algorithm)
        self.machines = {
            side: Connection(
                Settings(
                    checksums=checksums,
                    verify_always=case.verify_always,
                    **QUIET | case.settings.get(side, {}),
                ),
                first_id=case.first_id.get(side, 1),
            )
            for side in "AB"
            if side not in hands
        }
        self.wire: dict[str, deque[bytes]] = {side: deque() for side in self.machines}
        self.seen: dict[str, deque[dict[str, Any]]] = {side: deque() for side in self.machines}
        self.refused: dict[str, deque[RemoteProtocolError]] = {side: deque() for side in self.machines}

    def step(self, step: Any) -> None:
        if step.now is not None:
            self.now = step.now
            for side, machine in self.machines.items():
                self.seen[side].extend(told(event) for event in machine.tick(self.now))
        elif step.sends is not None:
            self._send(step.side, bytes.fromhex(step.sends))
        elif step.side in self.machines:
            self._look(step)
        for side, machine in self.machines.items():
            self.wire[side].extend(sent.data for sent in machine.drain())

    def _look(self, step: Any) -> None:
        if step.does is not None:
            self._do(step)
        elif step.sees is not None:
            assert self.seen[step.side].popleft() == step.sees
        else:
            refusal = self.refused[step.side].popleft()
            assert type(refusal) is getattr(errors, step.error)
            assert step.refuses in str(refusal)

    def _do(self, step: Any) -> None:
        arguments = dict(step.with_)
        if "payload" in arguments:
            arguments["payload"] = arguments["payload"].encode()
        if "data" in arguments:
            arguments["data"] = bytes.fromhex(arguments["data"])
        if "expected" in arguments:
            arguments["expected"] = tuple(arguments["expected"])
        if "id" in arguments:
            arguments["id_"] = arguments.pop("id")
        if step.does in CLOCKED:
            arguments["now"] = self.now
        method = getattr(self.machines[step.side], step.does)
        if step.fails is not None:
            with pytest.raises((LocalProtocolError, StreamAborted), match=step.fails):
                method(**arguments)
            return
        result = method(**arguments)
        assert step.gives is UNSET or result == step.gives

    def _send(self, side: str, data: bytes) -> None:
        if side in self.machines:
            assert self.wire[side].popleft().hex() == data.hex()
        receiver = OTHER[side]
        if receiver in self.machines:
            try:
                event = self.machines[receiver].receive(data, self.now).event
            except RemoteProtocolError as refusal:
                self.refused[receiver].append(refusal)
            else:
                self.seen[receiver].extend([told(event)] if event is not None else [])

    def end(self, case: Any) -> None:
        for side, machine in self.machines.items():
            assert not self.wire[side]
            assert not self.seen[side]
            assert not self.refused[side]
            assert machine.pending == case.pending.get(side, machine.pending)
            assert machine.ignored == case.ignored.get(side, machine.ignored)
            machine.close()
            assert machine.pending == 0


def play(case: Any, hands: set[str]) -> None:
    replay = Replay(case, hands)
    for step in case.steps:
        replay.step(step)
    replay.end(case)


def test_every_conversation_goes_as_written(conversation_case: Any) -> None:
    play(conversation_case, set(conversation_case.hands))


@pytest.mark.parametrize("by_hand", ["A", "B"])
def test_one_machine_alone_does_the_same(conversation_case: Any, by_hand: str) -> None:
    """Against bytes that came from somewhere else, each side behaves as it does against its like."""
    if not conversation_case.hands:
        play(conversation_case, {by_hand})
