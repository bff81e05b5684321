"""Random conversations of Python's machines, written as the vectors are: for other languages to replay."""

import math
import random
from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec

from framehub.codes import BinaryKind, Service
from framehub.errors import LocalProtocolError, RemoteProtocolError, StreamAborted
from framehub.mfp import codec, plain
from framehub.mfp.checksum import Checksums
from framehub.mfp.connection import Connection
from framehub.mfp.events import Event
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.mfp.settings import Settings

OTHER = {"A": "B", "B": "A"}
LAST = 2**32 - 1
KEYED = (BinaryKind.EXPECTED, BinaryKind.STREAMING)
DEEDS = (
    ["request", "message", "file", "chunk"] * 2
    + ["respond", "respond", "refuse", "cancel", "give_up", "abort_stream", "ping"]
)  # fmt: skip


def told(event: Event) -> dict[str, Any]:
    """An event as the vectors write it."""
    name = "".join(f"_{c.lower()}" if c.isupper() else c for c in type(event).__name__).lstrip("_")
    value: dict[str, Any] = {"type": name}
    for field, content in msgspec.structs.asdict(event).items():
        if field == "frame":
            value[field] = plain.to_plain(content)
        elif field != "left_out":
            value[field] = content.name.lower() if isinstance(content, Service) else content
        elif content:
            value[field] = [list(entry) for entry in content]
    return value


