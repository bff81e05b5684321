"""The oracle's own checks: its decoders by the vectors of the specifications, its words by theirs."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from framehub.journal.generate import generate
from tests.spark.oracle import (
    audit_hub,
    audit_mfp,
    audit_rpc,
    difference,
    hub_bytes,
    mfp_bytes,
    rpc_bytes,
    tables,
)
from tests.spark.oracle.audit import SENTENCES
from tests.spark.oracle.metrics import EDGES, bucket, edge, quantile

VECTORS = Path(__file__).parents[3] / "spec" / "vectors"
BY_ROW = {
    "mfp-id-reused",
    "mfp-request-streams",
    "mfp-answer-unasked",
    "mfp-zero-id",
    "rpc-unregistered-worker",
    "hub-wrong-state",
    "link-used-after-close",
    "journal-gap",
    "raw-unlawful",
    "raw-checksum",
    "raw-differs",
}


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((VECTORS / name).read_text())["cases"]
    return found


def test_frames_are_read_as_the_vectors_say() -> None:
    read = [
        case
        for case in [*cases("mfp/frames.json"), *cases("mfp/frames_foreign.json")]
        if not case.get("verify_always")
    ]
    assert len(read) > 40
    for case in read:
        said, frame = mfp_bytes.decode(bytes.fromhex(case["hex"])), case["frame"]
        assert (said["kind"], said["id"], said["ref"]) == (frame["type"], frame["id"], frame.get("ref_id"))
        if said["payload_bytes"]:
            at = said["payload_at"]
            raw = bytes.fromhex(case["hex"])
            assert raw[at : at + said["payload_bytes"]] == bytes.fromhex(frame["payload"])


def test_what_is_no_frame_is_none() -> None:
    """Only what a connection agreed on, its checksums and its limits, is not known to who reads a journal."""
    agreed = {
        "checksum bit in mode off",
        "a CRC-32 where XOR8 was agreed",
        "no checksum in mode always",
        "service frame without a checksum in mode always",
        "verified always: no sum and no bit",
        "verified always: no bit and no room for a sum",
    }
    taken = set()
    for case in cases("mfp/malformed.json"):
        if "max_files" in case or "max_payload" in case:
            continue
        try:
            mfp_bytes.decode(bytes.fromhex(case["hex"]))
            taken.add(case["name"])
        except mfp_bytes.WrongSum:
            assert case["error"]["type"] == "ChecksumFailed", case["name"]
        except mfp_bytes.Unlawful:
            pass
    assert taken == agreed


def joined(case: dict[str, Any]) -> tuple[bytes, str]:
    parts = [b"peer", *map(bytes.fromhex, case["parts"])]
    raw = b"".join(struct.pack(">I", len(part)) + part for part in parts)
    return raw, "in" if case["way"].endswith("-proxy") else "out"


def test_messages_of_functions_are_read_as_the_vectors_say() -> None:
    for case in cases("rpc/messages.json"):
        said = rpc_bytes.decode(*joined(case))
        wanted = case["message"]
        assert said["query"] == (bytes.fromhex(wanted["id"]) if "id" in wanted else None)
        if "function" in wanted:
            assert said["endpoint"] == wanted["function"]


def test_what_is_no_message_of_functions_is_none() -> None:
    taken = []
    for case in cases("rpc/malformed.json"):
        try:
            rpc_bytes.decode(*joined(case))
            taken.append(case)
        except mfp_bytes.Unlawful:
            pass
    # By the direction alone it cannot be told whether a client or a worker said it.
    assert all("is not sent by" in case["reason"] for case in taken)


def test_envelopes_are_told_from_other_bytes() -> None:
    for case in cases("mfp/envelopes.json"):
        payload = bytes.fromhex(case["payload_hex"]) if "payload_hex" in case else case["payload"].encode()
        said = rpc_bytes.envelope(payload)
        if "filemap" in case.get("reason", "") or "files" in case or "attached" in case.get("reason", ""):
            continue  # whether the names fit the files is not seen in the envelope
        assert (said is None) == ("reason" in case), case["name"]
        assert said is None or {**said, **case["envelope"]} == said


def test_blocks_are_told_from_other_bytes() -> None:
    seen = 0
    for case in cases("rpc/coders.json"):
        if case["coder"] == "envelope" and "hex" in case:
            seen += 1
            assert (rpc_bytes.block(bytes.fromhex(case["hex"])) is None) == ("reason" in case), case["name"]
    assert seen > 10


@pytest.mark.parametrize(
    ("raw", "version", "way", "at_client", "want"),
    [
        ("00000005 0f 07 0003 6869", 2, "in", True, ("first", 5, 7, None, 8, 2)),
        ("00000005 0f 07 0009", 2, "out", False, ("first", 5, 7, None, None, None)),
        ("00005f07 01 00000000 0003 68", 1, "in", True, ("first", 5, 7, None, 11, 1)),
        ("00005f07 0009 68", 1, "out", False, ("first", 5, 7, None, 6, 1)),
        ("00000000 0e 01 6869", 2, "in", True, ("command", 0, 1, 1, 6, 2)),
        ("fffffd01 6869", 1, "out", True, ("stream_error", 0xFFFFF, 1, 1, 4, 2)),
        ("00000000 0f 00 01 00000000 0003 7b7d", 2, "in", False, ("first", 0, 0, None, 13, 2)),
        ("00000009 00 00", 2, "in", False, ("message", 9, 0, None, None, None)),
    ],
)
def test_hub_frames_are_read(
    raw: str, version: int, way: str, at_client: bool, want: tuple[Any, ...]
) -> None:
    said = hub_bytes.decode(bytes.fromhex(raw), version=version, direction=way, at_client=at_client)
    assert tuple(said[name] for name in ("kind", "id", "key", "code", "payload_at", "payload_bytes")) == want


@pytest.mark.parametrize(
    ("raw", "version"),
    [
        ("", 2),
        ("0000000500", 2),
        ("000005", 1),
        ("00000005 01 00", 2),
        ("00000005 0e 04", 2),
        ("00000005 0d 0d", 2),
        ("00000005 0d 00", 2),
        ("00000005 0f 07 00", 2),
        ("00005f07 01 00000000 00", 1),
    ],
)
def test_what_is_no_hub_frame_is_none(raw: str, version: int) -> None:
    with pytest.raises(mfp_bytes.Unlawful):
        hub_bytes.decode(bytes.fromhex(raw), version=version, direction="in", at_client=True)


def test_every_rule_of_the_specification_is_judged() -> None:
    assert {*audit_mfp.RULES, *audit_rpc.RULES, *audit_hub.RULES, *BY_ROW} == set(SENTENCES)


def test_waits_fall_into_buckets() -> None:
    assert (EDGES[0], EDGES[20], EDGES[-1]) == (1.0, 10.0, 10.0**9)
    assert [bucket(wait) for wait in (0, 1, 2, 10, 11, 10**9, 10**9 + 1)] == [0, 0, 7, 20, 21, 180, 181]
    assert edge(181) == float("inf")
    assert quantile(0.5, [5] * 10 + [50] * 10) == edge(bucket(5))
    assert quantile(0.95, [5] * 10 + [50] * 10) == 50.0
    assert quantile(0.5, []) is None


def test_a_difference_names_table_row_and_column() -> None:
    row = {"node": "a", "seq": 1, "json": '{"a": 1.0, "b": true}'}
    assert difference({"messages": [row]}, {"messages": [row | {"json": '{"b":true,"a":1}'}]}) is None
    other = difference({"messages": [row]}, {"messages": [row | {"json": '{"b":1,"a":1}'}]})
    assert other is not None
    assert other.startswith("messages node a, seq 1: json is")
    missing = difference({"messages": [row]}, {"messages": []})
    assert missing == "messages: 0 rows instead of 1 of node a, seq 1 (1 missing, 0 too many in all)"
    assert difference({"messages": []}, {}) == "tables [] instead of ['messages']"


def told(truth: dict[str, Any]) -> list[tuple[str, list[int]]]:
    """Every violation that a made-up journal says it has."""
    breaches = [breach for fault in truth["faults"] for breach in (fault, *fault["companions"])]
    return sorted((breach["rule"], breach["evidence"]) for breach in breaches)


def test_made_up_faults_are_found_and_nothing_else(tmp_path: Path) -> None:
    for seed in range(1, 4):
        place = tmp_path / str(seed)
        generate(place, frames=3300, seed=seed, faults="all")
        want = told(json.loads((place / "truth.json").read_text()))
        found = sorted((row["rule"], row["evidence"]) for row in tables(place)["violations"])
        assert found == want
        assert {rule for rule, _ in found} == set(SENTENCES)


def test_lawful_traffic_breaks_no_rule(tmp_path: Path) -> None:
    for seed in range(1, 4):
        generate(tmp_path / str(seed), frames=3000, seed=seed)
        assert tables(tmp_path / str(seed))["violations"] == []
