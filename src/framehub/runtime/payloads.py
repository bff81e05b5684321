"""What payloads say: envelopes with their files, packed to be sent and opened when they came."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import UNSET

from framehub.mfp import envelope
from framehub.mfp.envelope import BadEnvelope, Envelope
from framehub.mfp.events import Event, MessageReceived
from framehub.mfp.frames import Files, Frame, MessageFrame, RequestFrame, ResponseFrame
from framehub.runtime.files import File, received

Opened: TypeAlias = Envelope | BadEnvelope
"""A payload that was looked into."""


def pack(
    endpoint: str, data: Any, files: Mapping[int, File] | None, *, error: Any = None
) -> tuple[bytes, Files]:
    """An envelope's bytes, and the files to attach to it."""
    told = UNSET if error is None else error
    if not files:
        return envelope.encode(endpoint, data, error=told), ()
    names = {key: (file.name, file.type) for key, file in files.items()}
    payload = envelope.encode(endpoint, data, error=told, names=names)
    return payload, tuple((key, file.data) for key, file in files.items())


def unpack(files: Files, opened: Envelope) -> dict[int, File]:
    """Attached bytes with the names that the envelope gives them."""
    if not files:
        return {}
    names = opened.names
    return {key: received(blob, *names[key]) for key, blob in files}


def open_payload(frame: Frame, event: Event | None) -> Opened | None:
    """Look into the payload of a frame that can have one."""
    ahead = False
    if type(event) is MessageReceived:
        frame = event.frame  # with the files that have come
    if type(frame) is not RequestFrame and type(frame) is not ResponseFrame:
        if not isinstance(frame, MessageFrame):
            return None
        ahead = frame.streaming or bool(frame.expected)
    if not frame.payload:
        return BadEnvelope("the frame has no payload")
    try:
        return envelope.decode(frame.payload, None if ahead else frame.files)
    except BadEnvelope as exc:
        return exc


def labels(opened: Opened | None) -> tuple[str | None, str | None]:
    """What the journal says of a payload: its endpoint, and the name of its error."""
    if type(opened) is not Envelope:
        return None, None
    error = opened.error
    return opened.endpoint, None if error is UNSET else envelope.error_name(error)


def known(opened: Opened | None) -> Opened:
    """What came with an event about a payload: it was looked into."""
    assert opened is not None
    return opened
