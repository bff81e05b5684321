"""Dialogs as data, played with the proxy's machine: every message as written, in order, none beside."""

from collections import defaultdict, deque
from hashlib import blake2b
from typing import Any

from framehub.rpc.proxy import Proxy
from framehub.rpc.settings import ProxySettings
from tests.conformance.rpc import vectors
from tests.conformance.rpc.vectors import unpacked

LOOKS = 4
"""How often in a second the proxy looks at its clock."""


class Play:
    """A proxy, its clock, and peers that hear what it says."""

    def __init__(self, case: Any, key: bytes) -> None:
        self.case = case
        self.now = -case.age
        self.proxy = Proxy(
            ProxySettings(**case.settings),
            key=key,
            now=self.now,
            missing=[case.identity(name) for name in case.missing],
            begun_before=[bytes.fromhex(wid) for wid in case.begun],
        )
        self.heard: dict[tuple[str, bytes], deque[list[bytes]]] = defaultdict(deque)
        self.state: dict[tuple[str, bytes], str] = {}
        self._wait(0.0)

    def step(self, step: Any) -> None:
        if step.hears is not None:
            side, name = step.peer
            queue = self.heard[side, self.case.identity(name)]
            assert queue, f"{name} hears nothing"
            assert queue.popleft() == unpacked(step.hears)
            return
        self.nothing_is_left()
        if step.now is not None:
            self._wait(step.now)
        elif step.asleep_until is not None:
            self.now = step.asleep_until
            self._look()
        elif step.says is not None:
            self._say(step.peer, unpacked(step.says))
        else:
            self._do(step.peer, step.does)

    def nothing_is_left(self) -> None:
        left = {peer: list(queue) for peer, queue in self.heard.items() if queue}
        assert left == {}

    def _wait(self, until: float) -> None:
        while self.now < until:
            self.now = min(until, self.now + 1 / LOOKS)
            self._look()

    def _look(self) -> None:
        self.proxy.tick(self.now)
        self._deliver()

    def _say(self, peer: tuple[str, str], parts: list[bytes]) -> None:
        side, name = peer
        says = self.proxy.client_says if side == "client" else self.proxy.worker_says
        says(self.case.identity(name), parts, self.now)
        self._deliver()

    def _do(self, peer: tuple[str, str], does: str) -> None:
        side, name = peer
        self.state[side, self.case.identity(name)] = does
        if does == "vanishes":
            self.proxy.worker_disconnected(self.now)
            self._deliver()

    def _deliver(self) -> None:
        """Hand out what the proxy says, and tell it what could not be sent, until it has said all."""
        proxy = self.proxy
        while proxy.to_clients or proxy.to_workers:
            lost: dict[str, list[Any]] = {"vanishes": [], "blocks": []}
            for item in proxy.to_workers:
                self._send("worker", item, lost)
            proxy.to_workers.clear()
            untold: dict[str, list[Any]] = {"blocks": []}
            for item in proxy.to_clients:
                self._send("client", item, untold)
            proxy.to_clients.clear()
            proxy.undelivered(lost["vanishes"], lost["blocks"], self.now)
            proxy.untold(untold["blocks"])

    def _send(self, side: str, item: Any, lost: dict[str, list[Any]]) -> None:
        identity, parts, _ = item
        state = self.state.get((side, identity), "reads")
        if state == "reads":
            self.heard[side, identity].append(list(parts))
        else:
            lost[state].append(item)


def test_the_proxy_says_what_the_dialogs_say(dialog_case: Any) -> None:
    play = Play(dialog_case, bytes.fromhex(vectors.dialogs().key))
    for at, step in enumerate(dialog_case.steps):
        try:
            play.step(step)
        except AssertionError as exc:
            raise AssertionError(f"step {at}, {step}: {exc}") from exc
    play.nothing_is_left()


def test_dialogs_without_a_clock_are_those_for_sockets() -> None:
    """Sockets cannot be told what time it is, nor made to block."""
    for case in vectors.dialogs().cases:
        moves = any(step.now is not None or step.asleep_until is not None for step in case.steps)
        breaks = any(step.does is not None for step in case.steps)
        assert not (case.sockets and (moves or breaks or case.age != 60 or case.missing or case.begun)), (
            case.name
        )


def test_ids_towards_workers_are_made_as_the_file_says() -> None:
    """[RPC-4.1] A keyed hash over the client's identity and id: anybody can make the dialogs' ids again."""
    file = vectors.dialogs()
    for case in file.cases:
        made = set()
        for step in case.steps:
            if step.client is not None and step.says is not None and len(step.says) == 4:
                id_ = unpacked(step.says)[1]
                identity = id_[:40] if id_.startswith(b"group-v1") else case.identity(step.client)
                data = bytes([len(identity)]) + identity + id_
                made.add(blake2b(data, key=bytes.fromhex(file.key), digest_size=16).digest())
        given = {
            unpacked(step.hears)[1]
            for step in case.steps
            if step.worker is not None and step.hears is not None and step.hears[0] == "QUERY"
        }
        assert given <= made, case.name
