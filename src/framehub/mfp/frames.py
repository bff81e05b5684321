"""The five kinds of MFP frame as immutable values (spec/mfp.md, section 2). Pure.

``checksum`` on a value means that the frame carries one, or should; see ``framehub.mfp.checksum``.
"""

from typing import TypeAlias

from msgspec import Struct

from framehub.codes import BinaryKind, Service

Files: TypeAlias = tuple[tuple[int, bytes], ...]
"""Attached files as (key, bytes), in the sender's order."""


class ServiceFrame(Struct, frozen=True, gc=False, kw_only=True):
    """Nine bytes about another frame; ``ref`` is one of the sender's own if ``own``."""

    id: int
    code: Service
    ref: int
    own: bool = False
    checksum: bool = False


class MessageFrame(Struct, frozen=True, gc=False, kw_only=True):
    """One way; alone among frames it may announce files (``expected``) or open a stream."""

    id: int
    payload: bytes = b""
    files: Files = ()
    expected: tuple[int, ...] = ()
    streaming: bool = False
    need_ack: bool = False
    checksum: bool = False


class RequestFrame(Struct, frozen=True, gc=False):
    """A question; it is settled exactly once."""

    id: int
    payload: bytes = b""
    files: Files = ()
    need_ack: bool = False
    checksum: bool = False


class ResponseFrame(Struct, frozen=True, gc=False):
    """The answer to the request ``ref``."""

    id: int
    ref: int
    payload: bytes = b""
    files: Files = ()
    need_ack: bool = False
    checksum: bool = False


class BinaryFrame(Struct, frozen=True, gc=False, kw_only=True):
    """A file, a chunk or data that belongs to the message ``ref``; ``final`` ends it."""

    id: int
    ref: int
    kind: BinaryKind = BinaryKind.NONE
    key: int | None = None
    data: bytes = b""
    final: bool = True
    need_ack: bool = False
    checksum: bool = False


Frame: TypeAlias = ServiceFrame | MessageFrame | RequestFrame | ResponseFrame | BinaryFrame
