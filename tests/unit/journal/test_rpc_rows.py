"""Which column holds what, for every type of message."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framehub.codes import Kind, Message
from framehub.errors import MalformedFrame
from framehub.journal import columns, record, rpc_rows
from framehub.journal.rpc_rows import IN, KIND_OF, OUT, PARTS_OF, PAYLOADS, RpcRows, join, split

ROWS = RpcRows()
AT = (5, 6)
PEER = b"peer"
LINK = ROWS.link_of("client", PEER)
WID = b"w" * 16


def told(row: record.Row) -> dict[str, Any]:
    (found,) = columns.to_batch([row]).to_pylist()
    return dict(found)


def parts_of(message: Message) -> list[bytes]:
    return [message.encode(), *(f"the {name}".encode() for name in PARTS_OF[message])]


@pytest.mark.parametrize("message", Message)
def test_every_type_has_its_kind_and_its_parts_in_their_columns(message: Message) -> None:
    parts, names = parts_of(message), PARTS_OF[message]
    row = told(ROWS.row(AT, OUT, PEER, parts, link=LINK, exchange=WID))
    assert (row["kind"], row["protocol"], row["version"]) == (KIND_OF[message], "rpc", 1)
    assert (row["direction"], row["time_ns"], row["mono_ns"]) == ("out", 5, 6)
    assert (row["link"], row["exchange"], row["parent"], row["user"]) == (LINK, WID, None, 0)
    assert split(row["raw"]) == [PEER, *parts]
    assert (row["bytes"], row["recorded"]) == (len(row["raw"]), "full")
    assert row["query"] == (b"the id" if "id" in names else None)
    assert row["endpoint"] == ("the function" if "function" in names else None)
    payload = [name for name in names if name in PAYLOADS]
    if payload:
        held = row["raw"][row["payload_at"] : row["payload_at"] + row["payload_bytes"]]
        assert [held] == [f"the {name}".encode() for name in payload]
    else:
        assert (row["payload_at"], row["payload_bytes"]) == (None, None)


def test_what_the_caller_knows_goes_where_it_belongs() -> None:
    parts = [b"RESPONSE_EXCEPTION", b"1", b"BUSY: later"]
    given_: dict[str, Any] = {"function": "add", "coder": "json", "parent": b"p" * 16, "error": "busy"}
    row = told(ROWS.row(AT, IN, PEER, parts, link=LINK, exchange=WID, kind=Kind.RESULT, **given_))
    assert (row["kind"], row["endpoint"], row["coder"]) == ("result", "add", "json")
    assert (row["parent"], row["error"], row["refused"]) == (b"p" * 16, "busy", None)
    assert (row["head"], row["id"], row["ref"], row["code"]) == (None, None, None, None)


def test_a_name_that_is_no_text_is_written_with_escapes() -> None:
    row = told(ROWS.row(AT, IN, PEER, [b"QUERY", b"1", b"", b"a\xff"], link=LINK))
    assert (row["endpoint"], row["payload_bytes"], row["exchange"]) == ("a\\xff", 0, None)


def test_what_was_no_message_is_kept_with_the_reason() -> None:
    row = told(ROWS.refused(AT, PEER, [b"QUARY", b""], "no such type", LINK))
    assert (row["kind"], row["refused"], row["direction"]) == ("refused", "no such type", "in")
    assert (split(row["raw"]), row["bytes"]) == ([PEER, b"QUARY", b""], len(row["raw"]))
    assert (row["exchange"], row["query"], row["endpoint"], row["link"]) == (None, None, None, LINK)


def test_a_link_is_the_peers_own_on_each_side(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ROWS.link_of("worker", PEER) != LINK == RpcRows().link_of("client", PEER)
    assert len(LINK) == 8
    monkeypatch.setattr(rpc_rows, "_LINKS", 2)
    rows = RpcRows()
    links = {rows.link_of("client", bytes([number])) for number in range(9)}
    assert len(links) == 9
    assert len(rows._links) <= 2


sizes = st.sampled_from([0, 1, 16, 1023, 1024, 5000])
any_parts = st.lists(st.binary(max_size=20) | sizes.map(bytes), max_size=6)


@given(any_parts)
def test_parts_come_back_as_they_were(parts: list[bytes]) -> None:
    assert split(join(parts)) == parts


@given(st.binary(max_size=300), st.sampled_from(list(Message)), st.lists(sizes.map(bytes), max_size=6))
def test_a_row_holds_all_parts_whatever_their_sizes(
    identity: bytes, message: Message, more: list[bytes]
) -> None:
    parts = parts_of(message) + more
    row = ROWS.row(AT, IN, identity, parts, link=LINK)
    assert row.raw is not None
    assert split(row.raw) == [identity, *parts]


@given(st.binary(max_size=40))
def test_any_bytes_are_parts_or_refused(raw: bytes) -> None:
    with contextlib.suppress(MalformedFrame):
        assert join(split(raw)) == raw


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\0\0\0", "the length of a part is cut short at byte 0"),
        (b"\0\0\0\2a", "a part of 2 bytes is cut short at byte 4"),
        (b"\0\0\0\1a\xff\xff\xff\xff", "a part of 4294967295 bytes is cut short at byte 9"),
    ],
)
def test_cut_parts_are_said_to_be(raw: bytes, text: str) -> None:
    with pytest.raises(MalformedFrame, match=text):
        split(raw)
