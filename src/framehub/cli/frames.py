"""``framehub decode`` and ``framehub encode``: frames explained, and made by hand."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from framehub.cli.rows import printable
from framehub.errors import LocalProtocolError, MalformedFrame
from framehub.mfp import codec, envelope, plain
from framehub.mfp.checksum import ALGORITHMS, MODES, Checksums
from framehub.mfp.envelope import BadEnvelope
from framehub.mfp.frames import BinaryFrame, Frame, ServiceFrame

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
    """Explain one frame, field by field."""


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
        try:
            data = bytes.fromhex(text)
        except ValueError:
            raise click.UsageError(f"{number}not hex: {text[:40]!r}") from None
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