class Talk:
    """Two sides and the wire between them, driven at random; side A may be written by hand."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        pick = self.random.choice
        self.hands = ["A"] if self.random.random() < 0.6 else []
        self.checksums = Checksums(pick(("flag", "flag", "always", "off")), pick(("crc32", "xor8")))
        self.verify_always = self.checksums.mode == "flag" and self.random.random() < 0.1
        self.settings = {side: self._settings() for side in OTHER}
        self.first = {side: pick((1, 1, LAST - 4, LAST)) for side in OTHER}
        self.machines = {
            side: Connection(
                Settings(
                    checksums=self.checksums, verify_always=self.verify_always, **self.settings[side]
                ),
                first_id=self.first[side],
            )
            for side in OTHER
            if side not in self.hands
        }  # fmt: skip
        self.wire: dict[str, deque[bytes]] = {side: deque() for side in self.machines}
        self.steps: list[dict[str, Any]] = []
        self.now = 0.0
        self.refused = False
        self.to_be_acked: set[tuple[str, Any]] = set()

    def _settings(self) -> dict[str, Any]:
        pick = self.random.choice
        return {
            **{f"max_{name}": pick((1, 2, 50)) for name in ("requests", "streams", "announced")},
            **{f"max_{name}": pick((2, 1_000)) for name in ("strikes", "cancels", "pings", "strays")},
            "max_waiting_bytes": pick((3, 6, 1_000)),
            "max_files": pick((2, 4)),
            "max_frame_bytes": pick((64, 5_000)),
            "request_timeout": 7.0,
            "progress_timeout": 5.25,
            "bad_files": pick(("drop", "deliver")),
            "keepalive": pick((math.inf, math.inf, 4.0, 8.0)),
            "idle_timeout": pick((math.inf, math.inf, 10.0)),
        }

    def play(self) -> None:
        for _ in range(self.random.randint(5, 60)):
            chance = self.random.random()
            if chance < 0.12:
                self._wait(self.random.random() * self.random.choice((2, 2, 12)))
            elif self.hands and chance < 0.55:
                self._say_by_hand()
            elif chance < 0.5:
                self._deliver_one()
            else:
                self._do(self.random.choice(list(self.machines)), self.random.choice(DEEDS))
            if self.refused:
                return
        while self._deliver_one() and not self.refused:
            pass

    # --- steps -----------------------------------------------------------------------------------------

    def _wait(self, seconds: float) -> None:
        self.now = round(self.now + seconds, 3)
        self.steps.append({"now": self.now})
        for side, machine in self.machines.items():
            self._seen(side, machine.tick(self.now))
        self._drain()

    def _seen(self, side: str, events: list[Event]) -> None:
        self.steps.extend({"side": side, "sees": told(event)} for event in events)

    def _drain(self) -> None:
        for side, machine in self.machines.items():
            self.wire[side].extend(sent.data for sent in machine.drain())

    def _deliver_one(self) -> bool:
        talking = [side for side, frames in self.wire.items() if frames]
        if talking:
            side = self.random.choice(talking)
            self._deliver(side, self.wire[side].popleft())
        return bool(talking)

    def _deliver(self, side: str, data: bytes) -> None:
        self._wait(0.001)  # no two things become overdue at the same moment: their order is nobody's promise
        self.steps.append({"side": side, "sends": data.hex()})
        receiver = OTHER[side]
        if receiver not in self.machines:
            return
        try:
            event = self.machines[receiver].receive(data, self.now).event
        except RemoteProtocolError as exc:
            self.steps.append({"side": receiver, "refuses": "", "error": type(exc).__name__})
            self.refused = True
        else:
            self._seen(receiver, [event] if event else [])
        self._drain()

    def _say_by_hand(self) -> None:
        try:
            data = codec.encode(self._frame(), self.checksums)
        except LocalProtocolError:
            return
        self._deliver("A", data)

    def _id(self, side: str) -> int:
        """One that this side may have used, or may use next."""
        return (self.first[side] - 1 + self.random.randint(0, 9)) % LAST + 1

    def _frame(self) -> Frame:
        some, pick = self.random.random, self.random.choice
        id_, payload, summed, ack = self._id("A"), bytes(pick(range(4))), some() < 0.2, some() < 0.2
        kind = pick(("request", "response", "message", "message", "binary", "binary", "service"))
        if kind == "request":
            return RequestFrame(id_, payload, (), ack, summed)
        if kind == "response":
            return ResponseFrame(id_, self._id("B"), payload, (), ack, summed)
        if kind == "message":
            expected, streaming = pick((((), False), ((), True), ((1, 3), False), ((2, 1, 3), False)))
            return MessageFrame(
                id=id_, payload=payload, expected=expected, streaming=streaming, need_ack=ack, checksum=summed
            )
        if kind == "binary":
            of = pick((*BinaryKind, BinaryKind.EXPECTED, BinaryKind.EXPECTED))
            return BinaryFrame(
                id=id_,
                ref=self._id("A"),
                kind=of,
                key=pick(range(1, 5)) if of in KEYED else None,
                data=b"" if of is BinaryKind.NONE else payload,
                final=some() < 0.3,
                need_ack=ack,
                checksum=summed,
            )
        code, own = pick(list(Service)), some() < 0.5
        ref = id_ if code is Service.PING else self._id("A" if own else "B")
        return ServiceFrame(id=id_, code=code, ref=ref, own=own or code is Service.PING, checksum=summed)

    def _do(self, side: str, does: str) -> None:
        pick, mine, theirs = self.random.choice, self._id(side), self._id(OTHER[side])
        flags = {name: True for name in ("need_ack", "checksum") if self.random.random() < 0.2}
        payload, data = "x" * pick(range(4)), "00" * pick(range(4))
        deeds: dict[str, dict[str, Any]] = {
            "request": {"payload": payload, "timeout": pick((1.0, 3.0, 20.0)), **flags},
            "message": {"payload": payload, **flags, **pick(({}, {"expected": [3, 1]}, {"streaming": True}))},
            "file": {"ref": mine, "key": pick((1, 3)), "data": data, **flags},
            "chunk": {"ref": mine, "data": data, **flags, **pick(({}, {"key": 7}, {"final": True}))},
            "respond": {"ref": theirs, "payload": payload, **flags},
            "refuse": {"ref": theirs},
            "cancel": {"id": mine},
            "give_up": {"ref": mine},
            "abort_stream": {"ref": theirs},
            "ping": {},
        }
        if does in {"cancel", "give_up"} and (side, mine) in self.to_be_acked:
            return  # nobody gives up what is only to be acknowledged
        if does == "request":
            self._wait(0.001)
        given = deeds[does]
        call = {"id_" if name == "id" else name: value for name, value in given.items()}
        if "payload" in call:
            call["payload"] = payload.encode()
        if "data" in call:
            call["data"] = bytes.fromhex(data)
        if "expected" in call:
            call["expected"] = tuple(call["expected"])
        if does in {"request", "ping"}:
            call["now"] = self.now
        step: dict[str, Any] = {"side": side, "does": does, "with": given}
        try:
            step["gives"] = getattr(self.machines[side], does)(**call)
        except (LocalProtocolError, StreamAborted):
            step["fails"] = ""
        if "need_ack" in given:
            self.to_be_acked.add((side, step.get("gives")))
        self.steps.append(step)
        self._drain()


def conversations(first_seed: int) -> Iterator[dict[str, Any]]:
    """Cases for a file of conversations, without end."""
    seed = first_seed
    while True:
        talk = Talk(seed)
        talk.play()
        seed += 1
        if talk.refused and not talk.hands:
            continue  # what two machines still have to say to each other then is nobody's business
        for side, frames in talk.wire.items():
            talk.steps.extend({"side": side, "sends": data.hex()} for data in frames)
        case = {
            "name": f"seed {seed - 1}",
            "checksum": {"mode": talk.checksums.mode, "algorithm": talk.checksums.algorithm},
            "verify_always": talk.verify_always,
            "hands": talk.hands,
            "settings": _without_never(talk.settings),
            "first_id": talk.first,
            "steps": talk.steps,
        }
        if not talk.refused:
            case["pending"] = {side: machine.pending for side, machine in talk.machines.items()}
            case["ignored"] = {side: machine.ignored for side, machine in talk.machines.items()}
        yield case


def _without_never(settings: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """JSON has no infinity; what is left out is never."""
    return {
        side: {name: value for name, value in given.items() if value != math.inf}
        for side, given in settings.items()
    }
