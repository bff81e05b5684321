"""Frames of the hub, both versions and every way."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import LocalProtocolError, MalformedFrame
from framehub.hub.headers import LAST_STREAM, HubFrame, Settings, Way, decode, encode, version_shown

SPEC = (Path(__file__).parents[3] / "spec" / "hub.md").read_text()
FIRST, MESSAGE, COMMAND = HubState.FIRST, HubState.MESSAGE, HubState.COMMAND
VERSIONS = st.sampled_from([1, 2])
WAYS = st.sampled_from(list(Way))
U16, U32 = st.integers(0, 2**16 - 1), st.integers(0, 2**32 - 1)


@st.composite
def frames(draw: st.DrawFn) -> tuple[HubFrame, int, Way]:
    version, way, state = draw(VERSIONS), draw(WAYS), draw(st.sampled_from(list(HubState)))
    stream = draw(st.just(0) | st.integers(0, LAST_STREAM[version]))
    parameter = draw(st.integers(0, 255))
    if state is COMMAND:
        parameter = draw(st.sampled_from(list(HubCommand)))
    elif state is HubState.STREAM_ERROR:
        parameter = draw(st.sampled_from(list(HubError)))
    body, number, settings_ = draw(st.binary(max_size=20)), None, None
    if state is FIRST:
        if stream == 0 or (way is Way.CLIENT_TO_HUB and version == 1):
            settings_ = Settings(draw(VERSIONS), draw(U32), draw(U16))
            if stream == 0 and way is not Way.SERVICE_TO_HUB:
                body = b""
        elif way in (Way.CLIENT_TO_HUB, Way.HUB_TO_SERVICE):
            number = draw(U16)
    return HubFrame(stream, state, parameter, body, number, settings_), version, way


@given(frames())
def test_a_frame_comes_back_as_it_was(case: tuple[HubFrame, int, Way]) -> None:
    """[HUB-2.1]"""
    frame, version, way = case
    assert decode(encode(frame, version, way), version, way) == frame


@given(st.binary(max_size=24), VERSIONS, WAYS)
def test_any_bytes_are_one_frame_or_refused(data: bytes, version: int, way: Way) -> None:
    """[HUB-2.5]"""
    with suppress(MalformedFrame):
        assert encode(decode(data, version, way), version, way) == data


@given(frames(), st.data())
def test_a_changed_or_cut_frame_is_one_or_refused(
    case: tuple[HubFrame, int, Way], data: st.DataObject
) -> None:
    frame, version, way = case
    raw = bytearray(encode(frame, version, way))
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    changed = bytes(raw[: data.draw(st.integers(0, len(raw)))])
    with suppress(MalformedFrame):
        assert encode(decode(changed, version, way), version, way) == changed


@pytest.mark.parametrize(
    ("data", "version", "way", "why"),
    [
        # [HUB-2.2]
        ("0000000000", 2, Way.CLIENT_TO_HUB, "a frame has at least 6 bytes, this one 5 at byte 5"),
        ("000000", 1, Way.CLIENT_TO_HUB, "a frame has at least 4 bytes, this one 3 at byte 3"),
        # [HUB-2.3]
        ("000000010100", 2, Way.CLIENT_TO_HUB, "state 1 is not in use at byte 4"),
        ("00000001ff00", 2, Way.CLIENT_TO_HUB, "state 255 is not in use at byte 4"),
        ("00001a00", 1, Way.HUB_TO_CLIENT, "state 10 is not in use at byte 2"),
        # [HUB-3.1]
        ("000000010f0101", 2, Way.CLIENT_TO_HUB, "cut short inside the number of service or user at byte 7"),
        ("00001f0101", 1, Way.HUB_TO_SERVICE, "cut short inside the number of service or user at byte 5"),
        ("00001f010100000000ff", 1, Way.CLIENT_TO_HUB, "cut short inside the settings at byte 10"),
        # [HUB-3.2]
        ("000000000f0003000000000001", 2, Way.SERVICE_TO_HUB, "version 3 is none of 1, 2 at byte 6"),
        # [HUB-3.3]
        (
            "000000000f000200000000000055",
            2,
            Way.CLIENT_TO_HUB,
            "trailing bytes after the settings at byte 13",
        ),
        # [HUB-4.1]
        ("000000000e04", 2, Way.CLIENT_TO_HUB, "command 4 is not in use at byte 5"),
        ("00000e00", 1, Way.CLIENT_TO_HUB, "command 0 is not in use at byte 3"),
        # [HUB-5.1]
        ("000000070d0d", 2, Way.HUB_TO_CLIENT, "error code 13 is not in use at byte 5"),
    ],
)
def test_what_is_no_frame_is_refused_with_the_reason(data: str, version: int, way: Way, why: str) -> None:
    with pytest.raises(MalformedFrame) as caught:
        decode(bytes.fromhex(data), version, way)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("frame", "version", "way", "why"),
    [
        # [HUB-2.4]
        (HubFrame(2**20, MESSAGE), 1, Way.HUB_TO_CLIENT, "stream 1048576 does not fit version 1"),
        (HubFrame(2**32, MESSAGE), 2, Way.HUB_TO_CLIENT, "stream 4294967296 does not fit version 2"),
        (HubFrame(-1, MESSAGE), 2, Way.HUB_TO_CLIENT, "stream -1 does not fit version 2"),
        (HubFrame(1, MESSAGE, 256), 2, Way.HUB_TO_CLIENT, "parameter 256 does not fit a byte"),
        (HubFrame(0, COMMAND, 9), 2, Way.HUB_TO_CLIENT, "command 9 is not in use"),
        (HubFrame(1, FIRST), 2, Way.CLIENT_TO_HUB, "a FIRST frame has a number this way"),
        (HubFrame(1, FIRST), 1, Way.CLIENT_TO_HUB, "a FIRST frame has settings this way"),
        (HubFrame(1, FIRST, number=1), 2, Way.SERVICE_TO_HUB, "has neither number nor settings this way"),
        (HubFrame(1, FIRST, number=2**16), 2, Way.HUB_TO_SERVICE, "number 65536 does not fit 16 bits"),
        (HubFrame(0, FIRST, settings=Settings(3)), 2, Way.SERVICE_TO_HUB, "version 3 is none of 1, 2"),
        (HubFrame(0, FIRST, settings=Settings(1, 2**32)), 2, Way.SERVICE_TO_HUB, "does not fit the settings"),
        (HubFrame(0, FIRST, 0, b"{}", None, Settings(2)), 2, Way.CLIENT_TO_HUB, "only a service"),
    ],
)
def test_what_no_frame_can_carry_is_not_sent(frame: HubFrame, version: int, way: Way, why: str) -> None:
    with pytest.raises(LocalProtocolError, match=why):
        encode(frame, version, way)


def test_a_first_frame_says_which_service_it_wants() -> None:
    assert HubFrame(1, FIRST, 1, b"", 300).service == 300
    assert HubFrame(1, FIRST, 1, b"", None, Settings(1, 0, 301)).service == 301
    assert HubFrame(1, MESSAGE).service is None


@given(VERSIONS)
def test_a_services_first_frame_shows_its_version(version: int) -> None:
    """[HUB-3.4]"""
    frame = HubFrame(0, FIRST, 0, b"{}", None, Settings(version))
    assert version_shown(encode(frame, version, Way.SERVICE_TO_HUB)) == version
    assert version_shown(encode(HubFrame(1, MESSAGE), version, Way.SERVICE_TO_HUB)) is None


EXAMPLES: list[tuple[str, int, Way, HubFrame]] = [
    ("00000007 0f 02 012c 6869", 2, Way.CLIENT_TO_HUB, HubFrame(7, FIRST, 2, b"hi", 300)),
    (
        "00007f02 01 00001388 012c 6869",
        1,
        Way.CLIENT_TO_HUB,
        HubFrame(7, FIRST, 2, b"hi", None, Settings(1, 5000, 300)),
    ),
    ("00100000 0f 02 002a 6869", 2, Way.HUB_TO_SERVICE, HubFrame(2**20, FIRST, 2, b"hi", 42)),
    ("00009f02 002a 6869", 1, Way.HUB_TO_SERVICE, HubFrame(9, FIRST, 2, b"hi", 42)),
    (
        "00000000 0f 00 02 00000000 012c 7b7d",
        2,
        Way.SERVICE_TO_HUB,
        HubFrame(0, FIRST, 0, b"{}", None, Settings(2, 0, 300)),
    ),
    (
        "00000f00 01 00000000 012c 7b7d",
        1,
        Way.SERVICE_TO_HUB,
        HubFrame(0, FIRST, 0, b"{}", None, Settings(1, 0, 300)),
    ),
    ("00100000 0c 00 6f6b", 2, Way.SERVICE_TO_HUB, HubFrame(2**20, HubState.LAST, 0, b"ok")),
    ("00007c00 6f6b", 1, Way.HUB_TO_CLIENT, HubFrame(7, HubState.LAST, 0, b"ok")),
    ("00000000 0e 01 2a", 2, Way.CLIENT_TO_HUB, HubFrame(0, COMMAND, HubCommand.PING, b"*")),
    ("00000e01 2a", 1, Way.CLIENT_TO_HUB, HubFrame(0, COMMAND, HubCommand.PING, b"*")),
    (
        "00000000 0e 03 02 00007530 012c",
        2,
        Way.HUB_TO_SERVICE,
        HubFrame(0, COMMAND, HubCommand.READY, Settings(2, 30_000, 300).encode()),
    ),
    (
        "00000007 0d 01 6c617465",
        2,
        Way.HUB_TO_CLIENT,
        HubFrame(7, HubState.STREAM_ERROR, HubError.TIMEOUT, b"late"),
    ),
]


@pytest.mark.parametrize(("text", "version", "way", "frame"), EXAMPLES)
def test_the_specs_examples_are_what_it_says(text: str, version: int, way: Way, frame: HubFrame) -> None:
    assert decode(bytes.fromhex(text), version, way) == frame
    assert encode(frame, version, way) == bytes.fromhex(text)


def test_all_examples_and_rules_of_the_spec_are_looked_at() -> None:
    shown = re.findall(r"^((?:[0-9a-f]{2,8} )+(?:[0-9a-f]{2,8}))  ", SPEC, re.MULTILINE)
    assert shown == [text for text, *_ in EXAMPLES]
    frames, _, _ = SPEC.partition("\n## 6. ")  # what follows is not about bytes
    rules = set(re.findall(r"^- \[(HUB-[\d.]+)\]", frames, re.MULTILINE))
    assert rules <= set(re.findall(r"\[(HUB-[\d.]+)\]", Path(__file__).read_text()))
    assert frames.count("MUST") - 2 == len(rules) - 1  # HUB-3.4 says what is


def test_the_specs_tables_have_every_code() -> None:
    numbered: Any = re.findall(r"^\| (\d+) \| ([A-Z_]+) \|", SPEC, re.MULTILINE)
    assert {int(code): name for code, name in numbered} == {code.value: code.name for code in HubError}
    for names in (HubState, HubCommand):
        row = " | ".join(str(n) for n in _order(names))
        assert f"| {row} | others |" in SPEC


def _order(names: Any) -> list[int]:
    table = SPEC[SPEC.index("| state |" if names is HubState else "| command |") :]
    words = [word.strip() for word in table.splitlines()[2].split("|")]
    return [names[word].value for word in words if word in names.__members__]


def test_a_record_by_itself() -> None:
    settings = Settings(2, 30_000, 300)
    assert Settings.decode(settings.encode()) == settings
    for data, why in ((b"\x02\0", "cut short"), (settings.encode() + b"x", "trailing bytes")):
        with pytest.raises(MalformedFrame, match=why):
            Settings.decode(data)
