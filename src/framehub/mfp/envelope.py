"""The envelope: what a payload says to an application (spec/mfp.md, section 7). Pure.

    {"endpoint": "chat", "data": any, "error": any, "filemap": [[key, "name", "type"], ...]}

UTF-8 JSON, keys in this order, absent when not given; values that are false, zero, empty or null are given.
"""

from collections import defaultdict
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from framehub.codes import ErrorCode
from framehub.errors import LocalProtocolError, RemoteProtocolError
from framehub.mfp import strict
from framehub.mfp.frames import Files


class Envelope(Struct, frozen=True, gc=False, forbid_unknown_fields=False):
    """One payload, read."""

    endpoint: Annotated[str, Meta(min_length=1)]
    data: Any = UNSET
    error: Any = UNSET
    filemap: list[tuple[int, str, str]] | UnsetType = UNSET

    @property
    def names(self) -> dict[int, tuple[str, str]]:
        """Name and type of each file by its key; both empty where no name was given."""
        entries = [] if self.filemap is UNSET else self.filemap
        return defaultdict(lambda: ("", ""), {key: (name, type_) for key, name, type_ in entries})


class BadEnvelope(RemoteProtocolError):
    """A payload that is no envelope: told to the sender as ``bad_request``, the connection stays."""


_BINARY = frozenset((bytes, bytearray, memoryview))
_encoder = msgspec.json.Encoder()
_read = msgspec.json.Decoder(Envelope).decode
_SHORT = 2 * (strict.MAX_DEPTH + 1)  # two bytes for each level


def encode(
    endpoint: str,
    data: Any = UNSET,
    *,
    error: Any = UNSET,
    names: dict[int, tuple[str, str]] | None = None,
) -> bytes:
    """The payload's bytes.

    Raises:
        LocalProtocolError: a value that JSON cannot carry, or an empty endpoint.
    """
    if not endpoint or not isinstance(endpoint, str):
        raise LocalProtocolError(f"an endpoint is a name, not {endpoint!r}")
    if type(data) in _BINARY:
        raise LocalProtocolError(f"data for {endpoint!r}: bytes are no JSON; attach a File, or send a stream")
    filemap = [(key, *name) for key, name in names.items()] if names else UNSET
    try:
        return _encoder.encode(Envelope(endpoint, data, error, filemap))
    except (TypeError, ValueError, RecursionError, OverflowError) as exc:
        raise LocalProtocolError(f"data for {endpoint!r} cannot be sent as JSON: {exc}") from exc


def decode(payload: bytes, files: Files | None = ()) -> Envelope:
    """Read a payload; ``files`` must be those that came with it, or None if they are yet to come.

    Raises:
        BadEnvelope: no envelope, or its filemap does not name exactly the attached files.
    """
    try:
        envelope = _read(payload)
    except (msgspec.DecodeError, ValueError, RecursionError) as exc:
        raise BadEnvelope(f"the payload is no envelope: {exc}") from exc
    # Each pair has a colon, 58. As many colons as pairs that were read: no key stands twice, nothing was left
    # unread, and only arrays (91) are nested, besides flat data and an empty object.
    data, colons = envelope.data, payload.count(58)
    pairs = len(data) + 2 if type(data) is dict else 1 if data is UNSET else 2
    is_plain = colons == pairs
    if is_plain and not files and (len(payload) <= _SHORT or payload.count(91) <= strict.MAX_DEPTH - 2):
        return envelope
    if not is_plain:
        pairs += (envelope.error is not UNSET) + (envelope.filemap is not UNSET)
        is_plain = colons == pairs and type(envelope.error) is not dict
    _examine(payload, is_plain=is_plain)
    if files is not None and (files or envelope.filemap is not UNSET):
        _check_filemap(envelope, files)
    return envelope


def decode_ahead(payload: bytes) -> Envelope:
    """Read the payload of a message whose files are yet to come.

    Raises:
        BadEnvelope: no envelope.
    """
    return decode(payload, None)


def _examine(payload: bytes, *, is_plain: bool) -> None:
    """Look closely at what could hide something."""
    if not is_plain and (fault := strict.fault(payload)) is not None:
        raise BadEnvelope(f"the payload is no envelope: {fault}")
    if len(payload) > _SHORT and strict.is_too_deep(payload):
        raise BadEnvelope(f"the payload is no envelope: nested deeper than {strict.MAX_DEPTH} levels")


def _check_filemap(envelope: Envelope, files: Files) -> None:
    named = [entry[0] for entry in envelope.filemap] if envelope.filemap is not UNSET else []
    if len(set(named)) != len(named):
        raise BadEnvelope("filemap names a file twice")
    if set(named) != {key for key, _ in files}:
        raise BadEnvelope("filemap does not name exactly the attached files")


def library_error(code: ErrorCode, message: str) -> dict[str, str]:
    """An ``error`` made by the library, not by an application."""
    return {"code": code.value, "message": message}


def error_name(error: Any) -> str:
    """How the journal calls an error: its code if the library made it, else ``application``."""
    if isinstance(error, dict) and error.keys() == {"code", "message"}:
        code = error["code"]
        if code in ErrorCode.__members__.values():
            return str(code)
    return "application"
