"""Faults of the recording itself: one story for each rule of spec/audit.md, section 6."""

from typing import Final

from framehub.codes import HubCommand, HubState
from framehub.hub import headers
from framehub.hub.headers import HubFrame, Settings, Way
from framehub.journal.faults.fault import Fault, FaultStory, Told, changed
from framehub.journal.faults.mfp import joined, left
from framehub.journal.hub_traffic import HubClient
from framehub.journal.record import Row
from framehub.journal.rpc_rows import RpcRows
from framehub.journal.traffic import IN, OUT, USERS, Link, World
from framehub.mfp import codec, envelope
from framehub.mfp.checksum import crc32_number, xor8_number
from framehub.mfp.frames import MessageFrame
from framehub.rpc import words

_MOST_MISSING: Final = 500


def _message(world: World, link: Link, *, checksum: bool = False) -> Row:
    """A message of the browser's, not on the tape yet."""
    payload = envelope.encode("chat", {"text": "a small red coat", "room": "lobby"})
    frame = MessageFrame(id=link.next_id(IN), payload=payload, checksum=checksum)
    raw = codec.encode(frame)
    return link.rows.frame(world.at, IN, frame, raw, link.open_exchange(), endpoint="chat")


def _heart_beat(world: World) -> Row:
    """A worker's sign of life, not on the tape yet."""
    rows, identity = RpcRows(), b"\1" + world.dice.randbytes(15)
    return rows.row(world.at, IN, identity, [words.HEART_BEAT], link=rows.link_of("worker", identity))


def _ready(world: World) -> Row:
    """What a client of the hub hears about its configuration, not on the tape yet."""
    client = HubClient(world.dice.randbytes(8), version=2, user=world.dice.randint(1, USERS))
    world.opened(client)
    frame = HubFrame(0, HubState.COMMAND, HubCommand.READY, Settings(2, 30_000).encode())
    return client.rows.frame(world.at, OUT, frame, headers.encode(frame, 2, Way.HUB_TO_CLIENT))


def _coders_query(world: World) -> Row:
    """A client's question about coders, not on the tape yet."""
    rows, identity = RpcRows(), b"\1" + world.dice.randbytes(15)
    parts = [words.CODER_IDENTITY_QUERY, b"1", b"sum.add"]
    return rows.row(world.at, IN, identity, parts, link=rows.link_of("client", identity))


def _with_raw(row: Row, raw: bytes) -> Row:
    return changed(row, bytes=len(raw))._replace(raw=raw)


def raw_unlawful(world: World) -> FaultStory:
    """Bytes that are no frame, recorded as one that was taken."""
    link = joined(world)
    yield world.network()
    protocol = world.dice.choice(("mfp", "rpc", "hub"))
    if protocol == "mfp":
        row = _message(world, link)
        broken = (row.raw or b"")[:-1]
    elif protocol == "rpc":
        row = _heart_beat(world)
        broken = (row.raw or b"")[:-1]
    else:
        row = _ready(world)
        whole = row.raw or b""
        broken = whole[:4] + b"\5" + whole[5:]
    seq = world.put(_with_raw(row, broken))
    yield from left(world, link)
    return Fault("raw-unlawful", (seq,))


def raw_checksum(world: World) -> FaultStory:
    """A frame whose checksum is wrong, recorded as one that was taken."""
    link = joined(world)
    yield world.network()
    row = _message(world, link, checksum=True)
    body = (row.raw or b"")[:-4]
    raw = bytearray(body + crc32_number(body).to_bytes(4, "big"))
    raw[-4] ^= 1
    raw[-1] ^= xor8_number(raw) == 0  # by chance it would end as an XOR8 does
    seq = world.put(_with_raw(row, bytes(raw)))
    yield from left(world, link)
    return Fault("raw-checksum", (seq,))


def raw_differs(world: World) -> FaultStory:
    """A frame whose columns say something else than its bytes."""
    link = joined(world)
    yield world.network()
    kind = world.dice.choice(("id", "payload", "query", "key"))
    if kind == "id":
        row = changed(_message(world, link), id=77)
    elif kind == "payload":
        right = _message(world, link)
        row = changed(right, payload_bytes=len(right.raw or b"") - 10)
    elif kind == "query":
        row = _coders_query(world)._replace(query=b"another")
    else:
        row = changed(_ready(world), key=9)
    seq = world.put(row)
    yield from left(world, link)
    return Fault("raw-differs", (seq,))


def journal_gap(world: World) -> FaultStory:
    """Numbers that no row has; the two rows beside them are told in one go, so that nothing gets between."""
    yield world.network()
    link = joined(world)
    before = world.put(_message(world, link))
    world.seq += world.dice.randint(1, _MOST_MISSING)
    after = world.put(_message(world, link))
    return Fault("journal-gap", (before, after))


FAULTS: Final[dict[str, Told]] = {
    "journal-gap": journal_gap,
    "raw-unlawful": raw_unlawful,
    "raw-checksum": raw_checksum,
    "raw-differs": raw_differs,
}
