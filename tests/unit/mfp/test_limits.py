"""How much one side takes of the other: every limit at its number and at one more, both ways."""

from collections.abc import Callable
from typing import Any

import pytest

from framehub.codes import BinaryKind, Service
from framehub.errors import LimitExceeded, MalformedFrame, RemoteProtocolError
from framehub.mfp import codec
from framehub.mfp.connection import Connection
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.mfp.limits import NO_LIMIT, Limits
from framehub.mfp.negotiation import Told
from framehub.mfp.outbox import FRAME_OVERHEAD
from framehub.mfp.settings import Settings

N = 70  # every limit below, so that one table serves all


def test_the_limits_of_a_side_are_those_of_its_settings() -> None:
    settings = Settings(max_files=3, max_payload_bytes=5)
    limits = Limits.of(settings)
    assert (limits.files, limits.payload_bytes, limits.requests) == (3, 5, 1024)
    assert limits.plain()["files"] == 3


@pytest.mark.parametrize("told", [None, "much", 7, [], {}, {"others": 1}])
def test_what_says_nothing_limits_nothing(told: Any) -> None:
    """[MFP-9.4]"""
    assert Limits.understood(told) == Limits()


@pytest.mark.parametrize("name", Limits.__struct_fields__)
@pytest.mark.parametrize("value", [-1, 2.5, "7", True, None, [7]])
def test_a_limit_that_is_no_number_is_ignored_and_the_others_count(name: str, value: Any) -> None:
    """[MFP-9.4]"""
    other = "files" if name != "files" else "requests"
    assert Limits.understood({name: value, other: 7}).plain() == Limits().plain() | {other: 7}


@pytest.mark.parametrize(("told", "kept"), [(64, 64), (63, NO_LIMIT), (0, NO_LIMIT)])
def test_a_frame_of_less_than_64_bytes_makes_no_sense(told: int, kept: int) -> None:
    """[MFP-9.4]"""
    assert Limits.understood({"frame_bytes": told}).frame_bytes == kept


def test_nothing_at_all_can_be_a_limit_of_anything_else() -> None:
    """[MFP-9.4]"""
    told = {name: 0 for name in Limits.__struct_fields__ if name != "frame_bytes"}
    assert Limits.understood(told).plain() == told | {"frame_bytes": NO_LIMIT}


def test_of_two_limits_the_lower_one_counts() -> None:
    """[MFP-9.4]"""
    assert Limits(files=3, requests=9).lowered(Limits(files=5, requests=7)) == Limits(files=3, requests=7)


# --- what comes ------------------------------------------------------------------------------------------


def take(machine: Connection, frame: Frame) -> str:
    """What becomes of a frame of the peer's: taken, aborted, or the end of the connection."""
    data = codec.encode(frame)
    try:
        machine.receive(data, 0.0)
    except RemoteProtocolError as refusal:
        return "malformed" if isinstance(refusal, MalformedFrame) else "refused"
    sent = [out.frame for out in machine.drain()]
    return "aborted" if [frame for frame in sent if _is_abort(frame)] else "taken"


def _is_abort(frame: Frame) -> bool:
    return isinstance(frame, ServiceFrame) and frame.code is Service.ABORT


def many(frame: Callable[[int], Frame]) -> Callable[[Connection, int], str]:
    """One after the other; what becomes of the last."""
    return lambda machine, count: [take(machine, frame(id_)) for id_ in range(1, count + 1)][-1]


def waiting(machine: Connection, count: int) -> str:
    take(machine, MessageFrame(id=1, payload=b"x" * 9, expected=(1, 2)))
    file = BinaryFrame(id=2, ref=1, kind=BinaryKind.EXPECTED, key=1, data=b"x" * (count - 9), final=False)
    return take(machine, file)


COMES: dict[str, tuple[Callable[[Connection, int], str], str]] = {
    "max_frame_bytes": (lambda m, n: take(m, MessageFrame(id=1, payload=b"x" * (n - 9))), "refused"),
    "max_payload_bytes": (lambda m, n: take(m, RequestFrame(id=1, payload=b"x" * n)), "malformed"),
    "max_files": (lambda m, n: take(m, MessageFrame(id=1, expected=tuple(range(n)))), "malformed"),
    "max_requests": (many(lambda id_: RequestFrame(id=id_)), "aborted"),
    "max_streams": (many(lambda id_: MessageFrame(id=id_, streaming=True)), "aborted"),
    "max_announced": (many(lambda id_: MessageFrame(id=id_, expected=(1,))), "aborted"),
    "max_waiting_bytes": (waiting, "aborted"),
}


