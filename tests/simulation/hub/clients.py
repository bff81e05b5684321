"""Those who open streams: they count or throw dice for numbers, speak either version, behave or do not."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tests.simulation.hub import wire
from tests.simulation.hub.sockets import Socket

if TYPE_CHECKING:
    from tests.simulation.hub.world import World

INTERFACE, CALL, SERIES, UPLOAD, ECHO, SILENT, SLOW, FAIL, CLOSES, CHATTER = range(10)
"""Functions of services: they are asked for their interface; answer once; send many frames; take many;
answer each; say nothing; answer late; with an error; close; go on after their last frame."""
FUNCTIONS: Final = (
    *([CALL] * 10), *([SERIES] * 4), *([UPLOAD] * 3), *([ECHO] * 4), SILENT, SLOW, SLOW, FAIL, CLOSES,
    CHATTER, INTERFACE,
)  # fmt: skip
FAR: Final = 7
"""A service that nobody offers."""


class Client:
    """Somebody with one WebSocket at a time."""

    def __init__(self, world: "World", name: str) -> None:
        rng = world.rng
        self.world = world
        self.rng = rng
        self.name = name
        self.alive = True
        self.user = rng.randrange(1 << 16)
        self.version = rng.choice((1, 2, 2))
        self.socket: Socket | None = None
        self._counts = rng.random() < 0.7
        self._configures = rng.random() < 0.3
        self._polite = rng.random() < 0.9
        """It answers PINGs."""
        self._next = 0
        self._left: dict[int, int] = {}
        """Streams on which it speaks when it is spoken to: how often still."""
        self._mine: list[int] = []
        """Numbers that it used on this connection."""
        self.connect()

    def __repr__(self) -> str:
        return self.name

    # --- the connection --------------------------------------------------------------------------------

    def connect(self) -> None:
        """Open a WebSocket, or try again soon."""
        world = self.world
        if not self.alive or self.socket is not None:
            return
        house = world.house
        if not house.alive or house.stopped:
            world.at(world.now + 0.1 + 0.3 * self.rng.random(), self.connect)
            return
        socket = self.socket = Socket(house, self, delay=2 * world.plan.delay, soft=world.plan.soft)
        house.accept(socket, self.version, self.user)
        world.counts[f"clients of version {self.version}"] += 1
        self._next = self.rng.choice((0, 1, 1000))
        self._left.clear()
        self._mine.clear()
        if self._configures:
            self.configure()

    def lost(self, socket: Socket) -> None:
        """The connection is gone, as far as this side knows."""
        if self.socket is socket:
            self.socket = None
            self.world.at(self.world.now + 0.05 + 0.3 * self.rng.random(), self.connect)

    def configure(self) -> None:
        timeout_ms = self.rng.choice((0, 1, 1_500, 3_000, 2**32 - 1))
        self.say(0, wire.FIRST, 0, wire.record(self.version, timeout_ms, 0))

    def say(self, number: int, state: int, parameter: int = 0, rest: bytes = b"") -> None:
        if self.socket is not None:
            self.socket.up(wire.frame(self.version, number, state, parameter, rest))

    def send(self, data: bytes) -> None:
        if self.socket is not None:
            self.socket.up(data)

    # --- streams ---------------------------------------------------------------------------------------

    def number(self) -> int:
        """For a new stream."""
        if self._counts:
            self._next += 1
            return self._next
        return self.rng.randint(1, wire.LAST_V1 if self.version == 1 else wire.LAST_V2)

    def first(self, number: int, function: int) -> None:
        """The first frame of a stream."""
        world = self.world
        service = world.plan.numbers and self.rng.randrange(world.plan.numbers)
        if self.rng.random() < 0.02:
            service = FAR
        timeout_ms = self.rng.choice((0, 0, 1, 1_000, 2_500, 2**32 - 1)) if self.version == 1 else 0
        self._mine.append(number)
        self.send(wire.first(self.version, number, function, service, world.body(), timeout_ms))

    def open(self) -> None:
        """A stream, whatever the seed says."""
        if self.socket is None:
            return
        world, rng = self.world, self.rng
        function, number = rng.choice(FUNCTIONS), self.number()
        if self._mine and rng.random() < 0.005:
            number = rng.choice(self._mine)  # it has miscounted
        self.first(number, function)
        if function == UPLOAD:
            many = rng.randint(1, 5)
            if rng.random() < 0.5:
                for _ in range(many):
                    self.say(number, wire.MESSAGE, function, world.body())
                self.say(number, wire.LAST, function, world.body())
            else:
                self._upload(self.socket, number, many)
        elif function == ECHO:
            self._left[number] = rng.randint(0, 4)
            self.say(number, wire.MESSAGE, function, world.body())
        if rng.random() < 0.05:
            world.at(world.now + rng.choice((0.0, 0.05, 0.5)), self._close, self.socket, number)

    def upload(self, pause: float) -> None:
        """A stream with a pause after its first frame, and much after that."""
        if self.socket is not None:
            number = self.number()
            self.first(number, UPLOAD)
            world, socket = self.world, self.socket
            for _ in range(self.rng.randint(3, 12)):
                world.at(world.now + pause, self._more, socket, number, wire.MESSAGE)
            world.at(world.now + pause + self.rng.random(), self._more, socket, number, wire.LAST)

    def _more(self, socket: Socket, number: int, state: int) -> None:
        if self.socket is socket:
            self.say(number, state, UPLOAD, self.world.body())

    def _upload(self, socket: Socket, number: int, left: int) -> None:
        if self.socket is not socket:
            return
        world = self.world
        if left:
            self.say(number, wire.MESSAGE, UPLOAD, world.body())
            world.at(world.now + self.rng.random() * 0.5, self._upload, socket, number, left - 1)
        else:
            self.say(number, wire.LAST, UPLOAD, world.body())

    def _close(self, socket: Socket, number: int) -> None:
        if self.socket is socket:
            self.say(number, wire.COMMAND, wire.CLOSE)
            if self.rng.random() < 0.1:
                self.say(number, wire.COMMAND, wire.CLOSE)

    def hears(self, socket: Socket, data: bytes) -> None:
        """A frame of the hub's arrives."""
        if self.socket is not socket:
            return
        number, state, parameter, rest = wire.read(data, self.version)
        if number == 0:
            if state == wire.COMMAND and parameter == wire.PING and self._polite:
                self.say(0, wire.COMMAND, wire.PONG, rest)
        elif state == wire.MESSAGE and number in self._left:
            left = self._left[number]
            if left:
                self._left[number] = left - 1
                self.say(number, wire.MESSAGE, ECHO, self.world.body())
            else:
                del self._left[number]
                self.say(number, wire.LAST, ECHO, self.world.body())

    # --- misbehaving -----------------------------------------------------------------------------------

    def forge(self) -> None:
        """Something that it may not do, or had better not."""
        if self.socket is not None:
            self.rng.choice(_FORGERIES)(self)

    def _some(self) -> int:
        """A number of its own, of somebody else's, or of nobody."""
        rng = self.rng
        dice = rng.random()
        if dice < 0.4 and self._mine:
            return rng.choice(self._mine)
        if dice < 0.8:
            others = [number for other in self.world.clients for number in other._mine[-5:]]
            foreign = [*others, *self.world.house.book.live]
            foreign = [n for n in foreign if n <= (wire.LAST_V1 if self.version == 1 else wire.LAST_V2)]
            if foreign:
                return rng.choice(foreign)
        return self.number()

    def _foreign_frame(self) -> None:
        state = self.rng.choice((wire.MESSAGE, wire.LAST, wire.MESSAGE))
        self.say(self._some(), state, CALL, self.world.body())

    def _foreign_close(self) -> None:
        self.say(self._some(), wire.COMMAND, wire.CLOSE)

    def _used_number(self) -> None:
        self.first(self._some(), CALL)

    def _unknown_state(self) -> None:
        state = self.rng.choice((1, 5, 10, wire.ERROR, wire.SERVICE_ERROR))
        if self.version == 2 and self.rng.random() < 0.3:
            state = self.rng.randint(16, 255)
        self.say(self.rng.choice((0, self._some())), state, self.rng.randrange(256), self.world.body())

    def _short_frame(self) -> None:
        self.send(self.rng.randbytes(self.rng.randrange(wire.HEADER[self.version])))

    def _cut_first(self) -> None:
        whole = wire.first(self.version, self._some(), CALL, 0, b"")
        self.send(whole[: self.rng.randrange(wire.HEADER[self.version], len(whole))])

    def _other_version(self) -> None:
        """A first frame whose settings are of another version, where it has any."""
        rest = wire.record(2, 0, 0) if self.version == 1 else b"\0\0"
        self.say(self.number(), wire.FIRST, CALL, rest + self.world.body())

    def _after_last(self) -> None:
        number = self.number()
        self.first(number, self.rng.choice((UPLOAD, SILENT, ECHO)))
        self.say(number, wire.LAST, UPLOAD, self.world.body())
        self.say(number, self.rng.choice((wire.MESSAGE, wire.LAST)), UPLOAD, self.world.body())

    def _wrong_command(self) -> None:
        number = self.rng.choice((0, self._some()))
        command = self.rng.choice((wire.PING, wire.PONG, wire.READY, 7, 255))
        self.say(number, wire.COMMAND, command, self.world.body())

    def _wrong_record(self) -> None:
        rng = self.rng
        rest = wire.record(rng.choice((1, 2, 3)), rng.randrange(5_000), 0) + rng.choice((b"", b"x"))
        self.say(0, wire.FIRST, 0, rest[: rng.choice((3, 7, 8))])

    def _about_nothing(self) -> None:
        self.say(0, self.rng.choice((wire.MESSAGE, wire.LAST)), 1, self.world.body())

    def _noise(self) -> None:
        self.send(self.rng.randbytes(self.rng.randint(4, 20)))

    def flood(self) -> None:
        """Too much of something."""
        if self.socket is None:
            return
        kind = self.rng.choice(("streams", "opens", "cancels", "pings", "faults", "ranges", "late", "upload"))
        many, odd = self.rng.choice((5, 30, 110)), self.rng.randrange(2)
        if kind == "upload":
            number = self.number()
            self.first(number, self.rng.choice((UPLOAD, ECHO, SILENT)))
        for at in range(many):
            if kind in ("streams", "opens", "cancels"):
                number = self.number()
                self.first(number, SILENT if kind == "streams" else CALL)
                if kind == "cancels":
                    self.say(number, wire.COMMAND, wire.CLOSE)
            elif kind == "ranges":
                self.first(2 * at + 5_000 + odd, CALL)
            elif kind == "upload":
                self.say(number, wire.MESSAGE, UPLOAD, self.world.body())
            elif kind == "pings":
                self.say(0, wire.COMMAND, wire.PING, self.world.body())
            elif kind == "late" and self._mine:
                self.say(self.rng.choice(self._mine), wire.MESSAGE, CALL, self.world.body())
            else:
                self.forge()


_FORGERIES: tuple[Callable[[Client], None], ...] = (
    Client._foreign_frame,
    Client._foreign_frame,
    Client._foreign_close,
    Client._used_number,
    Client._used_number,
    Client._unknown_state,
    Client._short_frame,
    Client._cut_first,
    Client._after_last,
    Client._other_version,
    Client._wrong_command,
    Client._wrong_record,
    Client._about_nothing,
    Client._noise,
)
