"""``framehub decode`` and ``framehub encode``: frames explained, and made by hand."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from framehub.cli import hub_frames
from framehub.cli.rows import printable
from framehub.codes import Message
from framehub.errors import LocalProtocolError, MalformedFrame
from framehub.hub.headers import Way
from framehub.journal.rpc_rows import PAYLOADS, split
from framehub.mfp import codec, envelope, plain
from framehub.mfp.checksum import ALGORITHMS, MODES, Checksums
from framehub.mfp.envelope import BadEnvelope
from framehub.mfp.frames import BinaryFrame, Frame, ServiceFrame
from framehub.rpc import messages
from framehub.rpc.messages import TYPES

checksum_options = [
    click.option(
        "--checksum",
        "mode",
        type=click.Choice(MODES),
        default="flag",
        show_default=True,
        help="Checksums of the connection: off, by flag, always.",
    ),
    click.option(
        "--algorithm",
        type=click.Choice(list(ALGORITHMS)),
        default="crc32",
        show_default=True,
        help="How checksums are made.",
    ),
]


def _with_checksums(command: Any) -> Any:
    for option in reversed(checksum_options):
        command = option(command)
    return command


@click.group()
def decode() -> None:
    """Explain one frame or message, field by field."""


@click.group()
def encode() -> None:
    """Make a frame from JSON as ``decode --json`` prints it."""


@decode.command("mfp")
@click.argument("frame", metavar="HEX|-")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per frame.")
@_with_checksums
def decode_mfp(frame: str, as_json: bool, mode: Any, algorithm: Any) -> None:
    """Explain an MFP frame given as HEX; - reads one per line from stdin.

    Exits with 1, the reason and the offset if it is malformed.
    """
    checksums = Checksums(mode, algorithm)
    failed = False
    for number, text in _inputs(frame):
        data = _hex(number, text)
        try:
            decoded = codec.decode(data, checksums)
        except MalformedFrame as exc:
            failed = True
            click.echo(f"{number}malformed: {exc}", err=True)
            if as_json:
                click.echo(json.dumps({"malformed": {"reason": exc.reason, "offset": exc.offset}}))
            continue
        if as_json:
            click.echo(json.dumps(plain.to_plain(decoded)))
        else:
            for line in _explain(decoded, data):
                click.echo(printable(line))
    if failed:
        sys.exit(1)


@decode.command("rpc")
@click.argument("message", metavar="HEX|-")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per message.")
def decode_rpc(message: str, as_json: bool) -> None:
    """Explain a message of remote functions given as HEX; - reads one per line from stdin.

    The HEX is that of `raw` in a journal: every part after its length in 4 bytes, with the identity of the
    peer first, or without. Exits with 1 and the reason if it is malformed.
    """
    failed = False
    for number, text in _inputs(message):
        data = _hex(number, text)
        try:
            identity, ways, parts = _message(data)
        except MalformedFrame as exc:
            failed = True
            click.echo(printable(f"{number}malformed: {exc}"), err=True)
            if as_json:
                click.echo(json.dumps({"malformed": {"reason": exc.reason, "offset": exc.offset}}))
            continue
        said = messages.explain(ways[0], parts)
        if as_json:
            whose = {} if identity is None else {"identity": identity.hex()}
            click.echo(json.dumps({**whose, **said, "ways": [way.value for way in ways]}))
            continue
        for line in _explain_message(identity, ways, parts, len(data)):
            click.echo(printable(line))
    if failed:
        sys.exit(1)


@decode.command("hub")
@click.argument("frame", metavar="HEX|-")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per frame.")
@click.option(
    "--version", type=click.Choice(["1", "2"]), default="2", show_default=True, help="Of the link it was on."
)
@click.option(
    "--way",
    type=click.Choice([way.value for way in Way]),
    help="Who says it to whom; without it, all who may.",
)
def decode_hub(frame: str, as_json: bool, version: str, way: str | None) -> None:
    """Explain a frame of the hub given as HEX; - reads one per line from stdin.

    What a first frame carries depends on its way. Exits with 1 and the reason if it is malformed.
    """
    failed = False
    for number, text in _inputs(frame):
        data = _hex(number, text)
        try:
            found = hub_frames.readings(data, int(version), Way(way) if way else None)
        except MalformedFrame as exc:
            failed = True
            click.echo(f"{number}malformed: {exc}", err=True)
            if as_json:
                click.echo(json.dumps({"malformed": {"reason": exc.reason, "offset": exc.offset}}))
            continue
        if as_json:
            said = next(iter(found.values()))
            ways = [one.value for one, other in found.items() if other == said]
            click.echo(json.dumps({**hub_frames.as_json(said), "ways": ways}))
            continue
        state = next(iter(found.values())).state
        click.echo(f"{state.name} frame, version {version}, {len(data)} bytes")
        for name, value in hub_frames.explained(found):
            shown = _preview(value) if isinstance(value, bytes) else value
            click.echo(printable(f"  {name:<8} {shown}"))
    if failed:
        sys.exit(1)


@encode.command("mfp")
@click.argument("frame", metavar="JSON|-")
@_with_checksums
def encode_mfp(frame: str, mode: Any, algorithm: Any) -> None:
    """Print the hex of an MFP frame given as JSON; - reads one per line from stdin."""
    for number, text in _inputs(frame):
        try:
            value = json.loads(text)
        except ValueError as exc:
            raise click.UsageError(f"{number}not JSON: {exc}") from None
        try:
            click.echo(codec.encode(plain.from_plain(value), Checksums(mode, algorithm)).hex())
        except LocalProtocolError as exc:
            raise click.ClickException(f"{number}{exc}") from exc


def _inputs(argument: str) -> Iterator[tuple[str, str]]:
    """The argument itself, or every line of stdin with its number."""
    if argument != "-":
        yield "", argument
        return
    for number, line in enumerate(sys.stdin, start=1):
        if line.strip():
            yield f"line {number}: ", line.strip()


def _hex(number: str, text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise click.UsageError(f"{number}not hex: {text[:40]!r}") from None


def _message(data: bytes) -> tuple[bytes | None, list[messages.Way], list[bytes]]:
    """Whose identity stands first, if one does; which ways the message may go; its parts."""
    parts = split(data)
    identity = None
    type_ = messages.type_of(parts)
    if type_ is None and messages.type_of(parts[1:]) is not None:
        identity, *parts = parts
        type_ = messages.type_of(parts)
    at = 0 if identity is None else 4 + len(identity)
    if type_ is None:
        raise MalformedFrame("none of the first two parts names a type of message", offset=at)
    ways = [way for way in messages.Way if type_ in messages.FIELDS[way]]
    reasons = [messages.fault(way, parts) for way in ways]
    if all(reasons):
        raise MalformedFrame(str(reasons[0]), offset=at)
    return identity, [way for way, reason in zip(ways, reasons, strict=True) if not reason], parts


def _explain_message(
    identity: bytes | None, ways: list[messages.Way], parts: list[bytes], size: int
) -> Iterator[str]:
    """A message for people: one part a line."""
    type_ = TYPES[parts[0]]
    many = "1 part" if len(parts) == 1 else f"{len(parts)} parts"
    yield f"{type_} message, {many}, {size} bytes with their lengths"
    yield f"  {'from':<16}{' or '.join(way.value.replace('-', ' to ') for way in ways)}"
    if identity is not None:
        yield f"  {'identity':<16}{identity.hex()}"
    if type_ is Message.WORKER_REGISTER:
        for function, argument, result in messages.functions_of(parts):
            yield f"  {'function':<16}{function.decode()}: {argument.decode()} -> {result.decode()}"
        return
    for field, part in zip(messages.FIELDS[ways[0]][type_], parts[1:], strict=True):
        is_long = field in PAYLOADS and field != "reason"
        shown = part.hex() if field == "id" else _preview(part) if is_long else part.decode()
        yield f"  {field.replace('_', ' '):<16}{shown}"


def _explain(frame: Frame, data: bytes) -> Iterator[str]:  # noqa: PLR0912
    """A frame for people: one field a line, with where it stands."""
    fields = plain.to_plain(frame)
    yield f"{fields['type']} frame, {len(data)} bytes"
    yield f"  {'head':<9}{data[0]:08b}  sub-protocol {data[0] >> 5}, flags {data[0] & 15:04b}"
    yield f"  {'id':<9}{frame.id}"
    if "ref_id" in fields:
        whose = ""
        if isinstance(frame, ServiceFrame):
            whose = "  (the sender's own)" if frame.own else "  (the receiver's)"
        yield f"  {'ref':<9}{fields['ref_id']}{whose}"
    if isinstance(frame, ServiceFrame):
        yield f"  {'code':<9}{fields['code']}"
    elif isinstance(frame, BinaryFrame):
        yield f"  {'kind':<9}{fields['kind']}{', the last one' if frame.final else ', more follow'}"
        if frame.key is not None:
            yield f"  {'key':<9}{frame.key}"
        if frame.data:
            yield f"  {'data':<9}{_preview(frame.data)}"
    else:
        if frame.payload:
            yield f"  {'payload':<9}{_preview(frame.payload)}"
            yield from _explain_envelope(frame.payload)
        for key, blob in frame.files:
            yield f"  {'file':<9}key {key}, {_preview(blob)}"
        for key in fields.get("expected", []):
            yield f"  {'expects':<9}key {key}"
        if fields.get("streaming"):
            yield f"  {'stream':<9}begins"
    if not isinstance(frame, ServiceFrame) and frame.need_ack:
        yield f"  {'ack':<9}wanted"
    if frame.checksum:
        yield f"  {'checksum':<9}right"


def _explain_envelope(payload: bytes) -> Iterator[str]:
    try:
        opened = envelope.decode_ahead(payload)
    except BadEnvelope:
        return
    yield f"  {'endpoint':<9}{opened.endpoint}"


def _preview(blob: bytes) -> str:
    text = blob[:60].decode("utf-8", errors="replace")
    shown = text if text.isprintable() else blob[:30].hex(" ")
    return f"{len(blob)} bytes: {shown}{'...' if len(blob) > 60 else ''}"