@pytest.mark.parametrize("setting", COMES)
@pytest.mark.parametrize("over", [0, 1])
def test_what_comes_is_taken_up_to_the_limit(setting: str, over: int) -> None:
    """[MFP-9.3.2] [MFP-5.7] [MFP-5.9] [MFP-8.2.6] [MFP-8.4.7] [MFP-8.6.7]"""
    come, beyond = COMES[setting]
    limit: dict[str, Any] = {setting: N}
    assert come(Connection(Settings(**limit)), N + over) == (beyond if over else "taken")


@pytest.mark.parametrize("kind", [MessageFrame, RequestFrame, ResponseFrame])
@pytest.mark.parametrize("files", [(), ((1, b"x"),)], ids=["bare", "with a file"])
@pytest.mark.parametrize("checksum", [False, True])
def test_the_limit_of_a_payload_counts_in_every_frame_that_has_one(
    kind: Any, files: Any, checksum: bool
) -> None:
    """[MFP-5.9]"""
    ref = {"ref": 1} if kind is ResponseFrame else {}
    for size in (N, N + 1):
        data = codec.encode(kind(id=1, payload=b"x" * size, files=files, checksum=checksum, **ref))
        if size == N:
            assert codec.decode(data, max_payload=N)
        else:
            with pytest.raises(MalformedFrame, match=f"payload of {N + 1} bytes, at most {N} are allowed"):
                codec.decode(data, max_payload=N)


# --- what goes -------------------------------------------------------------------------------------------


def send_waiting(machine: Connection, count: int) -> None:
    ref = machine.message(b"x" * 9, expected=(1, 2))
    machine.file(ref, 1, b"x" * (count - 9))


def often(send: Callable[[Connection], Any]) -> Callable[[Connection, int], None]:
    def sends(machine: Connection, count: int) -> None:
        for _ in range(count):
            send(machine)

    return sends


GOES: dict[str, Callable[[Connection, int], Any]] = {
    "frame_bytes": lambda m, n: m.message(b"x" * (n - FRAME_OVERHEAD)),
    "payload_bytes": lambda m, n: m.request(b"x" * n, now=0.0),
    "files": lambda m, n: m.message(b"", tuple((key, b"") for key in range(n))),
    "requests": often(lambda m: m.request(b"", now=0.0)),
    "streams": often(lambda m: m.message(b"", streaming=True)),
    "announced": often(lambda m: m.message(b"", expected=(1,))),
    "waiting_bytes": send_waiting,
}


def test_every_limit_is_walked_both_ways() -> None:
    assert set(GOES) == set(Limits.__struct_fields__) == {name.removeprefix("max_") for name in COMES}


@pytest.mark.parametrize("name", GOES)
@pytest.mark.parametrize("told", [False, True], ids=["our own", "told in the hello"])
@pytest.mark.parametrize("over", [0, 1])
def test_nothing_over_a_limit_is_sent(name: str, told: bool, over: int) -> None:
    """[MFP-9.3.1] [MFP-9.4]"""
    own: dict[str, Any] = {f"max_{name}": 1000 if told else N}
    machine = Connection(Settings(**own))
    if told:
        machine.keep_to(Told(limits=Limits.understood({name: N})))
    if not over:
        GOES[name](machine, N)
        return
    with pytest.raises(LimitExceeded) as caught:
        GOES[name](machine, N + 1)
    assert (caught.value.allowed, caught.value.got) == (N, N + 1)
    assert f"max_{name}" in caught.value.hint


def test_what_is_over_makes_room() -> None:
    """[MFP-8.4.7] Whether it was told to its end, given up or refused."""
    machine = Connection(Settings(max_announced=1, max_waiting_bytes=10))
    for how in ("whole", "given up", "refused", "whole"):
        ref = machine.message(b"x" * 4, expected=(1, 2))
        machine.file(ref, 1, b"x" * 6)
        if how == "whole":
            machine.file(ref, 2, b"")
        elif how == "given up":
            assert machine.give_up(ref)
        else:
            take(machine, ServiceFrame(id=9, code=Service.ABORT, ref=ref))


@pytest.mark.parametrize(("own", "told", "kept"), [(30.0, 5.0, 5.0), (5.0, 30.0, 5.0)])
def test_a_request_waits_no_longer_than_either_side_would(own: float, told: float, kept: float) -> None:
    """[MFP-9.4] Unless it names a time of its own."""
    machine = Connection(Settings(request_timeout=own))
    machine.keep_to(Told(request_timeout=told))
    assert machine.request_timeout == kept
    machine.request(b"", now=0.0)
    machine.request(b"", now=0.0, timeout=99.0)
    assert len(machine.tick(kept + 0.02)) == 1
