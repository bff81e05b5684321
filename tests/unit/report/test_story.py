"""One conversation found by its id."""

import re
from pathlib import Path

import pytest

from framehub.errors import JournalError, PipelineError
from framehub.journal.reader import read, snapshot
from framehub.journal.record import NO_ID
from framehub.journal.rpc_rows import IN, RpcRows
from framehub.journal.writer import JournalWriter, WriterSettings
from framehub.report.story import FAMILY_LIMIT, tell, tell_newest
from framehub.runtime.calls import Call
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.memory import pair
from framehub.runtime.tap import Tap


@pytest.fixture
async def link(tmp_path: Path) -> str:
    """A journal of one connection: ``ask`` (frame 1) that caused ``who``, then ``ask`` again."""
    app, me = Endpoints(), Endpoints()
    me.on("who")(lambda call: "me")

    @app.on("ask")
    async def ask(call: Call) -> object:
        return (await call.peer.request("who")).data

    with JournalWriter(tmp_path, node="n") as writer:
        client, _ = pair(me, app, tap=Tap(writer))
        await client.request("ask", 1)
        await client.request("ask", 2)
    return client.link


def test_a_story_has_its_frames_and_what_it_caused(tmp_path: Path, link: str) -> None:
    story = tell(f"{link}:1", tmp_path, None)
    assert [(row["kind"], row["endpoint"]) for row in story.frames] == [
        ("request", "ask"),
        ("response", "ask"),
    ]
    (child,) = story.children
    caused = tell(child, tmp_path, None)
    assert [row["parent"] for row in caused.frames] == [story.exchange, None]
    assert [row["direction"] for row in caused.frames] == ["out", "in"]


def test_a_story_has_what_caused_it_and_all_that_it_caused(tmp_path: Path, link: str) -> None:
    story = tell(f"{link}:1", tmp_path, None)
    (child,) = story.children
    assert (story.parents, story.family) == ([], {story.exchange: None, child: story.exchange})
    assert [row["exchange"] for row in story.everything] == [
        story.exchange,
        child,
        child,
        story.exchange,
    ]
    caused = tell(child, tmp_path, None)
    assert (caused.parents, caused.children) == ([story.exchange], [])
    assert (caused.family, caused.everything) == (story.family, story.everything)


def test_a_story_of_many_is_cut(tmp_path: Path) -> None:
    rows = RpcRows()
    names = [number.to_bytes(16, "big") for number in range(1, 301)]
    with JournalWriter(tmp_path, node="n") as writer:
        for name, parent in zip(names, [NO_ID, *[names[0]] * 199, *names[200:], NO_ID], strict=False):
            parts = [b"QUERY", name, b"", b"f"]
            writer.append(rows.row((1, 1), IN, b"p", parts, link=b"linklink", exchange=name, parent=parent))
    wide = tell(names[0].hex(), tmp_path, None)
    assert len(wide.family) == len(wide.everything) == FAMILY_LIMIT
    last = tell(names[199].hex(), tmp_path, None)
    assert (last.parents, len(last.frames)) == ([names[0].hex()], 1)
    assert tell(f"{b'linklink'.hex()}:{names[5].hex()}", tmp_path, None).exchange == names[5].hex()


def test_exchanges_that_cause_each_other_end(tmp_path: Path) -> None:
    rows, a, b = RpcRows(), b"a" * 16, b"b" * 16
    for node, name, parent in (("n", a, b), ("m", b, a)):
        with JournalWriter(tmp_path / node, node=node) as writer:
            parts = [b"QUERY", name, b"", b"f"]
            writer.append(rows.row((1, 1), IN, b"p", parts, link=b"linklink", exchange=name, parent=parent))
    story = tell(a.hex(), tmp_path, None)
    assert (story.parents, story.children) == ([b.hex()], [])
    assert len(story.everything) == 2


def test_an_exchange_is_found_by_its_id_or_a_beginning_that_is_unique(tmp_path: Path, link: str) -> None:
    whole = f"{link}{1:016x}"
    for name in (whole, whole.upper(), f" {whole}", whole):
        assert tell(name, tmp_path, None).exchange == whole
    assert tell(f"{link}{4:016x}"[:-1] + "4", tmp_path, None).exchange.endswith("4")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("zz", "no exchange: want hex digits"),
        ("ffffffffffffffffffff", "no exchange 'ffffffffffffffffffff' in"),
        ("{link}", "4 exchanges fit"),
        ("{link}:99", "no exchange"),
        ("{link}0000000000000003f", "no exchange"),
    ],
)
def test_what_names_no_exchange_or_several_is_said(tmp_path: Path, link: str, name: str, text: str) -> None:
    with pytest.raises(JournalError, match=re.escape(text)):
        tell(name.format(link=link), tmp_path, None)


def test_missing_tables_are_said_so(tmp_path: Path, link: str) -> None:
    with pytest.raises(PipelineError, match="framehub pipeline run"):
        tell(f"{link}:1", tmp_path, tmp_path / "tables")


@pytest.mark.parametrize("seal", [True, False])
async def test_the_newest_is_told_the_same_from_any_segment(tmp_path: Path, seal: bool) -> None:
    app, me = Endpoints(), Endpoints()
    me.on("who")(lambda call: "me")

    @app.on("ask")
    async def ask(call: Call) -> object:
        return (await call.peer.request("who")).data

    writer = JournalWriter(tmp_path, node="n", settings=WriterSettings(segment_bytes=1 << 16, seal=seal))
    client, _ = pair(me, app, tap=Tap(writer))
    for number in range(120):
        await client.request("ask", {"number": number, "text": "x" * 500})
        if number % 20 == 0:
            writer.flush(5)
    writer.close(seal=seal)
    assert len(snapshot(tmp_path)) > 2
    for number in (1, 60, 120):
        whole = tell(f"{client.link}:{_id(tmp_path, client.link, number)}", tmp_path, None)
        newest = tell_newest(whole.exchange, tmp_path, seconds=60, most_rows=99, most_raw=1 << 20)
        assert (newest.family, newest.everything) == (whole.family, whole.everything)
        (child,) = newest.children
        caused = tell_newest(child, tmp_path, seconds=60, most_rows=99, most_raw=1 << 20)
        assert (caused.parents, caused.everything) == ([whole.exchange], whole.everything)


def _id(journal: Path, link: str, number: int) -> int:
    """The id of the client's request of this number."""
    ids = [
        row["id"]
        for batch in read(journal, columns=["kind", "direction", "id"])
        for row in batch.to_pylist()
        if (row["kind"], row["direction"]) == ("request", "in")
    ]
    return int(ids[number - 1])


def test_the_newest_is_bounded_in_rows_bytes_and_time(tmp_path: Path, link: str) -> None:
    story = tell_newest(f"{link}:1", tmp_path, seconds=60, most_rows=3, most_raw=7)
    assert (len(story.everything), story.left_out) == (3, 1)
    every = tell_newest(f"{link}:1", tmp_path, seconds=60, most_rows=99, most_raw=7).everything
    assert story.everything == [*every[:2], every[-1]], "the beginning and the end"
    assert {len(row["raw"]) for row in story.everything} == {7}
    with pytest.raises(JournalError, match="framehub story"):
        tell_newest(f"{link}:1", tmp_path, seconds=-1, most_rows=3, most_raw=7)
    with pytest.raises(JournalError, match="no exchange 'abcd'"):
        tell_newest("abcd", tmp_path, seconds=60, most_rows=3, most_raw=7)
    with pytest.raises(JournalError, match="exchanges fit"):
        tell_newest(link, tmp_path, seconds=60, most_rows=3, most_raw=7)
