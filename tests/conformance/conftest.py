"""The vector files of spec/vectors/mfp: their shape, and one test per case.

``spec/vectors/SCHEMA.json`` is made from the classes below; ``test_vectors.py`` keeps the two equal.
"""

import re
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import pytest
from msgspec import Meta, Struct

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "spec" / "vectors"

Hex: TypeAlias = Annotated[
    str, Meta(pattern="^([0-9a-f]{2} ?)*$", description="bytes; spaces are for the eye")
]
Rule: TypeAlias = Annotated[
    str, Meta(pattern=r"^MFP(-\d+)(\.\d+)+$", description="a rule of spec/mfp.md, named as there")
]
Rules: TypeAlias = Annotated[list[Rule], Meta(min_length=1)]
Side: TypeAlias = Literal["A", "B"]
Plain: TypeAlias = Annotated[dict[str, Any], Meta(description="see docs/reference/frames-as-json.md")]


class Checksum(Struct, frozen=True, forbid_unknown_fields=True):
    """What the two sides agreed on."""

    mode: Literal["off", "flag", "always"] = "flag"
    algorithm: Literal["crc32", "xor8"] = "crc32"


class Case(Struct, kw_only=True, forbid_unknown_fields=True):
    """What all cases have: a sentence that must be true, and the rules it shows."""

    name: str
    rules: Rules
    checksum: Checksum = Checksum()
    verify_always: bool = False
    """Whether the receiver verifies every frame, whatever its checksum bit says."""


class FrameCase(Case, kw_only=True, forbid_unknown_fields=True):
    """Bytes and their meaning."""

    hex: Hex
    frame: Plain
    asked: Plain | None = None
    """Another frame whose bytes are the same, since the checksum mode decides on the checksum."""
    canonical: bool = True
    """False: these bytes are read, but the frame is sent as others."""


class Malformed(Struct, forbid_unknown_fields=True):
    """The error, part of its reason, and the byte at fault."""

    type: Literal["MalformedFrame", "ChecksumFailed"]
    reason: str
    offset: int


class MalformedCase(Case, kw_only=True, forbid_unknown_fields=True):
    """Bytes that are no frame."""

    hex: Hex
    error: Malformed
    max_files: int | None = None
    max_payload: int | None = None


class UnsendableCase(Case, kw_only=True, forbid_unknown_fields=True):
    """A value that no frame can carry, and part of the reason."""

    frame: Plain
    reason: str


class EnvelopeCase(Case, kw_only=True, forbid_unknown_fields=True):
    """A payload with what it says, or part of the reason why it says nothing."""

    payload: str | None = None
    payload_hex: Hex | None = None
    files: list[int] = []
    """Keys of the attached files."""
    envelope: dict[str, Any] | None = None
    reason: str | None = None
    canonical: bool = True
    hex: Hex | None = None
    """A frame that has this payload."""


class Step(Struct, omit_defaults=True, forbid_unknown_fields=True):
    """One of: the clock goes on (both sides look at it); a side's owner does something; a side sends a frame,
    which reaches the other side at once; a side's owner sees an event; a side refuses what it just got."""

    now: float | None = None
    side: Side | None = None
    does: (
        Literal[
            "request",
            "message",
            "file",
            "chunk",
            "respond",
            "refuse",
            "cancel",
            "give_up",
            "abort_stream",
            "ping",
        ]
        | None
    ) = None
    with_: dict[str, Any] = msgspec.field(default_factory=dict, name="with")
    gives: Any = msgspec.UNSET
    fails: str | None = None
    sends: Hex | None = None
    sees: dict[str, Any] | None = None
    refuses: str | None = None
    error: Literal["RemoteProtocolError", "MalformedFrame", "ChecksumFailed", "PeerMisbehaved"] | None = None


class ConversationCase(Case, kw_only=True, forbid_unknown_fields=True):
    """Two sides, and all that is sent and seen: nothing else may be."""

    hands: list[Side] = []
    settings: dict[Side, dict[str, int | float | str]] = {}
    first_id: dict[Side, int] = {}
    steps: Annotated[list[Step], Meta(min_length=1)]
    pending: dict[Side, int] = {}
    ignored: dict[Side, int] = {}


class VectorFile(Struct, kw_only=True, tag_field="kind", forbid_unknown_fields=True):
    """A file of cases of one kind."""

    spec: Annotated[str, Meta(pattern=r"^mfp\.md#\d$")]
    about: str


class Frames(VectorFile, kw_only=True, tag="frame", forbid_unknown_fields=True):
    """Bytes that are frames."""

    cases: list[FrameCase]


class Malformeds(VectorFile, kw_only=True, tag="malformed", forbid_unknown_fields=True):
    """Bytes that are none."""

    cases: list[MalformedCase]


class Unsendables(VectorFile, kw_only=True, tag="unsendable", forbid_unknown_fields=True):
    """Values that become no bytes."""

    cases: list[UnsendableCase]


class Envelopes(VectorFile, kw_only=True, tag="envelope", forbid_unknown_fields=True):
    """Payloads."""

    cases: list[EnvelopeCase]


class Conversations(VectorFile, kw_only=True, tag="conversation", forbid_unknown_fields=True):
    """Who sends what, and what comes of it."""

    cases: list[ConversationCase]


AnyFile: TypeAlias = Frames | Malformeds | Unsendables | Envelopes | Conversations
KINDS: dict[str, type[VectorFile]] = {
    "frame_case": Frames,
    "malformed_case": Malformeds,
    "unsendable_case": Unsendables,
    "envelope_case": Envelopes,
    "conversation_case": Conversations,
}


def load() -> dict[str, AnyFile]:
    decoder = msgspec.json.Decoder(AnyFile)
    return {path.name: decoder.decode(path.read_bytes()) for path in sorted((VECTORS / "mfp").glob("*.json"))}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes ``frame_case`` once for every frame case of every file, and so on."""
    for fixture, kind in KINDS.items():
        if fixture in metafunc.fixturenames:
            cases = [case for file in load().values() if type(file) is kind for case in file.cases]
            metafunc.parametrize(fixture, cases, ids=[case.name for case in cases])


@pytest.fixture(scope="session")
def vector_files() -> dict[str, AnyFile]:
    return load()


@pytest.fixture(scope="session")
def vector_schema() -> dict[str, Any]:
    """What SCHEMA.json has to be."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "MFP vectors"}
    made: dict[str, Any] = dedented(msgspec.json.schema(AnyFile))
    return schema | made


def dedented(schema: Any) -> Any:
    """Descriptions are docstrings: before Python 3.13 they keep the indentation of the source."""
    if isinstance(schema, dict):
        return {key: dedented(value) for key, value in schema.items()}
    if isinstance(schema, list | tuple):
        return [dedented(value) for value in schema]
    return cleandoc(schema) if isinstance(schema, str) else schema


@pytest.fixture(scope="session")
def spec_text() -> str:
    return (ROOT / "spec" / "mfp.md").read_text()


@pytest.fixture(scope="session")
def rules(spec_text: str) -> list[str]:
    """Every rule of the spec, in its order."""
    return re.findall(r"^- \[(MFP-[\d.]+)\]", spec_text, re.MULTILINE)
