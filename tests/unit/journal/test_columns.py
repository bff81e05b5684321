from collections.abc import Callable
from typing import Any

from framehub.journal.columns import encode, to_batch
from framehub.journal.gathering import Gathering
from framehub.journal.mfp_rows import OUT, LinkRows
from framehub.journal.page import Page
from framehub.journal.record import SCHEMA, Row
from framehub.journal.rpc_rows import RpcRows, join
from framehub.journal.settings import WriterSettings

E = int.from_bytes(b"e" * 8, "big")
F = int.from_bytes(b"f" * 8, "big")


def test_an_empty_page_is_an_empty_batch() -> None:
    assert (to_batch([]).num_rows, to_batch([]).schema) == (0, SCHEMA)


def test_brief_and_whole_rows_share_a_page_in_their_order(row: Callable[..., Row]) -> None:
    gathering = Gathering(WriterSettings(), 0)
    raw = bytes.fromhex("61 00000009 00000002") + b"{}"
    constant = LinkRows(b"linklink", 3).constants[OUT]
    gathering.notes.note(1.5, (E, E), constant, ("a", None, None), raw)
    gathering.add(row(7, endpoint="b")._replace(query=b"query"))
    gathering.notes.note(2.5, (F, F), constant, ("a", "busy", "json"), raw)
    gathering.turn()
    (page,) = gathering.pages
    first, second, third = decoded(page)
    assert (first["endpoint"], second["endpoint"], third["endpoint"]) == ("a", "b", "a")
    assert (first["mono_ns"], third["mono_ns"]) == (1_500_000_000, 2_500_000_000)
    assert (first["id"], second["id"], third["id"]) == (9, 7, 9)
    assert (first["error"], third["error"], third["coder"]) == (None, "busy", "json")
    assert (first["query"], second["query"], third["query"]) == (None, b"query", None)
    assert (first["user"], first["direction"], first["kind"]) == (3, "out", "request")
    assert (first["exchange"], third["exchange"]) == (b"e" * 16, b"f" * 16)
    assert (first["raw"], second["raw"]) == (raw, b"frame 7")


def test_ids_of_queries_are_found_in_frames() -> None:
    gathering = Gathering(WriterSettings(), 0)
    wanted = [b"1", b"0123456789abcdef", b""]
    for query in wanted:
        raw = join([b"peer", b"RESPONSE_RESULT", query, b"result"])
        constant = RpcRows().constant(b"linklink", 0, b"RESPONSE_RESULT", 4, len(query))
        gathering.notes.note(1.0, (E, E), constant, ("f", None, None), raw)
    gathering.turn()
    found = decoded(gathering.pages[0])
    assert [row["query"] for row in found] == wanted
    assert [row["raw"][row["payload_at"] :] for row in found] == [b"result"] * 3


def decoded(page: Page) -> list[dict[str, Any]]:
    from framehub.journal.block import decode_rows

    body = encode(page)
    batch = decode_rows(b"".join((body.front, body.back)), rows=body.rows)
    batch.validate(full=True)
    return batch.to_pylist()  # type: ignore[no-any-return]
