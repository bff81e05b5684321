"""What the commands say about calls of remote functions: a request whose handler called one."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from framehub.cli.main import run as framehub
from framehub.journal.mfp_rows import LinkRows
from framehub.journal.rpc_rows import IN, OUT, RpcRows
from framehub.journal.writer import JournalWriter
from framehub.mfp import codec, envelope
from framehub.mfp.frames import RequestFrame, ResponseFrame

LINK, WID = b"browser1", b"w" * 16
ASKED = LINK + (1).to_bytes(8, "big")


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A browser's request to ``add``, the call it caused, and what a proxy hears besides."""
    browser, rpc = LinkRows(LINK, 7), RpcRows()
    worker = rpc.link_of("worker", b"\0k8a\1")
    question = RequestFrame(id=1, payload=envelope.encode("add", [1, 2]))
    answer = ResponseFrame(id=1, ref=1, payload=envelope.encode("add", 3))
    about: dict[str, Any] = {"exchange": WID, "function": "add", "coder": "json"}
    register = [b"WORKER_REGISTER", b"\0\0\0\1", b"add", b"json", b"json"]
    at = iter((1_780_000_000_000_000_000 + n * 1_000_000, n * 1_000_000) for n in range(100))
    with JournalWriter(tmp_path / "journal", node="n") as writer:
        for row in (
            rpc.row(next(at), IN, b"\0k8a\1", register, link=worker),
            rpc.row(next(at), IN, b"\0k8a\1", [b"HEART_BEAT"], link=worker),
            browser.frame(next(at), IN, question, codec.encode(question), ASKED, endpoint="add"),
            rpc.row(next(at), IN, b"", [b"QUERY", b"q1", b"[1,2]", b"add"], link=LINK, parent=ASKED, **about),
            rpc.row(next(at), OUT, b"\0k8a\1", [b"QUERY", WID, b"[1,2]", b"add"], link=worker, **about),
            rpc.row(next(at), IN, b"\0k8a\1", [b"RESPONSE_RESULT", WID, b"3"], link=worker, **about),
            rpc.row(next(at), OUT, b"", [b"RESPONSE_RESULT", b"q1", b"3"], link=LINK, **about),
            browser.frame(next(at), OUT, answer, codec.encode(answer), ASKED, endpoint="add"),
            rpc.row(
                next(at), IN, b"c", [b"QUERY", b"\x01\xff", b"\x80" * 150, b"f"], link=LINK, coder="arrow"
            ),
            rpc.refused(next(at), b"c", [b"QUARY", b"\x1b[2J"], "no such type", LINK),
        ):
            writer.append(row)
    return tmp_path / "journal"


def told(*args: object) -> str:
    done = CliRunner().invoke(framehub, [str(arg) for arg in args])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_cat_names_the_parts_of_a_message(journal: Path) -> None:
    rows = [json.loads(line) for line in told("journal", "cat", journal, "--json").splitlines()]
    messages = [row.get("message") for row in rows]
    assert messages[:3] == [
        {"identity": "006b386101", "type": "WORKER_REGISTER", "functions": [["add", "json", "json"]]},
        {"identity": "006b386101", "type": "HEART_BEAT"},
        None,
    ]
    assert messages[3] == {
        "identity": "", "type": "QUERY", "id": b"q1".hex(), "argument": "[1,2]", "function": "add"
    }  # fmt: skip
    assert messages[5] == {
        "identity": "006b386101", "type": "RESPONSE_RESULT", "id": WID.hex(), "result": "3"
    }  # fmt: skip
    assert messages[8]["argument"] == "80" * 100 + "..."
    assert messages[9] == {"identity": "63", "parts": ["QUARY", "1b5b324a"]}
    assert (rows[3]["raw"][:8], rows[3]["query"], rows[3]["coder"]) == ("00000000", b"q1".hex(), "json")


def test_cat_prints_a_line_for_people(journal: Path) -> None:
    lines = told("journal", "cat", journal).splitlines()
    assert len(lines) == 10
    assert lines[3].split()[4:] == ["->", "query", "q1", "35", "B", "add", "json"]
    assert "heart_beat" in lines[1]
    assert "01ff" in lines[8]
    assert lines[9].endswith("refused: no such type")


@pytest.mark.parametrize("name", [ASKED.hex(), WID.hex(), f"{LINK.hex()}:1", f"{LINK.hex()}:{b'q1'.hex()}"])
def test_a_request_and_its_call_are_one_story_from_either_end(journal: Path, name: str) -> None:
    text = told("story", name, "--journal", journal)
    assert f"a is {ASKED.hex()}, request to add\n" in text
    assert f"b is {WID.hex()}, call of add, caused by a\n" in text
    rows = [line.split() for line in text.splitlines() if " bytes  +" in line]
    assert [row[0] for row in rows] == ["a", "b", "b", "b", "b", "a"]
    for words in ("query from client", "query to worker", "result from worker", "result to client"):
        assert words in text
    story = json.loads(told("story", name, "--journal", journal, "--json"))
    assert story["family"] == {ASKED.hex(): None, WID.hex(): ASKED.hex()}
    assert [row["kind"] for row in story["everything"]] == [
        "request", "query", "query", "result", "result", "response",
    ]  # fmt: skip
    assert story["everything"][1]["message"]["argument"] == "[1,2]"
    own = ASKED.hex() if story["exchange"] == ASKED.hex() else WID.hex()
    assert {row["exchange"] for row in story["frames"]} == {own}
