"""What goes from the hub to its services."""

import logging
from time import monotonic
from typing import Final

from framehub.codes import HubCommand, HubState
from framehub.hub.headers import HubFrame, Way, decode, encode
from framehub.hub.parties import Instance, Stream
from framehub.hub.switch import Switch
from framehub.runtime.hub_tap import HubTap
from framehub.runtime.hub_window import LARGE, Window
from framehub.runtime.zmq_socket import MessageSocket, Sent

log = logging.getLogger("framehub.hub")

_OK: Final = Sent.OK


class ServiceOutbox:
    """Empties ``switch.to_services``; what cannot be sent now the switch keeps."""

    def __init__(self, switch: Switch, socket: MessageSocket, tap: HubTap | None) -> None:
        self._switch = switch
        self._socket = socket
        self._tap = tap
        self._windows: dict[bytes, Window] = {}  # of services that were sent something large

    def send_all(self) -> None:
        """Send what there is to send."""
        waiting = self._switch.to_services
        sending = waiting[:]
        waiting.clear()
        tap, send = self._tap, self._socket.send_one
        for instance, data, stream in sending:
            try:
                if instance.held:
                    self._switch.hold_for_service(instance, data, stream, monotonic())
                elif stream is not None and stream.is_gapped and self._switch.is_late(instance, data, stream):
                    continue
                elif not instance.is_gone:
                    if len(data) > LARGE:
                        sent = self._send_large(instance, data, stream)
                    elif (sent := send(instance.identity, data)) is _OK and tap is not None:
                        tap.told_service(instance, data, stream)
                    if sent is not _OK:
                        self._not_sent(instance, data, stream, sent)
            except Exception:
                log.exception("a frame could not be passed on to a service")
                if stream is not None:
                    self._switch.fail(stream, monotonic())

    def send_held(self) -> None:
        """Send what waits for services that may take something again."""
        for instance in list(self._switch.stuck.values()):
            while instance.held:
                data, stream, _ = instance.held[0]
                sent = self._send(instance, data, stream)
                if sent is not _OK:
                    if sent is Sent.UNREACHABLE:
                        self._switch.service_gone(instance, monotonic())
                    break
                self._switch.sent(instance)

    def heard(self, identity: bytes, data: bytes) -> bool:
        """A service said something about its link: whether it has read what others wait behind."""
        window, instance = self._windows.get(identity), self._switch.instances.get(identity)
        if window is None or instance is None:
            return False
        frame = decode(data, instance.version, Way.SERVICE_TO_HUB)
        is_pong = frame.state is HubState.COMMAND and frame.parameter == HubCommand.PONG
        return is_pong and window.heard(frame.body) and bool(instance.held)

    def forget(self, identity: bytes) -> None:
        """A service has come or gone: it begins anew."""
        self._windows.pop(identity, None)

    def _send(self, instance: Instance, data: bytes, stream: Stream | None) -> Sent:
        if len(data) > LARGE:
            return self._send_large(instance, data, stream)
        sent = self._socket.send_one(instance.identity, data)
        if sent is _OK and self._tap is not None:
            self._tap.told_service(instance, data, stream)
        return sent

    def _send_large(self, instance: Instance, data: bytes, stream: Stream | None) -> Sent:
        """Send a frame, unless the service has much to read before it."""
        window = self._windows.get(instance.identity)
        if window is None:
            window = self._windows[instance.identity] = Window()
        if window.is_full:
            return Sent.AGAIN
        sent = self._socket.send_one(instance.identity, data)
        if sent is not _OK:
            return sent
        if self._tap is not None:
            self._tap.told_service(instance, data, stream)
        if (body := window.sent(len(data))) is not None:
            ping = HubFrame(0, HubState.COMMAND, HubCommand.PING, body)
            if self._send(instance, encode(ping, instance.version, Way.HUB_TO_SERVICE), None) is _OK:
                window.marked()
        return sent

    def _not_sent(self, instance: Instance, data: bytes, stream: Stream | None, sent: Sent) -> None:
        now = monotonic()
        if sent is Sent.UNREACHABLE:
            self._switch.service_gone(instance, now)
        else:
            self._switch.hold_for_service(instance, data, stream, now)
