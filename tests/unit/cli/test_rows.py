"""Rows of the hub for people and for programs."""

import json
from typing import Any

from framehub.cli.rows import as_json, as_line, hub_frame_of
from framehub.codes import HubCommand, HubError, HubState
from framehub.hub.headers import HubFrame, Settings
from framehub.journal.columns import to_batch
from framehub.journal.hub_traffic import HubClient, HubService, Stream, command, refusal
from framehub.journal.record import with_position
from framehub.journal.traffic import IN, OUT, World


def rows_of(world: World) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = with_position(to_batch(world.tape), node="n", first_seq=1).to_pylist()
    return found


def traffic(version: int) -> list[dict[str, Any]]:
    world = World(1)
    client = HubClient(b"linklink", version=version, user=42)
    service = HubService(b"weather-1", version=2, number=3, name="weather")
    stream = Stream(world, client, service, function=2, timeout_s=9)
    stream.opened(b"hi")
    stream.given(b"hi")
    stream.killed_at_client(HubError.TIMEOUT)
    command(world, client, OUT, HubCommand.READY, Settings(2).encode())
    refusal(world, client, HubFrame(5, HubState.MESSAGE, 1), HubError.STREAM_NOT_FOUND)
    world.closed(client, 1001)
    world.hub_refused(client, b"?", "bad_frame: too short")
    return rows_of(world)


def ends(rows: list[dict[str, Any]]) -> list[str]:
    """What lines say after the sizes."""
    return [as_line(row).partition(" B ")[2] for row in rows]


def test_a_line_says_side_version_and_what_it_is_about() -> None:
    rows = traffic(2)
    assert ends(rows) == [
        "client v2 timeout 9 s service 3.2 weather",
        "service v2 service 3.2 weather",
        "client v2 code 1 service 3.2 weather error: timeout",
        "client v2 READY",
        "client v2 refused: stream_not_found",
        "client v2 code 4 error: stream_not_found",
        "client v2 code 1001",
        "client v2 refused: bad_frame: too short",
    ]
    assert " first             1 " in as_line(rows[0])
    assert " first             1048576 of 1 " in as_line(rows[1])


def test_a_code_that_is_none_is_shown_as_it_is() -> None:
    (row,) = [row for row in traffic(2) if row["kind"] == "command"]
    assert ends([{**row, "code": 9, "service": 3}]) == ["client v2 command 9 service 3"]


def test_json_has_the_frame_by_its_names() -> None:
    for version, more in (
        (1, {"settings": {"version": 1, "timeout_ms": 9000, "service": 3}}),
        (2, {"service": 3}),
    ):
        opening, given, error, ready, *_, closed, refused = traffic(version)
        assert json.loads(as_json(opening))["message"] == {
            "stream": 1, "state": "FIRST", "parameter": 2, **more, "body": "hi",
        }  # fmt: skip
        assert hub_frame_of(given) == {
            "stream": 2**20, "state": "FIRST", "parameter": 2, "user": 42, "body": "hi",
        }  # fmt: skip
        assert (hub_frame_of(error) or {})["state"] == "STREAM_ERROR"
        assert (hub_frame_of(ready) or {})["command"] == "READY"
        assert hub_frame_of(closed) is None
        assert hub_frame_of(refused) is None
        assert "message" not in json.loads(as_json(refused))


def test_rows_of_others_are_no_frames_of_the_hub() -> None:
    world = World(1)
    world.rpc(IN, "worker", b"w", [b"HEART_BEAT"])
    (row,) = rows_of(world)
    assert hub_frame_of(row) is None
    assert json.loads(as_json(row))["message"] == {"identity": "77", "type": "HEART_BEAT"}
