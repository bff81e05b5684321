"""What goes wrong in a world, one thing at a time."""

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING

from tests.simulation.hub import wire
from tests.simulation.hub.clients import Client
from tests.simulation.hub.services import Service

if TYPE_CHECKING:
    from tests.simulation.hub.house import House
    from tests.simulation.hub.world import World

MANY = 6
"""Services at a time; more do not show more."""


class Troubles:
    """Makes one of the plan's troubles at a time."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._rng = world.rng

    def make(self) -> None:
        kind = self._rng.choice(self._world.plan.troubles)
        if _MAKERS[kind](self):
            self._world.counts[kind] += 1

    def heal(self) -> None:
        """No more of it."""
        world = self._world
        if not world.house.alive:
            world.restart()
        world.house.resume()
        for client in world.clients:
            if client.socket is not None:
                client.socket.slow_down(inf)
        for service in world.services:
            service.resume()
            if service.link.conn is not None:
                service.link.conn.blocked_until = 0.0

    def _client(self) -> Client | None:
        there = [client for client in self._world.clients if client.socket is not None]
        return self._rng.choice(there) if there else None

    def _service(self, *, running: bool = True) -> Service | None:
        there = [one for one in self._world.services if one.alive and not (running and one.stopped)]
        return self._rng.choice(there) if there else None

    # --- clients ---------------------------------------------------------------------------------------

    def _cut_client(self) -> bool:
        client = self._client()
        if client is None or client.socket is None:
            return False
        client.socket.cut(hub=self._rng.choice((0.001, 0.1, 0.5)), client=self._rng.choice((0.001, 0.1)))
        return True

    def _hang_client(self) -> bool:
        client = self._client()
        if client is None or client.socket is None:
            return False
        client.socket.hang(client=self._rng.choice((0.1, 3.0)), tcp=25.0)
        return True

    def _slow_client(self) -> bool:
        client = self._client()
        if client is None or client.socket is None:
            return False
        client.socket.slow_down(self._rng.choice((200.0, 2_000.0, 20_000.0)))
        return True

    def _stall_client(self) -> bool:
        client = self._client()
        if client is None or client.socket is None:
            return False
        client.socket.stall(self._rng.choice((0.3, 2.0, 8.0)))
        return True

    def _forging_client(self) -> bool:
        client = self._client()
        if client is None:
            return False
        for _ in range(self._rng.choice((1, 1, 3))):
            client.forge()
        return True

    def _flooding_client(self) -> bool:
        client = self._client()
        if client is None:
            return False
        client.flood()
        return True

    def _client_goodbye(self) -> bool:
        client = self._client()
        if client is None:
            return False
        client.say(0, wire.COMMAND, wire.CLOSE)
        client.open()  # nobody reads this
        return True

    def _client_configures(self) -> bool:
        client = self._client()
        if client is None:
            return False
        client.configure()
        return True

    # --- services --------------------------------------------------------------------------------------

    def _cut_service(self) -> bool:
        service = self._service(running=False)
        if service is None:
            return False
        back = self._rng.choice((0.05, 0.3, 3.0)) * (0.5 + self._rng.random())
        service.link.cut(notice=self._rng.choice((0.001, 0.1)), back=back)
        return True

    def _go_round(self) -> bool:
        """The hub's numbers for V2 services have gone round; each was used a moment ago, at the earliest."""
        if self._world.plan.batch:
            return False
        self._world.house.go_round()
        return True

    def _hang_service(self) -> bool:
        service = self._service(running=False)
        if service is None or service.link.conn is None:
            return False
        back = self._rng.choice((0.5, 4.0, 9.0))
        service.link.hang(notice=3.0 + 5.0 * self._rng.random(), back=back)
        return True

    def _slow_service(self) -> bool:
        service = self._service()
        if service is None or service.link.conn is None:
            return False
        seconds = self._rng.choice((0.05, 0.4, 1.5, 4.0))
        client, now = self._client(), self._world.now
        if client is None or self._rng.random() < 0.2:
            service.link.block(seconds)
            return True
        if any(one.link.conn and one.link.conn.blocked_until > now for one in self._world.services):
            return False
        # All of them, while somebody has much to say to them.
        world, wait = self._world, 4 * self._world.plan.delay + 0.01
        client.upload(wait)
        for one in world.services:
            world.at(world.now + wait, one.link.block, seconds)
        knocks = self._rng.random() < 0.25
        if knocks:
            world.at(world.now + wait, service.do, service.knock)
        if self._rng.random() < (0.7 if knocks else 0.2):
            cut_after, back = 2 * wait + 0.3 * self._rng.random(), self._rng.choice((0.02, 1.0))
            world.at(world.now + cut_after, self._cut, service, back)
        return True

    def _cut(self, service: Service, back: float) -> None:
        if service.alive:
            service.link.cut(notice=0.001, back=back)

    def _stop_service(self) -> bool:
        service, world = self._service(), self._world
        if service is None:
            return False
        service.stop()
        world.at(world.now + self._rng.choice((0.5, 2.0, 7.0)), service.resume)
        return True

    def _kill_service(self) -> bool:
        service, world = self._service(running=False), self._world
        if service is None:
            return False
        service.die(notice=self._rng.choice((0.001, 0.05, 3.0 + 5.0 * self._rng.random())))
        world.at(world.now + self._rng.choice((0.1, 2.0)), world.add_service)
        return True

    def _forging_service(self) -> bool:
        service = self._service()
        if service is None:
            return False
        for _ in range(self._rng.choice((1, 1, 5))):
            service.forge()
        return True

    def _stranger(self) -> bool:
        """Somebody who does not say who it is; now and then it does not read either."""
        world, rng = self._world, self._rng
        service = Service(world, world.name("stranger"), rng.randrange(world.plan.numbers), shy=True)
        world.strangers.append(service)
        for _ in range(rng.choice((1, 3, 8))):
            world.at(world.now + rng.random(), service.do, service.forge)
        if rng.random() < 0.5:
            world.at(world.now + 0.05, service.link.block, 2.0)
        if rng.random() < 0.3:
            world.at(world.now + 1.5, service.do, service.configure)
        world.at(world.now + 2.0 + rng.random(), self._end_stranger, service)
        return True

    def _end_stranger(self, service: Service) -> None:
        service.die(notice=0.01)
        self._world.strangers.remove(service)

    def _service_configures(self) -> bool:
        service = self._service()
        if service is None:
            return False
        service.change()
        service.configure()
        return True

    def _service_goodbye(self) -> bool:
        service, world = self._service(), self._world
        if service is None:
            return False
        service.say(0, wire.COMMAND, wire.CLOSE)
        if self._rng.random() < 0.5:
            world.at(world.now + 2.0, service.do, service.configure)
        else:
            world.at(world.now + 2.0, service.die, 0.01)
            world.at(world.now + 1.0, world.add_service)
        return True

    def _new_version(self) -> bool:
        """It is started anew, with the same identity, and speaks the other version."""
        service = self._service()
        if service is None:
            return False
        service.version = 3 - service.version
        service.link.cut(notice=0.001, back=self._rng.choice((0.02, 0.5)))
        return True

    def _flooding_service(self) -> bool:
        service = self._service()
        if service is None:
            return False
        service.flood()
        return True

    # --- the hub ---------------------------------------------------------------------------------------

    def _restart(self) -> bool:
        world = self._world
        if not world.house.alive:
            return False
        world.house.die()
        world.at(world.now + self._rng.choice((0.05, 1.0)), self._start, world.house)
        return True

    def _start(self, house: "House") -> None:
        if house is self._world.house:
            self._world.restart()

    def _stop_hub(self) -> bool:
        house, world = self._world.house, self._world
        if not house.alive or house.stopped:
            return False
        house.stop()
        world.at(world.now + self._rng.choice((0.4, 1.5, 4.0, 12.0)), house.resume)
        return True

    def _drain(self) -> bool:
        house, world = self._world.house, self._world
        if not house.alive or house.stopped or house.book.draining:
            return False
        house.drain()
        world.at(world.now + 1.0, self._end, house)
        return True

    def _end(self, house: "House") -> None:
        if house is self._world.house and house.alive:
            house.die()
            self._world.restart()

    def _fail(self) -> bool:
        self._world.house.fail_next = True
        return True


_MAKERS: dict[str, Callable[[Troubles], bool]] = {
    "cut a client": Troubles._cut_client,
    "half-open client": Troubles._hang_client,
    "slow client": Troubles._slow_client,
    "stalled client": Troubles._stall_client,
    "forging client": Troubles._forging_client,
    "flooding client": Troubles._flooding_client,
    "goodbye of a client": Troubles._client_goodbye,
    "client configures again": Troubles._client_configures,
    "cut a service": Troubles._cut_service,
    "half-open service": Troubles._hang_service,
    "slow service": Troubles._slow_service,
    "stop a service": Troubles._stop_service,
    "kill a service": Troubles._kill_service,
    "forging service": Troubles._forging_service,
    "stranger": Troubles._stranger,
    "service configures again": Troubles._service_configures,
    "service says goodbye": Troubles._service_goodbye,
    "service changes its version": Troubles._new_version,
    "flooding service": Troubles._flooding_service,
    "restart the hub": Troubles._restart,
    "stop the hub": Troubles._stop_hub,
    "drain the hub": Troubles._drain,
    "fail in the hub": Troubles._fail,
    "numbers go round": Troubles._go_round,
}
