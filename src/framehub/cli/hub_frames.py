"""``framehub decode hub``: a frame of the hub, explained."""

from collections.abc import Iterator
from typing import Any

from framehub.codes import HubCommand, HubError, HubState
from framehub.errors import MalformedFrame
from framehub.hub.headers import HubFrame, Settings, Way, decode

SPOKEN = {
    Way.CLIENT_TO_HUB: ("FIRST", "MESSAGE", "LAST", "COMMAND"),
    Way.HUB_TO_CLIENT: ("MESSAGE", "LAST", "COMMAND", "STREAM_ERROR", "SERVICE_ERROR"),
    Way.SERVICE_TO_HUB: ("FIRST", "MESSAGE", "LAST", "COMMAND", "SERVICE_ERROR"),
    Way.HUB_TO_SERVICE: ("FIRST", "MESSAGE", "LAST", "COMMAND", "STREAM_ERROR"),
}
"""What is said on each way (spec/hub.md, 7.10)."""


def readings(data: bytes, version: int, way: Way | None) -> dict[Way, HubFrame]:
    """What the bytes say, on each way that they may go.

    Raises:
        MalformedFrame: on none.
    """
    found: dict[Way, HubFrame] = {}
    reason: MalformedFrame | None = None
    for one in (way,) if way is not None else Way:
        try:
            frame = decode(data, version, one)
        except MalformedFrame as exc:
            reason = reason or exc
            continue
        if way is not None or _is_said(frame, one):
            found[one] = frame
    if found:
        return found
    raise reason or MalformedFrame("nobody says this anywhere", offset=0)


def _is_said(frame: HubFrame, way: Way) -> bool:
    if frame.state.name not in SPOKEN[way]:
        return False
    if frame.state is HubState.FIRST:
        return way is Way.CLIENT_TO_HUB or (frame.stream == 0) == (way is Way.SERVICE_TO_HUB)
    is_ready = frame.state is HubState.COMMAND and frame.parameter == HubCommand.READY
    return not is_ready or way in (Way.HUB_TO_CLIENT, Way.HUB_TO_SERVICE)


def as_json(frame: HubFrame) -> dict[str, Any]:
    """The frame as the vectors of ``spec/vectors/hub`` have it."""
    told: dict[str, Any] = {"stream": frame.stream, "state": frame.state.name, "parameter": frame.parameter}
    if frame.body:
        told["body"] = frame.body.hex()
    if frame.number is not None:
        told["number"] = frame.number
    if frame.settings is not None:
        told["settings"] = _settings_as_json(frame.settings)
    return told


def explained(found: dict[Way, HubFrame]) -> Iterator[tuple[str, str | bytes]]:
    """A frame for people: name and value of each field; bytes are to be shown shortened."""
    frame = next(iter(found.values()))
    ways = [way for way, other in found.items() if other == frame]
    yield "from", " or ".join(way.value.replace("-", " to ") for way in ways)
    yield "stream", "0, the link itself" if frame.stream == 0 else str(frame.stream)
    yield _parameter(frame)
    if frame.number is not None:
        yield (
            " or ".join("service" if way is Way.CLIENT_TO_HUB else "user" for way in ways),
            str(frame.number),
        )
    if frame.settings is not None:
        yield from _settings(frame.settings)
    if frame.state is HubState.COMMAND and frame.parameter == HubCommand.READY:
        try:
            yield from _settings(Settings.decode(frame.body))
            return
        except MalformedFrame as exc:
            yield "settings", str(exc)
    if frame.body:
        yield "body", frame.body


def _parameter(frame: HubFrame) -> tuple[str, str]:
    if frame.state is HubState.COMMAND:
        return "command", f"{frame.parameter}, {HubCommand(frame.parameter).name}"
    if frame.state is HubState.STREAM_ERROR:
        return "error", f"{frame.parameter}, {HubError(frame.parameter).name}"
    return "function", str(frame.parameter)


def _settings(settings: Settings) -> Iterator[tuple[str, str]]:
    default = settings.timeout_ms == 0
    yield "version", str(settings.version)
    yield "timeout", "the default" if default else f"{settings.timeout_ms / 1000:g} s"
    yield "service", str(settings.service)


def _settings_as_json(settings: Settings) -> dict[str, int]:
    return {
        "version": settings.version,
        "timeout_ms": settings.timeout_ms,
        "service": settings.service,
    }
