"""Plays a conversation with a hub's machine: every frame as written, in order, none beside."""

from collections import defaultdict, deque
from typing import Any, TypeAlias

from framehub.hub.settings import HubSettings
from framehub.hub.switch import Switch
from tests.conformance.hub.naive import NaiveHub
from tests.conformance.hub.vectors import ConversationCase, Step

LOOKS = 4
"""How often in a second the hub looks at its clock."""

Machine: TypeAlias = type[Switch] | type[NaiveHub]


class Play:
    """A hub, its clock, and peers that hear what it says."""

    def __init__(self, case: ConversationCase, machine: Machine = Switch) -> None:
        self.now = 0.0
        self.hub: Any = machine(HubSettings(**case.settings), now=0.0)  # type: ignore[arg-type]
        self.heard: dict[tuple[str, str], deque[bytes]] = defaultdict(deque)
        self.closed: dict[str, int] = {}
        self.state: dict[str, str] = {}
        self.clients = {
            name: self.hub.client_joined(name.encode().ljust(8), version, case.users.get(name, 0), name, 0.0)
            for name, version in (case.clients or {"c1": 2}).items()
        }

    def run(self, steps: list[Step]) -> None:
        for at, step in enumerate(steps):
            try:
                self.step(step)
            except AssertionError as exc:
                raise AssertionError(f"step {at}, {step}: {exc}") from exc
        self.nothing_is_left()

    def step(self, step: Step) -> None:
        if step.hears is not None:
            queue = self.heard[step.peer]
            assert queue, f"{step.peer[1]} hears nothing"
            said = queue.popleft()
            assert said == step.heard, f"{step.peer[1]} hears {said.hex()}"
        elif step.closed is not None:
            assert self.closed.pop(step.peer[1], None) == step.closed
        else:
            self.nothing_is_left()
            self._act(step)

    def nothing_is_left(self) -> None:
        left = {name: [said.hex() for said in queue] for (_, name), queue in self.heard.items() if queue}
        assert (left, self.closed) == ({}, {})

    def _act(self, step: Step) -> None:
        side, name = step.peer
        if step.now is not None:
            while self.now < step.now:
                self.now = min(step.now, self.now + 1 / LOOKS)
                self._look()
        elif step.asleep_until is not None:
            self.now = step.asleep_until
            self._look()
        elif step.hub == "stops":
            self.hub.drain()
        elif step.does is not None:
            self._do(side, name, step.does)
        elif side == "client":
            self.hub.client_says(self.clients[name], step.message[0], self.now)
        else:
            self.hub.service_says(name.encode(), step.message, self.now)
        self._deliver()

    def _look(self) -> None:
        self.hub.tick(self.now)
        self._deliver()

    def _do(self, side: str, name: str, does: str) -> None:
        self.state[name] = does
        if does == "leaves":
            self.hub.client_left(self.clients[name], self.now)
        elif does in ("vanishes", "returns"):
            self.hub.service_disconnected(self.now)
        elif side == "client":
            self.clients[name].is_full = does == "blocks"
            if does == "reads":
                self._read_on(name)
        elif does == "reads":
            self._take_on(name)

    def _read_on(self, name: str) -> None:
        while (item := self.hub.next_held(self.clients[name])) is not None:
            self.heard["client", name].append(item[0])

    def _take_on(self, name: str) -> None:
        instance = self.hub.instances[name.encode()]
        while instance.held:
            self.heard["service", name].append(instance.held[0][0])
            self.hub.sent(instance)

    def _deliver(self) -> None:
        """Hand out what the hub says, and tell it what could not be sent, until it has said all."""
        hub = self.hub
        while hub.to_clients or hub.to_services or hub.to_close:
            for output, send in ((hub.to_services, self._to_service), (hub.to_clients, self._to_client)):
                items = output[:]
                output.clear()
                for item in items:
                    send(*item)
            for client, code, _ in hub.to_close:
                self.closed[client.owner] = code
            gone = [client for client, _, _ in hub.to_close]
            hub.to_close.clear()
            for client in gone:
                hub.client_left(client, self.now)

    def _to_client(self, client: Any, data: bytes, stream: Any) -> None:
        if stream is not None and (client.is_full or client.held):
            self.hub.hold(client, data, stream, self.now)
        else:
            self.heard["client", client.owner].append(data)

    def _to_service(self, instance: Any, data: bytes, stream: Any) -> None:
        name = instance.identity.decode()
        state = self.state.get(name, "reads")
        if state == "vanishes":
            self.hub.service_gone(instance, self.now)
        elif state == "blocks" or instance.held:
            self.hub.hold_for_service(instance, data, stream, self.now)
        else:
            self.heard["service", name].append(data)
