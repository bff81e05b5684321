import time

import numpy as np

from framehub.codes import HubCommand, HubState
from framehub.hub.headers import HubFrame, Way, encode
from framehub.journal.brief import BRIEF, CONSTANT, MFP_BRIEF, READ_BEYOND, pack, unfold, wall_offset
from framehub.journal.labels import Labels
from framehub.journal.record import KIND_NUMBER, PROTOCOLS
from framehub.journal.rpc_rows import join

LINK, EXCHANGE = b"linklink", (1, 2)


def told(raw: bytes, protocol: str, *, kind: str = "refused", payload_at: int = 0) -> dict[str, object]:
    constant = CONSTANT.pack(
        LINK, PROTOCOLS.index(protocol), 2, 1, KIND_NUMBER[kind], 7, 3, 4, 5, payload_at, 0
    )
    labels = Labels()
    number = labels.number(constant, None, None, None)
    packed = np.frombuffer(pack(12.000000345, *EXCHANGE, len(raw), number), dtype=BRIEF)
    frames = np.frombuffer(raw + bytes(READ_BEYOND), dtype=np.uint8)
    columns = unfold(packed, labels.of(packed["label"]), frames, np.zeros(1, dtype=np.int64))
    return {name: values[0] for name, values in columns.items()}


def test_a_message_of_the_hub_is_told_by_its_header() -> None:
    frame = HubFrame(70_000, HubState.MESSAGE, 9, b"body")
    row = told(encode(frame, 2, Way.HUB_TO_SERVICE), "hub")
    assert (row["id"], row["key"], row["head"], row["ref"]) == (70_000, 9, 0, 5)
    assert (row["payload_at"], row["payload_bytes"], row["bytes"]) == (6, 4, 10)
    assert row["kind"] == KIND_NUMBER["message"]
    assert (row["service"], row["function"], row["user"], row["version"]) == (3, 4, 7, 2)
    empty = told(encode(HubFrame(1, HubState.LAST, 0), 2, Way.HUB_TO_CLIENT), "hub")
    assert (empty["payload_at"], empty["payload_bytes"], empty["kind"]) == (-1, -1, KIND_NUMBER["last"])
    assert HubCommand.PING not in (empty["code"],)


def test_a_message_of_a_function_says_how_long_its_payload_is() -> None:
    raw = join([b"peer", b"RESPONSE_RESULT", b"id", b"result"])
    at = len(raw) - len(b"result")
    row = told(raw, "rpc", kind="result", payload_at=at)
    assert (row["payload_at"], row["payload_bytes"], row["kind"]) == (at, 6, KIND_NUMBER["result"])
    assert (row["id"], row["ref"], row["head"]) == (-1, -1, -1)
    assert told(raw, "rpc", kind="result")["payload_bytes"] == -1


def test_the_clock_is_kept_to_the_nanosecond() -> None:
    row = told(join([b"peer", b"HEART_BEAT"]), "rpc")
    assert row["mono_ns"] == 12_000_000_345


def test_the_wall_is_as_far_ahead_as_it_is() -> None:
    assert abs(wall_offset() - (time.time_ns() - time.monotonic_ns())) < 1e9


def test_frames_with_maps_are_not_brief() -> None:
    assert [MFP_BRIEF[head] for head in (0x61, 0x41, 0xA1)] == [2] * 3
    assert [MFP_BRIEF[head] for head in (0x21, 0x80, 0x86)] == [1] * 3
    assert [MFP_BRIEF[head] for head in (0x63, 0x67, 0x43, 0x45, 0xA7, 0x00, 0xFF)] == [0] * 7
