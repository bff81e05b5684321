"""The vector files of spec/vectors/rpc that are about messages: their shape.

``spec/vectors/rpc/SCHEMA.json`` is made from the classes below; ``test_messages.py`` keeps the two equal.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

ROOT = Path(__file__).parents[3]
VECTORS = ROOT / "spec" / "vectors" / "rpc"

Hex: TypeAlias = Annotated[str, Meta(pattern="^([0-9a-f]{2} ?)*$", description="bytes")]
Rule: TypeAlias = Annotated[
    str, Meta(pattern=r"^RPC(-\d+)(\.\d+)+$", description="a rule of spec/rpc.md, named as there")
]
Rules: TypeAlias = Annotated[list[Rule], Meta(min_length=1)]
Way: TypeAlias = Literal["client-proxy", "proxy-client", "worker-proxy", "proxy-worker"]


class Case(Struct, kw_only=True, forbid_unknown_fields=True):
    """What all cases have: a sentence that must be true, and the rules it shows."""

    name: str
    rules: Rules


class MessageCase(Case, kw_only=True, forbid_unknown_fields=True):
    """Parts and what they say."""

    way: Way
    parts: list[Hex]
    message: dict[str, Any]
    canonical: bool = True
    """False: these parts are read, but the message is written as others."""


class BadMessageCase(Case, kw_only=True, forbid_unknown_fields=True):
    """Parts that are no message, and a piece of the reason."""

    way: Way
    parts: list[Hex]
    reason: str


class Raw(Struct, frozen=True, forbid_unknown_fields=True):
    """A part that is not written as text."""

    hex: Hex
    times: int = 1


Part: TypeAlias = str | Raw


class Step(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """One of: a peer says, hears or does something; the clock goes on; the proxy sleeps."""

    client: str | None = None
    worker: str | None = None
    says: list[Part] | None = None
    hears: list[Part] | None = None
    does: Literal["vanishes", "blocks", "reads"] | None = None
    now: float | None = None
    asleep_until: float | None = None

    @property
    def peer(self) -> tuple[str, str]:
        """Which side, and its name."""
        return ("client", self.client) if self.client is not None else ("worker", self.worker or "")


class DialogCase(Case, kw_only=True, forbid_unknown_fields=True):
    """A proxy between clients and workers: all that it says, and nothing else."""

    sockets: bool
    settings: dict[str, int | float | bool] = {}
    age: float = 60.0
    missing: list[str] = []
    begun: list[Hex] = []
    identities: dict[str, Hex | None] = {}
    steps: Annotated[list[Step], Meta(min_length=1)]

    def identity(self, name: str) -> bytes:
        """The identity of a peer; one as ROUTERs make them for a peer that has none."""
        given = self.identities.get(name, name.encode().hex())
        return bytes.fromhex(given) if given is not None else b"\0\x80\0\0\x29"


class VectorFile(Struct, kw_only=True, tag_field="kind", forbid_unknown_fields=True):
    """A file of cases of one kind."""

    spec: Annotated[str, Meta(pattern=r"^rpc\.md#\d$")]
    about: str


class Messages(VectorFile, kw_only=True, tag="message", forbid_unknown_fields=True):
    """Lawful messages."""

    cases: list[MessageCase]


class BadMessages(VectorFile, kw_only=True, tag="bad_message", forbid_unknown_fields=True):
    """Parts that are none."""

    cases: list[BadMessageCase]


class Dialogs(VectorFile, kw_only=True, tag="dialog", forbid_unknown_fields=True):
    """What a proxy says."""

    key: Hex
    cases: list[DialogCase]


AnyFile: TypeAlias = Messages | BadMessages | Dialogs
FILES = ("messages.json", "malformed.json", "dialogs.json")
KINDS: dict[str, type[VectorFile]] = {
    "message_case": Messages,
    "bad_message_case": BadMessages,
    "dialog_case": Dialogs,
}


def load() -> dict[str, AnyFile]:
    """Every such file, by its name."""
    decoder = msgspec.json.Decoder(AnyFile)
    return {name: decoder.decode((VECTORS / name).read_bytes()) for name in FILES}


def dialogs() -> Dialogs:
    """The dialogs, and the key they were made with."""
    file = load()["dialogs.json"]
    assert isinstance(file, Dialogs)
    return file


def schema() -> dict[str, Any]:
    """What SCHEMA.json has to be."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "RPC vectors"}
    return head | msgspec.json.schema(AnyFile)


def unpacked(parts: list[Part]) -> list[bytes]:
    """The parts of a step as they go over the wire."""
    return [_unpacked(part) for part in parts]


def _unpacked(part: Part) -> bytes:
    return part.encode() if isinstance(part, str) else bytes.fromhex(part.hex) * part.times
