"""What handlers are given and give back: ``Call``, ``Reply``."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from framehub.runtime.files import File

if TYPE_CHECKING:
    from framehub.runtime.peer import Peer


class Reply(Struct, frozen=True):
    """An answer: what ``request`` returns, and what a handler returns to attach files to its answer."""

    data: Any = None
    files: Mapping[int, File] = {}
    error: Any = None
    is_error: bool = False
    """Of an answer that came: whether it is an error, even one of ``None``."""


class Call(Struct, frozen=True):
    """One message or request on its way to a handler."""

    endpoint: str
    peer: "Peer"
    data: Any = None
    files: Mapping[int, File] = {}
    user: int = 0
    is_request: bool = False
    number: int = 0
    left_out: Mapping[int, str] = {}
    """Announced files that are not in ``files`` as they should be, and why (setting ``bad_files``)."""

    @property
    def exchange(self) -> str:
        """Names this conversation in the journal, the tables and the logs."""
        return self.peer.exchange_name(self.number).hex()


class RawCall(Struct, frozen=True, kw_only=True):
    """One message or request whose payload is no envelope: bare MFP."""

    payload: bytes
    peer: "Peer"
    files: Mapping[int, bytes] = {}
    user: int = 0
    is_request: bool = False
    number: int = 0
    left_out: Mapping[int, str] = {}

    @property
    def exchange(self) -> str:
        """Names this conversation in the journal, the tables and the logs."""
        return self.peer.exchange_name(self.number).hex()
