"""What the hub says: what it puts out, what waits, and what arrives at the links."""

from typing import Final

from framehub.hub.parties import Instance
from tests.simulation.hub import wire
from tests.simulation.hub.book import LATE, Book, cost
from tests.simulation.hub.people import CLOSED, LASTED, Caller, Server, Talk
from tests.simulation.rpc.ledger import Broken, must

TIGHT: Final = 1 << 20
"""When less than this may wait in all, streams may be killed for what waits on others."""
NOTICES: Final = 64
"""What is about a service's link itself waits as long as no more than this does."""


class Telling:
    """Judges what the hub says."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._settings = book.settings
        self._tight = book.settings.held_bytes_in_all < TIGHT
        self._far: dict[Caller, int] = {}
        """How far behind everybody was when something last had to wait, where that may be too much."""

    # --- to clients ------------------------------------------------------------------------------------

    def says_to_client(self, caller: Caller, data: bytes, now: float) -> None:
        """The hub has this for a client; it may have to wait."""
        state = data[4] if caller.version == 2 else data[2] & 15
        if state == wire.ERROR:
            number, _, code, _ = wire.read(data, caller.version)
            talk = caller.talks.get(number)
            if talk is None or code not in wire.ENDINGS:
                return
            if talk.why is None:
                self._killed(talk, code, now)
            elif talk.why == LASTED and code == wire.LIMIT:
                self._did_not_fit(talk)

    def _did_not_fit(self, talk: Talk) -> None:
        """The last frames of a stream that its service ended do not fit: the client hears this instead."""
        must(len(talk.held) > 0, "HINV-8", "{} ends with a limit, and nothing waits", talk)
        self._book.cut(talk)
        talk.down.clear()
        talk.why = wire.LIMIT
        talk.owes_caller = True
        talk.caller.pending += 1
        self._book.counts["ends that did not fit"] += 1

    def client_waits(self, caller: Caller, data: bytes) -> None:
        """The client's link takes nothing now."""
        talk = caller.talks.get(wire.read(data, caller.version)[0])
        must(talk is not None, "HINV-4", "something waits for {} that is about no stream", caller)
        assert talk is not None
        state = data[4] if caller.version == 2 else data[2] & 15
        ends = state in (wire.ERROR, wire.COMMAND)
        if ends and talk.held and talk.held[-1] == data:
            code = wire.read(data, caller.version)[2]
            self._refusal(caller, talk.id, code)  # the same error waits already: one will do
        elif not caller.closing and (ends or talk.why in (None, LASTED)):
            talk.held.append(data)
            caller.held += cost(data)
            self._book.pausing[caller] = None
            caller.turns.setdefault(talk)
            if self._tight:
                self._far = {one: one.held for one in self._book.callers}

    def client_gets(self, caller: Caller, data: bytes, now: float, *, waited: bool = False) -> None:
        """It goes over the client's link."""
        number, state, parameter, rest = wire.read(data, caller.version)
        if number == 0:
            self._about_link(caller, state, parameter, data, now)
            return
        talk = caller.talks.get(number)
        if waited:
            right = talk is not None and bool(talk.held) and talk.held.popleft() == data
            must(right, "HINV-10", "{} hears {!r}, which was not the next to wait", talk, data)
            assert talk is not None
            talk.last = now
            caller.held -= cost(data)
            self._book.pausing[caller] = None
            must(next(iter(caller.turns)) is talk, "turns", "{} is before {}", talk, caller.turns)
            del caller.turns[talk]
            if talk.held:
                caller.turns[talk] = None
        if state == wire.ERROR:
            self._error(caller, number, parameter, talk)
            return
        must(talk is not None, "HINV-3", "{} gets a frame on stream {}, which is none", caller, number)
        assert talk is not None
        must(not talk.told, "HINV-4", "{} goes on after its end: {}", talk, state)
        if state == wire.COMMAND:
            right = parameter == wire.CLOSE and talk.why == CLOSED and talk.owes_caller
            must(right, "HINV-14", "{} hears command {}", talk, parameter)
            self._ended(talk)
            return
        frame = (state, parameter, rest)
        if not talk.down or talk.down[0] != frame:
            rule = "HINV-10" if frame in talk.down else "HINV-3"
            raise Broken(rule, f"{talk} was to hear {list(talk.down)[:2]}, and hears {frame}")
        talk.down.popleft()
        caller.pending -= talk.why in (None, LASTED)  # otherwise it might have been lost as well
        talk.told = state != wire.MESSAGE

    def _about_link(self, caller: Caller, state: int, parameter: int, data: bytes, now: float) -> None:
        if state == wire.COMMAND and parameter == wire.PING:
            quiet = now - caller.heard
            must(quiet >= self._settings.client_ping, "HINV-15", "{} is asked after {:.3f} s", caller, quiet)
            caller.pinged = now
            return
        must(bool(caller.notices), "HINV-15", "{} hears {!r} on stream 0", caller, data)
        wanted, whole = caller.notices.popleft()
        right = data == wanted if whole else data.startswith(wanted)
        must(right, "HINV-15", "{} was to hear {!r} on stream 0, and hears {!r}", caller, wanted, data)
        caller.pending -= 1

    def _error(self, caller: Caller, number: int, code: int, talk: Talk | None) -> None:
        if code in wire.ENDINGS and talk is not None:
            self._end_of(talk, code)
        else:
            self._refusal(caller, number, code)

    def _refusal(self, caller: Caller, number: int, code: int) -> None:
        right = caller.hears(number, code)
        must(right, "HINV-8", "{} hears {} on stream {}", caller, wire.CODES[code], number)

    def _end_of(self, talk: Talk, code: int) -> None:
        told = wire.CODES[code]
        must(not talk.told, "HINV-8", "{} ends twice, now with {}", talk, told)
        must(code != wire.CLIENT_DISCONNECT, "HINV-6", "{} is told of itself", talk)
        must(talk.why == code and talk.owes_caller, "HINV-8", "{} hears {}", talk, told)
        self._ended(talk)

    def _ended(self, talk: Talk) -> None:
        talk.told = True
        if talk.owes_caller:
            talk.owes_caller = False
            talk.caller.pending -= 1

    def closes(self, caller: Caller, code: int, now: float) -> None:
        """The hub closes the connection."""
        if code == 1001 and not caller.closing:
            self._away(caller, now)
        must(
            code == caller.closes_with,
            "conduct",
            "{} is closed with {}: {}",
            caller,
            code,
            caller.closes_with,
        )
        self._book.counts[f"closed with {code}"] += 1
        caller.closes_with = 0

    def _away(self, caller: Caller, now: float) -> None:
        """The hub gives up a silent client."""
        long = now - caller.heard >= 2 * self._settings.client_ping and caller.pinged > caller.heard
        must(long and now >= self._book.lenient, "HINV-15", "{} was asked {:.3f}", caller, caller.pinged)
        self._book.send_away(caller, 1001, now)

    def pauses(self, caller: Caller, *, paused: bool) -> None:
        caller.paused = paused
        self._book.pausing[caller] = None
        self._book.counts["paused" if paused else "resumed"] += 1

    # --- to services -----------------------------------------------------------------------------------

    def _server(self, instance: Instance) -> Server:
        book = self._book
        server = book.known.get(instance) or book.servers.get(instance.identity)
        server = server or book.strangers.get(instance.identity)
        must(server is not None, "HINV-17", "{!r} said nothing, and is spoken to", instance.identity)
        assert server is not None
        return server

    def says_to_server(self, instance: Instance, data: bytes, now: float) -> None:
        """The hub has this for a service; it may have to wait."""
        server = self._server(instance)
        state = data[4] if server.version == 2 else data[2] & 15
        if state == wire.COMMAND:
            _, _, command, rest = wire.read(data, server.version)
            if command == wire.PING:
                server.asked, server.asked_epoch = rest, self._book.epoch
        elif state == wire.ERROR:
            number, _, code, _ = wire.read(data, server.version)
            talk = server.talks.get(number)
            if talk is not None and talk.why is None and code in wire.ENDINGS:
                self._killed(talk, code, now)

    def server_waits(self, instance: Instance, data: bytes, now: float) -> None:
        """The service takes nothing now."""
        server = self._server(instance)
        server.blocked_at = now
        if server.number < 0 or server in self._book.faded:
            return
        self._book.served[server] = None
        server.waited += 1
        if server.waited > NOTICES:
            server.sure.clear()  # it asked for so much at once
        number, state, _, _ = wire.read(data, server.version)
        talk = server.talks.get(number)
        if talk is not None and talk.why is None and state in (wire.MESSAGE, wire.LAST):
            size = cost(data)
            talk.waits.append((size, now))
            talk.waiting += size
            talk.caller.waiting += size
            self._book.pausing[talk.caller] = None

    def server_gets(self, instance: Instance, data: bytes, now: float) -> None:
        """The ROUTER takes it."""
        server = self._server(instance)
        if instance not in self._book.known:
            self._answer(server, data)  # it was said to somebody who had not registered
            return
        number, state, parameter, rest = wire.read(data, server.version)
        if number == 0:
            if state == wire.COMMAND and parameter == wire.PING:
                server.pinged = now
            else:
                self._answer(server, data)
            return
        talk = server.talks.get(number)
        if state == wire.ERROR and parameter not in wire.ENDINGS:
            self._answer(server, data)
            return
        if talk is None and state in (wire.ERROR, wire.COMMAND) and number in server.stale:
            server.stale.remove(number)
            return
        must(talk is not None, "HINV-4", "{} hears {!r} on stream {}, which is over", server, data, number)
        assert talk is not None
        if state in (wire.FIRST, wire.MESSAGE, wire.LAST):
            self._passed_on(server, talk, (state, parameter, rest))
            return
        why = parameter if state == wire.ERROR else CLOSED
        right = state == wire.ERROR or parameter == wire.CLOSE
        must(
            right and talk.why == why and talk.owes_server, "HINV-8", "{} hears {} {}", talk, state, parameter
        )
        talk.owes_server = False
        server.pending -= not talk.excused
        del server.talks[number]

    def _passed_on(self, server: Server, talk: Talk, frame: tuple[int, int, bytes]) -> None:
        if not talk.up or talk.up[0] != frame:
            rule = "HINV-10" if frame in talk.up else "HINV-13" if frame[0] == wire.FIRST else "HINV-2"
            raise Broken(rule, f"{talk}: the service was to hear {list(talk.up)[:2]}, and hears {frame}")
        talk.up.popleft()
        if talk.why is not None:
            return
        server.pending -= 1
        if talk.waits:
            size, _ = talk.waits.popleft()
            talk.waiting -= size
            talk.caller.waiting -= size
            self._book.pausing[talk.caller] = None

    def _answer(self, server: Server, data: bytes) -> None:
        for owed in (server.owed, server.maybe):
            for at, (wanted, whole) in enumerate(owed):
                if data == wanted if whole else data.startswith(wanted):
                    del owed[at]
                    server.pending -= owed is server.owed
                    return
        about_link = server.number < 0 or not wire.read(data, server.version)[0]
        raise Broken("HINV-17" if about_link else "HINV-3", f"{server} hears {data!r}")

    # --- ends ------------------------------------------------------------------------------------------

    def _killed(self, talk: Talk, code: int, now: float) -> None:
        """The hub ends a stream of its own accord."""
        book, told = self._book, wire.CODES[code]
        server, caller = talk.server, talk.caller
        assert server is not None
        tell = True
        if code == wire.SERVICE_DISCONNECT:
            self._silent(server, now)
            return
        if code == wire.CLIENT_DISCONNECT:
            self._away(caller, now)
            return
        if code == wire.TIMEOUT:
            due = talk.deadline
            must(due <= now, "HINV-9", "{} timed out at {:.3f}, before {:.3f}", talk, now, due)
            must(now <= max(due, book.awake) + LATE, "HINV-9", "{} timed out late, due {:.3f}", talk, due)
            must(now >= book.lenient, "HINV-9", "{} timed out while the hub was asleep", talk)
        elif code == wire.LIMIT:
            held = sum(cost(data) for data in talk.held)
            over = held > self._settings.held_bytes or caller.held > self._settings.held_bytes_client
            must(over or self._tight, "HINV-8", "{} ends with {}: {} bytes wait", talk, told, held)
            if not over:
                self._check_room(talk)
        elif code == wire.BUSY:
            tell = not (talk.up and talk.up[0][0] == wire.FIRST)
            self._check_busy(talk, now, unsent=not tell)
        else:
            raise Broken("HINV-8", f"{talk} ends with {told}, for no reason")
        book.end(talk, code, now, caller=True, server=tell)

    def _check_room(self, talk: Talk) -> None:
        """Too much waits for all: whoever is furthest behind is the first to lose something."""
        far = self._far
        furthest = max(far, key=lambda one: far[one])
        if far[talk.caller] < far[furthest] and furthest.held >= far[furthest]:
            more = [one for one in furthest.turns if one.why in (None, LASTED)]
            must(not more, "back-pressure", "{} makes room, and {} are further behind", talk, more)

    def _check_busy(self, talk: Talk, now: float, *, unsent: bool) -> None:
        server, settings = talk.server, self._settings
        assert server is not None
        if unsent:
            must(server.blocked_at == now, "back-pressure", "{} is busy, and the service takes frames", talk)
            return
        must(bool(talk.waits), "back-pressure", "{} is busy, and nothing waits", talk)
        since = talk.waits[0][1]
        long = now - since >= settings.busy_after
        much = talk.waiting > settings.held_bytes
        must(long or much or self._tight, "back-pressure", "{} is busy, waits since {:.3f}", talk, since)

    # --- who comes and goes ----------------------------------------------------------------------------

    def announced(self, here: bool, instance: Instance, now: float) -> None:
        """A service registered, or is gone."""
        book = self._book
        if here:
            new = next((one for one in book.arrived if one.identity == instance.identity), None)
            must(new is not None, "HINV-17", "{!r} is announced", instance.identity)
            assert new is not None
            book.arrived.remove(new)
            new.instance = instance
            book.known[instance] = new
            return
        known = next((one for one in book.departed if one.instance is instance), None)
        if known is None:
            server = book.servers.get(instance.identity)
            must(server is not None and server.instance is instance, "HINV-7", "{!r} is gone twice", instance)
            assert server is not None
            self._silent(server, now)
            known = server
        book.departed.remove(known)

    def _silent(self, server: Server, now: float) -> None:
        """The hub gives it up."""
        silent = now - server.heard
        must(silent >= self._settings.dead_after, "HINV-7", "{} is silent for {:.3f} s", server, silent)
        must(now >= self._book.lenient, "HINV-7", "{} died while the hub was asleep", server)
        asked = max(server.pinged, server.blocked_at) > server.heard
        must(asked, "HINV-7", "{} was not asked", server)
        self._book.gone(server, now)
        self._book.counts["services found dead"] += 1

    def unreachable(self, instance: Instance, now: float) -> None:
        """The ROUTER does not know it any more, and the hub is told."""
        server = self._book.known.get(instance)
        if server is None:
            self._server(instance).blocked_at = now  # it was said to somebody who had not registered
        elif self._book.servers.get(instance.identity) is server:
            self._book.gone(server, now)

    def disconnected(self, now: float) -> None:
        """The hub is told that some service has gone."""
        self._book.epoch += 1
        self._book.asks_since = min(self._book.asks_since, now)
