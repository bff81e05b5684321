"""The vector files of spec/vectors/hub: their shape.

``spec/vectors/hub/SCHEMA.json`` is made from the classes below; ``test_frames.py`` keeps the two equal.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from framehub.codes import HubState
from framehub.hub.headers import HubFrame, Settings

ROOT = Path(__file__).parents[3]
VECTORS = ROOT / "spec" / "vectors" / "hub"

Hex: TypeAlias = Annotated[
    str, Meta(pattern="^([0-9a-f]{2} ?)*$", description="bytes; spaces are for the eye")
]
Rule: TypeAlias = Annotated[
    str, Meta(pattern=r"^HUB-\d+\.\d+$", description="a rule of spec/hub.md, named as there")
]
Rules: TypeAlias = Annotated[list[Rule], Meta(min_length=1)]
Way: TypeAlias = Literal["client-hub", "hub-client", "service-hub", "hub-service"]
Version: TypeAlias = Literal[1, 2]
Promise: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^(HUB-R[1-7]|HOLE-[1-4])$",
        description="R1 all is answered, R2 clients that go, R3 services that go, R4 all are told,"
        " R5 timeouts, R6 pings, R7 closing; holes that are shut: 1 foreign clients, 2 foreign services,"
        " 3 the dead, 4 reopening",
    ),
]


class Case(Struct, kw_only=True, forbid_unknown_fields=True):
    """What all cases have: a sentence that must be true, and the rules it shows."""

    name: str
    rules: Rules


class Record(Struct, forbid_unknown_fields=True):
    """Settings."""

    version: Version
    timeout_ms: int
    service: int


class Fields(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a frame says; ``number`` is the service or the user of a first frame."""

    stream: int
    state: str
    parameter: int
    body: Hex = ""
    number: int | None = None
    settings: Record | None = None

    def frame(self) -> HubFrame:
        """As our code has it."""
        record = self.settings
        settings = Settings(record.version, record.timeout_ms, record.service) if record else None
        body = bytes.fromhex(self.body)
        return HubFrame(self.stream, HubState[self.state], self.parameter, body, self.number, settings)


class FrameCase(Case, kw_only=True, forbid_unknown_fields=True):
    """Bytes and what they say."""

    version: Version
    way: Way
    hex: Hex
    frame: Fields


class BadFrameCase(Case, kw_only=True, forbid_unknown_fields=True):
    """Bytes that are no frame this way, a piece of the reason, and the offset at fault."""

    version: Version
    way: Way
    hex: Hex
    reason: str
    offset: int


class Step(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """One of: a peer says, hears or does something; the clock goes on; the hub sleeps or stops."""

    client: str | None = None
    service: str | None = None
    says: Hex | None = None
    parts: list[Hex] | None = None
    hears: Hex | None = None
    text: str = ""
    does: Literal["leaves", "vanishes", "returns", "blocks", "reads"] | None = None
    closed: int | None = None
    now: float | None = None
    asleep_until: float | None = None
    hub: Literal["stops"] | None = None

    @property
    def peer(self) -> tuple[str, str]:
        """Which side, and its name."""
        return ("client", self.client) if self.client is not None else ("service", self.service or "")

    @property
    def message(self) -> list[bytes]:
        """The parts that a peer says."""
        assert self.says is not None or self.parts is not None
        return [bytes.fromhex(part) for part in (self.parts if self.says is None else [self.says]) or ()]

    @property
    def heard(self) -> bytes:
        """All bytes of what a peer hears."""
        assert self.hears is not None
        return bytes.fromhex(self.hears) + self.text.encode()


class ConversationCase(Case, kw_only=True, forbid_unknown_fields=True):
    """A hub between clients and services: all that it says, and nothing else."""

    promises: list[Promise] = []
    sockets: bool
    settings: dict[str, int | float] = {}
    clients: dict[str, Version] = {}
    users: dict[str, int] = {}
    steps: Annotated[list[Step], Meta(min_length=1)]


class VectorFile(Struct, kw_only=True, tag_field="kind", forbid_unknown_fields=True):
    """A file of cases of one kind."""

    spec: Annotated[str, Meta(pattern=r"^hub\.md#\d+$")]
    about: str


class Frames(VectorFile, kw_only=True, tag="frame", forbid_unknown_fields=True):
    """Lawful frames."""

    cases: list[FrameCase]


class BadFrames(VectorFile, kw_only=True, tag="bad_frame", forbid_unknown_fields=True):
    """Bytes that are none."""

    cases: list[BadFrameCase]


class Conversations(VectorFile, kw_only=True, tag="conversation", forbid_unknown_fields=True):
    """What a hub says."""

    cases: list[ConversationCase]


AnyFile: TypeAlias = Frames | BadFrames | Conversations
FILES = ("frames.json", "malformed.json", "conversations.json")
KINDS: dict[str, type[VectorFile]] = {
    "hub_frame_case": Frames,
    "bad_hub_frame_case": BadFrames,
    "hub_case": Conversations,
}


def load() -> dict[str, AnyFile]:
    """Every such file, by its name."""
    decoder = msgspec.json.Decoder(AnyFile)
    return {name: decoder.decode((VECTORS / name).read_bytes()) for name in FILES}


def conversations() -> list[ConversationCase]:
    """What the hub says."""
    file = load()["conversations.json"]
    assert isinstance(file, Conversations)
    return file.cases


def schema() -> dict[str, Any]:
    """What SCHEMA.json has to be."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Hub vectors"}
    return head | msgspec.json.schema(AnyFile)
