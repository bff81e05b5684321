"""Those who answer: either version, with an identity of their own or none, honest or not."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.simulation.hub import clients, wire
from tests.simulation.hub.answering import BROKEN
from tests.simulation.rpc.network import Conn, Link
from tests.simulation.rpc.process import Process

if TYPE_CHECKING:
    from tests.simulation.hub.world import World

INTERFACES = (
    b'{"name": "first", "functions": [{"number": 1, "name": "call"}, {"number": 2}]}',
    b'{"name": "second", "doc": "", "functions": []}',
    b"{}",
)


class Service(Process):
    """Offers one number."""

    link: Link

    def __init__(self, world: "World", name: str, number: int, *, shy: bool = False) -> None:
        super().__init__(world, name)
        rng = self.rng = world.rng
        self.world = world
        self.number = number
        self.version = rng.choice((1, 2, 2))
        fixed = name.encode() + rng.randbytes(2)
        named = rng.random() < 0.5
        self.link = Link(world, self, world.router, lambda: fixed if named else b"\0" + rng.randbytes(4))
        self._interface = rng.choice((b"", *INTERFACES))
        self._timeout_ms = rng.choice((0, 0, 1, 2_000, 2**32 - 1))
        self._functions: dict[int, int] = {}
        """Open streams, as far as it knows, and what is wanted there."""
        self._past: list[int] = []
        self._told = -1.0
        self._known: Conn | None = None
        """The connection on which it has said who it is; on another it says nothing else before."""
        self._shy = shy
        """It does not say who it is."""
        self.link.dial(0.0)

    # --- the link --------------------------------------------------------------------------------------

    def is_connected(self) -> None:
        """A new connection: nothing of before counts."""
        self.do(self._begin)

    def _begin(self) -> None:
        self._functions.clear()
        self._known = self.link.conn
        if self.rng.random() < 0.05:
            self.say(0, wire.COMMAND, wire.PONG)  # not what comes first
        if not self._shy:
            self.configure()

    def change(self) -> None:
        """Something about it is another than before."""
        self.number = self.rng.randrange(self.world.plan.numbers)
        self._interface = self.rng.choice((b"", *INTERFACES))
        self._timeout_ms = self.rng.choice((0, 1_000, 3_000))

    def configure(self, interface: bytes | None = None) -> None:
        told = self._interface if interface is None else interface
        self.say(0, wire.FIRST, 0, wire.record(self.version, self._timeout_ms, self.number) + told)

    def say(self, number: int, state: int, parameter: int = 0, rest: bytes = b"") -> None:
        if self.version == 1:
            number &= wire.LAST_V1
        self.link.send([wire.frame(self.version, number, state, parameter, rest)])

    def hears(self, parts: list[bytes]) -> None:
        self.do(self._said, parts[0])

    def _said(self, data: bytes) -> None:
        if data.startswith(b"\0\0\0\0\x0d\x08") and self.version == 1:  # we may be none to the hub
            self._introduce_again()
            return
        if len(data) < wire.HEADER[self.version]:
            return  # this was for one that spoke the other version
        number, state, parameter, rest = wire.read(data, self.version)
        if number == 0:
            if state == wire.COMMAND and parameter == wire.PING and self._known is self.link.conn:
                self.say(0, wire.COMMAND, wire.PONG, rest)
            elif state == wire.ERROR:
                self._introduce_again()
        elif state == wire.FIRST:
            self._functions[number] = parameter
            self._past.append(number)
            _FUNCTIONS[parameter % len(_FUNCTIONS)](self, number)
        elif state == wire.ERROR or state == wire.COMMAND:
            self._functions.pop(number, None)
        else:
            self._more(number, last=state == wire.LAST)

    def _introduce_again(self) -> None:
        if self.world.now - self._told >= 1.0 and not self._shy:
            self._told = self.world.now
            self._functions.clear()
            self.configure()

    # --- functions -------------------------------------------------------------------------------------

    def _more(self, number: int, *, last: bool) -> None:
        """The client goes on."""
        function = self._functions.get(number)
        if function == clients.ECHO:
            self._answer(number, wire.LAST if last else wire.MESSAGE)
        elif function == clients.UPLOAD and last:
            self._answer(number, wire.LAST)

    def _answer(self, number: int, state: int) -> None:
        if number not in self._functions:
            return
        self.say(number, state, self.rng.randrange(256), self.world.body())
        if state != wire.MESSAGE:
            del self._functions[number]

    def _call(self, number: int) -> None:
        self._answer(number, wire.LAST)

    def _series(self, number: int) -> None:
        many = self.rng.choice((1, 2, 4, 12))
        if self.rng.random() < 0.6:
            for _ in range(many):
                self._answer(number, wire.MESSAGE)
            self._answer(number, wire.LAST)
        else:
            self._one_of(number, many)

    def _one_of(self, number: int, left: int) -> None:
        self._answer(number, wire.MESSAGE if left else wire.LAST)
        if left and number in self._functions:
            later = self.world.now + self.rng.random() * 0.4
            self.world.at(later, self.do, self._one_of, number, left - 1)

    def _wait(self, number: int) -> None:
        """Nothing now."""

    def _slow(self, number: int) -> None:
        seconds = self.rng.choice((0.3, 1.0, 2.0, 4.0)) * (0.5 + self.rng.random())
        self.world.at(self.world.now + seconds, self.do, self._late, number)

    def _late(self, number: int) -> None:
        """Whether it is still wanted or not."""
        if self.rng.random() < 0.3:
            self._functions[number] = clients.SLOW
        self._answer(number, wire.LAST)

    def _fail(self, number: int) -> None:
        self._answer(number, wire.SERVICE_ERROR)

    def _closes(self, number: int) -> None:
        self.say(number, wire.COMMAND, wire.CLOSE)
        self._functions.pop(number, None)

    def _chatter(self, number: int) -> None:
        self._answer(number, wire.LAST)
        for _ in range(self.rng.randint(1, 3)):
            state = self.rng.choice((wire.MESSAGE, wire.LAST, wire.SERVICE_ERROR))
            self.say(number, state, 0, self.world.body())

    # --- ends ------------------------------------------------------------------------------------------

    def die(self, notice: float) -> None:
        """kill -9."""
        self.alive = False
        self.link.close(notice=notice)

    # --- misbehaving -----------------------------------------------------------------------------------

    def forge(self) -> None:
        """Something that it may not do."""
        self.rng.choice(_FORGERIES)(self)

    def _some(self) -> int:
        """A stream of somebody else's, a dead one, or none."""
        rng = self.rng
        live = list(self.world.house.book.live)
        dice = rng.random()
        if dice < 0.6 and live:
            number = rng.choice(live)
        elif dice < 0.9 and self._past:
            number = rng.choice(self._past)
        else:
            number = rng.randint(1, 2**32 - 1)
        return number & wire.LAST_V1 if self.version == 1 else number

    def _foreign_frame(self) -> None:
        state = self.rng.choice((wire.MESSAGE, wire.LAST, wire.SERVICE_ERROR))
        self.say(self._some(), state, 0, self.world.body())

    def _foreign_close(self) -> None:
        self.say(self._some(), wire.COMMAND, wire.CLOSE)

    def _wrong_state(self) -> None:
        state = self.rng.choice((1, 5, wire.FIRST, wire.ERROR, 10))
        self.say(self.rng.choice((0, self._some())), state, self.rng.randrange(1, 13), self.world.body())

    def _wrong_command(self) -> None:
        command = self.rng.choice((wire.PING, wire.READY, 7))
        self.say(self.rng.choice((0, self._some())), wire.COMMAND, command, self.world.body())

    def _many_parts(self) -> None:
        part = wire.frame(self.version, self._some(), wire.MESSAGE, 0, self.world.body())
        self.link.send(self.rng.choice(([part, part], [part, b""], [b"", part], [])))

    def _short_frame(self) -> None:
        self.link.send([self.rng.randbytes(self.rng.randrange(wire.HEADER[self.version]))])

    def _broken_interface(self) -> None:
        self.configure(self.rng.choice(BROKEN))

    def _big_interface(self) -> None:
        self.configure(b'{"doc": "' + b"x" * 300 + b'"}')

    def _wrong_record(self) -> None:
        rng = self.rng
        rest = wire.record(rng.choice((1, 2, 3)), 0, self.number)
        self.say(0, wire.FIRST, 0, rest[: rng.choice((0, 6, 7))])

    def knock(self) -> None:
        """More PINGs than are kept answers for."""
        for _ in range(70):
            self.say(0, wire.COMMAND, wire.PING, self.world.body())

    def _other_version(self) -> None:
        """The configuration of another version, or a part of it."""
        other = 3 - self.version
        whole = wire.frame(other, 0, wire.FIRST, 0, wire.record(other, 0, self.number))
        self.link.send([whole[: self.rng.choice((3, 8, 99))]])

    def flood(self) -> None:
        """Far more than anybody wants, on its own streams or on none."""
        for number in list(self._functions)[-3:] or [self._some()]:
            for _ in range(self.rng.choice((5, 20))):
                self.say(number, wire.MESSAGE, 0, self.world.body())


_FUNCTIONS: tuple[Callable[[Service, int], None], ...] = (
    Service._call,
    Service._call,
    Service._series,
    Service._wait,
    Service._wait,
    Service._wait,
    Service._slow,
    Service._fail,
    Service._closes,
    Service._chatter,
)
_FORGERIES: tuple[Callable[[Service], None], ...] = (
    Service._foreign_frame,
    Service._foreign_frame,
    Service._foreign_frame,
    Service._foreign_close,
    Service._wrong_state,
    Service._wrong_command,
    Service._many_parts,
    Service._short_frame,
    Service._broken_interface,
    Service._big_interface,
    Service._wrong_record,
    Service._other_version,
)
