"""The batch decoder of messages of functions against ``rpc.messages``: vectors, mutated messages, columns."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framehub.codes import Message
from framehub.errors import MalformedFrame
from framehub.journal.columns import to_batch
from framehub.journal.record import DIRECTIONS, KINDS
from framehub.journal.rpc_rows import RpcRows, join, split
from framehub.pipeline import decode_rpc
from framehub.pipeline.decoded import LAWFUL, NONE, UNLAWFUL
from framehub.pipeline.spans import NULL, Spans
from framehub.rpc.messages import FIELDS, MAX_ID, MAX_NAME, Way, fault, registration

VECTORS = Path(__file__).parents[3] / "spec" / "vectors" / "rpc"
IN, OUT = DIRECTIONS.index("in"), DIRECTIONS.index("out")
WAYS = {
    IN: (Way.CLIENT_TO_PROXY, Way.WORKER_TO_PROXY),
    OUT: (Way.PROXY_TO_CLIENT, Way.PROXY_TO_WORKER),
}
TO_PROXY = dict.fromkeys(WAYS[IN], IN) | dict.fromkeys(WAYS[OUT], OUT)
Said = tuple[bytes, int]


def lawful(raw: bytes, direction: int) -> bool:
    try:
        parts = split(raw)
    except MalformedFrame:
        return False
    return any(fault(way, parts[1:]) is None for way in WAYS[direction])


def agrees(said: list[Said]) -> list[int]:
    """Decode all at once and one by one; the verdicts."""
    raws = Spans.of(pa.array([raw for raw, _ in said], pa.binary()))
    told = decode_rpc.decode(raws, np.array([direction for _, direction in said]))
    for number, (raw, direction) in enumerate(said):
        is_lawful = lawful(raw, direction)
        assert told.verdict[number] == (LAWFUL if is_lawful else UNLAWFUL), raw.hex()
        if is_lawful:
            identity, *parts = split(raw)
            row = RpcRows().row((0, 0), direction, identity, parts, link=b"\0" * 8)
            (wanted,) = to_batch([row]).to_pylist()
            numbers = {name: int(values[number]) for name, values in told.numbers.items()}
            assert KINDS[numbers.pop("kind")] == wanted["kind"]
            assert numbers == {name: NONE if wanted[name] is None else wanted[name] for name in numbers}
            for name, spans in told.texts.items():
                text = None if spans.size[number] == NULL else spans.bytes(number)
                want = wanted[name]
                assert text == (want.encode() if isinstance(want, str) else want), (name, raw)
    return [int(verdict) for verdict in told.verdict]


def vectors() -> list[Said]:
    found = []
    for name in ("messages.json", "malformed.json"):
        for case in json.loads((VECTORS / name).read_text())["cases"]:
            parts = [bytes.fromhex(part) for part in case["parts"]]
            found.append((join([b"peer", *parts]), TO_PROXY[Way(case["way"])]))
    return found


def test_all_vectors_are_read_as_the_proxy_reads_them() -> None:
    said = vectors()
    verdicts = agrees(said)
    assert verdicts.count(LAWFUL) > 20
    assert verdicts.count(UNLAWFUL) > 20
    for one, verdict in zip(said, verdicts, strict=True):
        assert agrees([one]) == [verdict]


def test_every_type_goes_its_ways_and_no_other() -> None:
    part = {"id": b"7", "functions": b"\0\0\0\0"}
    said = []
    for way, types in FIELDS.items():
        for type_, names in types.items():
            raw = join([b"peer", type_.encode(), *(part.get(name, b"x") for name in names)])
            said += [(raw, IN), (raw, OUT)]
            assert agrees(said)[-2 + TO_PROXY[way]] == LAWFUL
    assert set(agrees(said)) == {LAWFUL, UNLAWFUL}


def test_names_are_text_of_bounded_size() -> None:
    def query(id_: bytes, function: bytes) -> Said:
        return join([b"peer", b"QUERY", id_, b"argument", function]), IN

    said = [
        query(b"i" * MAX_ID, b"f" * MAX_NAME),
        query(b"i" * MAX_ID, "größe".encode()),
        query(b"i", b"f" * (MAX_NAME + 1)),
        query(b"i" * (MAX_ID + 1), b"f"),
        query(b"", b"f"),
        query(b"i", b""),
        query(b"i", b"not text \xff"),
        query(b"i", b"not text \xff" + b"f" * 500),
    ]
    assert agrees(said) == [LAWFUL] * 2 + [UNLAWFUL] * 6


def test_long_text_and_registrations_are_read_too() -> None:
    names = [(f"function {number}", "Int", "Int") for number in range(300)]
    said = [
        (join([b"w", *registration(names)]), IN),
        (join([b"w", *registration(names)]), OUT),
        (join([b"w", *registration(names + names[:1])]), IN),
        (join([b"w", b"WORKER_DESCRIBE", '{"ä"}'.encode() * 200]), OUT),
        (join([b"w", b"WORKER_DESCRIBE", b"\xe4" * 2000]), OUT),
        (join([b"w", b"INCOMPATIBLE_SPECS_FAILURE", b"", b"\xff", b""]), OUT),
        (join([b"w", b"INCOMPATIBLE_SPECS_FAILURE", b"f", b"\xff", b""]), OUT),
    ]
    assert agrees(said) == [LAWFUL, UNLAWFUL, UNLAWFUL, LAWFUL, UNLAWFUL, LAWFUL, UNLAWFUL]


types = st.sampled_from([type_.encode() for type_ in Message])
parts = st.lists(st.one_of(types, st.binary(max_size=20), st.sampled_from((b"1", b"add"))), max_size=7)


@st.composite
def damaged(draw: st.DrawFn) -> Said:
    """Parts, most of them a message, now and then with something wrong in their lengths."""
    if draw(st.booleans()):
        way = draw(st.sampled_from(Way))
        type_ = draw(st.sampled_from(list(FIELDS[way])))
        filled = [
            draw(st.sampled_from((b"1", b"add", b"", "ä".encode(), b"\xff"))) for _ in FIELDS[way][type_]
        ]
        message = [b"peer", type_.encode(), *filled]
    else:
        message = draw(parts)
    raw = bytearray(join(message))
    if draw(st.integers(0, 2)) == 0:
        at = draw(st.integers(0, len(raw)))
        if draw(st.booleans()):
            del raw[at:]
        else:
            raw[at : at + 1] = draw(st.binary(max_size=2))
    return bytes(raw), draw(st.sampled_from((IN, OUT)))


@given(st.lists(damaged(), min_size=1, max_size=10))
def test_damaged_messages_are_read_as_the_proxy_reads_them(said: list[Said]) -> None:
    agrees(said)


@pytest.mark.parametrize(
    ("raw", "direction", "why"),
    [
        (join([b"p", b"QUERY", b"1"]), IN, "QUERY has 4 parts, not 2"),
        (join([b"p", b"WHAT"]), IN, "type 'WHAT' is not sent by a client"),
        (b"\0\0\0\t", OUT, "a part of 9 bytes is cut short at byte 4"),
        (b"", IN, "a message has at least one part"),
        (b"", NONE, "no direction"),
    ],
)
def test_the_reason_is_the_proxys(raw: bytes, direction: int, why: str) -> None:
    told: Any = decode_rpc.decode(Spans.of(pa.array([raw], pa.binary())), np.array([direction]))
    assert told.verdict.tolist() == [UNLAWFUL]
    assert decode_rpc.reason(raw, direction) == why
