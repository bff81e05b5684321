"""What was said on one side against what was heard on the other: nothing lost, twice or mixed up.

Everything that opens an exchange carries a token of its own as its payload, every chunk its number, every
answer the token it answers. So what an owner hears can be compared with what the other owner said, without
looking at ids or at the wire.
"""

from collections import Counter
from collections.abc import Iterable

from framehub.mfp.frames import BinaryFrame, Files, Frame
from tests.simulation.book import Broken

FORGED = b"!"
"""How the payload of a frame begins that no machine sent."""


def answer_to(token: bytes) -> bytes:
    return b"answer to " + token


def chunk_number(number: int, padding: int) -> bytes:
    return b"%d" % number + b"." * padding


class Told:
    """A message, whole or announced: what was said, and how it ended."""

    __slots__ = ("end", "files")

    def __init__(self, files: dict[int, bytes]) -> None:
        self.files = files
        self.end = ""


class Stream:
    """One stream: chunks sent, chunks heard, how the sender ended it, how the reader saw it end."""

    __slots__ = ("end", "heard", "sent", "sent_end")

    def __init__(self) -> None:
        self.sent = 0
        self.heard = 0
        self.sent_end = ""
        self.end = ""


class Accounts:
    """Both sides of one connection. ``honest``: no frame on it was forged."""

    def __init__(self, *, honest: bool) -> None:
        self.honest = honest
        self.counts: Counter[str] = Counter()
        self.requests: dict[bytes, str] = {}
        """Every request by its token, and how it ended for its asker; empty while it has not."""
        self.request_files: dict[bytes, Files] = {}
        self.arrived: set[bytes] = set()
        """Requests that an owner has seen."""
        self.messages: dict[bytes, Told] = {}
        self.streams: dict[bytes, Stream] = {}

    # --- requests ----------------------------------------------------------------------------------------

    def asks(self, token: bytes, files: Files) -> None:
        self.requests[token] = ""
        self.request_files[token] = files
        self.counts["requests"] += 1

    def request_ends(self, token: bytes, how: str) -> None:
        """[MFP-8.2.1] Exactly once, whatever ends it."""
        if self.requests[token]:
            raise Broken("M6", f"request {token!r} ended twice: {self.requests[token]}, then {how}")
        self.requests[token] = how
        self.counts[f"request {how}"] += 1

    def request_arrives(self, token: bytes, files: Files) -> None:
        if self._is_forged(token):
            return
        if token in self.arrived:
            raise Broken("M6", f"request {token!r} was seen twice")
        if self.request_files.get(token) != files:
            raise Broken("M1", f"request {token!r} came with other files, or from nowhere")
        self.arrived.add(token)

    def answer_arrives(self, token: bytes, payload: bytes) -> None:
        if payload != answer_to(token) and not self._is_forged(payload):
            raise Broken("M7", f"request {token!r} got an answer that is not its own: {payload!r}")
        self.request_ends(token, "answered")

    # --- messages ----------------------------------------------------------------------------------------

    def tells(self, token: bytes, files: dict[int, bytes]) -> None:
        self.messages[token] = Told(files)
        self.counts["messages"] += 1

    def message_ends(self, token: bytes, how: str) -> None:
        """For its sender: refused or given up."""
        self.messages[token].end = self.messages[token].end or how
        self.counts[f"message {how}"] += 1

    def message_arrives(self, token: bytes, files: Files, *, in_part: bool) -> None:
        """[MFP-8.4.1] [MFP-8.4.8] Exactly once, whole, or without files that are told."""
        if self._is_forged(token):
            return
        told = self.messages.get(token)
        if told is None:
            raise Broken("M11", f"message {token!r} was never told")
        if told.end == "delivered":
            raise Broken("M11", f"message {token!r} was delivered twice")
        came = dict(files).items()
        is_as_told = came <= told.files.items() if in_part else came == told.files.items()
        if self.honest and not is_as_told:
            raise Broken("M11", f"message {token!r} came with {files!r}, told with {told.files!r}")
        told.end = "delivered"
        self.counts["message delivered in part" if in_part else "message delivered"] += 1

    # --- streams -----------------------------------------------------------------------------------------

    def opens(self, token: bytes) -> None:
        self.streams[token] = Stream()
        self.counts["streams"] += 1

    def sends_chunk(self, token: bytes, *, counted: bool, final: bool) -> None:
        stream = self.streams[token]
        if stream.sent_end:
            raise Broken("M16", f"a chunk of stream {token!r} was sent after {stream.sent_end}")
        stream.sent += counted
        if final:
            stream.sent_end = "its end"

    def sender_stops(self, token: bytes, how: str) -> None:
        self.streams[token].sent_end = how
        self.counts[f"stream {how}"] += 1

    def stream_arrives(self, token: bytes) -> None:
        if self._is_forged(token):
            return
        if token not in self.streams:
            raise Broken("M12", f"stream {token!r} was never opened")
        if self.streams[token].end or self.streams[token].heard:
            raise Broken("M12", f"stream {token!r} was opened twice")

    def chunk_arrives(self, token: bytes, frame: BinaryFrame) -> None:
        """[MFP-8.6.1] [MFP-8.6.2] In order, none twice, none left out, and one end."""
        if self._is_forged(token):
            return
        stream = self.streams[token]
        if stream.end:
            raise Broken("M12", f"a chunk of stream {token!r} after {stream.end}")
        if not self._is_forged(frame.data):
            if frame.data:
                number = int(frame.data.rstrip(b"."))
                if number != stream.heard:
                    raise Broken("M12", f"chunk {number} of stream {token!r} instead of {stream.heard}")
                stream.heard += 1
            if frame.final and self.honest and (stream.heard, "its end") != (stream.sent, stream.sent_end):
                raise Broken("M12", f"stream {token!r} ended after {stream.heard} of {stream.sent} chunks")
        if frame.final:
            self.reader_stops(token, "its end")

    def reader_stops(self, token: bytes, how: str) -> None:
        if self._is_forged(token):
            return
        stream = self.streams[token]
        if stream.end:
            raise Broken("M12", f"stream {token!r} ended twice: {stream.end}, then {how}")
        stream.end = how
        self.counts[f"stream read to {how}"] += 1

    # --- in the end --------------------------------------------------------------------------------------

    def all_arrived(self, open_tokens: Iterable[bytes]) -> None:
        """Nothing is on its way: what was told has come, or the teller knows that it has not."""
        still_open = set(open_tokens)
        for token, told in self.messages.items():
            if not told.end and token not in still_open:
                raise Broken("M11", f"message {token!r} was neither delivered nor refused")
        for token, stream in self.streams.items():
            if token not in still_open and not (stream.sent_end and (stream.end or stream.sent_end)):
                raise Broken("M12", f"stream {token!r} has no end")
            if stream.sent_end == "its end" and not stream.end:
                raise Broken("M12", f"stream {token!r} ended for its sender only")

    def all_ended(self) -> None:
        """The connection is over."""
        for token, how in self.requests.items():
            if not how:
                raise Broken("M6", f"request {token!r} never ended")

    def _is_forged(self, token: bytes) -> bool:
        return not self.honest and token.startswith(FORGED)


def is_as_sent(got: Frame, sent: Frame) -> bool:
    """Whether a frame came as it was sent; only the agreed mode decides on its checksum."""
    if type(got) is not type(sent):
        return False
    return all(
        getattr(got, name) == getattr(sent, name) for name in got.__struct_fields__ if name != "checksum"
    )
