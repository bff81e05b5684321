"""One frame, field by field."""

from typing import Any

import pytest

from framehub.codes import BinaryKind, HubState, Service
from framehub.console.explained import MOST_RAW, explained
from framehub.hub.headers import HubFrame, Settings, Way, encode
from framehub.journal.mfp_rows import IN, OUT
from framehub.mfp import codec, envelope
from framehub.mfp.checksum import Checksums
from framehub.mfp.frames import BinaryFrame, MessageFrame, RequestFrame, ServiceFrame
from framehub.rpc import words
from framehub.rpc.messages import registration
from tests.unit.console.rows import ASKED, CLIENT, WORKER, Script, at, pondered, timed_out


def fields(told: dict[str, Any]) -> dict[str, tuple[str, int, int]]:
    return {field["name"]: (field["value"], field["at"], field["bytes"]) for field in told["fields"]}


def pieces(told: dict[str, Any]) -> set[bytes]:
    raw = bytes.fromhex(told["raw"])
    return {raw[field["at"] : field["at"] + field["bytes"]] for field in told["fields"]}


def test_a_request_with_files_says_where_everything_stands() -> None:
    script = Script()
    payload = envelope.encode("files.store", {"album": 1})
    script.say(
        0, IN, RequestFrame(id=5, payload=payload, files=((0, b"first"), (7, b"second")), need_ack=True)
    )
    told = explained(script.read[0])
    found = fields(told)
    assert (found["id"], found["endpoint"][0]) == (("5", 1, 4), "files.store")
    assert {payload, b"first", b"second"} <= pieces(told)
    assert found["file 7"][0] == "6 bytes: second"
    assert (found["ack"][0], told["text"]) == ("wanted", payload.decode())


@pytest.mark.parametrize(
    "sums", [Checksums("flag", "crc32"), Checksums("flag", "xor8"), Checksums("always", "crc32")]
)
def test_the_sum_is_found_whichever_it_is(sums: Checksums) -> None:
    script = Script()
    frame = ServiceFrame(id=4, code=Service.ACK, ref=3, own=False, checksum=True)
    raw = codec.encode(frame, sums)
    script.rows.append(script.mfp.frame(at(0), OUT, frame, raw, ASKED))
    found = fields(explained(script.read[0]))
    size = 1 if sums.algorithm == "xor8" else 4
    assert found["checksum"] == ("right", 9, size)
    assert found["ref"][0] == "3, the receiver's"


def test_announced_files_streams_and_chunks() -> None:
    script = Script()
    script.say(0, IN, MessageFrame(id=1, payload=b"{}", expected=(3, 9)))
    script.say(0, IN, MessageFrame(id=2, payload=b"{}", streaming=True))
    script.say(0, IN, BinaryFrame(id=3, ref=2, kind=BinaryKind.STREAMING, key=8, data=b"chunk", final=True))
    announced, streamed, chunk = (explained(row) for row in script.read)
    assert {b"\0\0\0\3", b"\0\0\0\x09"} <= pieces(announced)
    assert fields(streamed)["stream"][0] == "begins"
    assert fields(chunk)["kind"][0] == "streaming, the last one"
    assert (fields(chunk)["key"], fields(chunk)["data"]) == (("8", 9, 4), ("5 bytes: chunk", 13, 5))


def test_messages_of_functions_by_the_names_of_their_parts() -> None:
    found = fields(explained(timed_out(Script()).read[2]))
    assert found["type"][0] == "QUERY"
    assert (found["argument"][0], found["function"][0]) == ("1 bytes: 3", "nap")
    script = Script()
    script.rpc_says(0, IN, WORKER, *registration([("nap", "json", "json")]))
    told = explained(script.read[0])
    assert [field["value"] for field in told["fields"]][2:] == ["1 functions", "nap", "json", "json"]


def test_frames_of_the_hub_by_their_way() -> None:
    first, given, ended, _ = (fields(explained(row)) for row in pondered(Script()).read)
    assert (first["way"][0], first["service"], first["function"]) == (
        "client to hub",
        ("7", 6, 2),
        ("3", 5, 1),
    )
    assert (given["way"][0], given["user"]) == ("hub to service", ("7", 6, 2))
    assert (ended["error"][0], ended["stream"]) == ("1, TIMEOUT", ("5", 0, 4))
    script = Script()
    frame = HubFrame(0, HubState.FIRST, 0, b"", None, Settings(2, 1500, 7))
    raw = encode(frame, 2, Way.SERVICE_TO_HUB)
    script.rows.append(script.hub_service.frame(at(0), IN, frame, raw))
    found = fields(explained(script.read[0]))
    assert (found["timeout"][0], found["stream"][0]) == ("1500 ms", "0, the link itself")


def test_without_a_look_inside_there_is_nothing_of_what_it_carries() -> None:
    told = explained(timed_out(Script()).read[0], inside=False)
    assert (told["fields"], told["raw"], told["text"]) == ([], "", "")
    assert told["bytes"] > 0


def test_bytes_that_are_no_frame_are_shown_with_the_reason() -> None:
    script = Script()
    script.rows.append(script.mfp.refused(at(0), b"\xff\0", "not a frame"))
    told = explained(script.read[0])
    assert (told["raw"], told["refused"], told["fields"]) == ("ff00", "not a frame", [])
    row = {**timed_out(Script()).read[0], "raw": b"\x61\0"}
    assert "byte" in explained(row)["malformed"]


def test_of_a_large_frame_the_beginning_is_shown() -> None:
    script = Script()
    script.rpc_says(1, OUT, CLIENT, words.RESPONSE_RESULT, b"id", b"\xff" * 10_000)
    told = explained(script.read[0])
    assert (len(told["raw"]), told["text"]) == (2 * MOST_RAW, "")
