"""What a gateway does now, as plain values: for the admin port's JSON, and for its metrics.

Nothing is counted for this: it reads what the parts of the gateway count for themselves. There is no payload,
token or key in it.
"""

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from framehub.journal.hub_rows import service_link
from framehub.journal.rpc_rows import RpcRows

if TYPE_CHECKING:
    from framehub.gateway.gateway import Gateway

MOST_LISTED: Final = 1_000
"""Connections, instances, functions and workers in one answer; there may be more, their number is told."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether new work should come here, and if not, why."""

    ready: bool
    reason: str = ""


def readiness(gateway: "Gateway") -> Readiness:
    """Not while it starts or stops, nor when what happens is not recorded though it should be."""
    if gateway.failure is not None:
        return Readiness(False, str(gateway.failure))
    if gateway.is_stopping:
        return Readiness(False, "stopping")
    if gateway.writer is not None and gateway.writer.failed is not None:
        return Readiness(False, str(gateway.writer.failed))
    if not gateway.is_up:
        return Readiness(False, "starting")
    return Readiness(True)


def everything(gateway: "Gateway") -> dict[str, Any]:
    """All sections, without the long lists."""
    found = readiness(gateway)
    return {
        "ready": found.ready,
        "reason": found.reason or None,
        "pending": gateway.pending,
        "buffered_bytes": gateway.buffered_bytes,
        "connections": _short(connections(gateway)),
        "services": _short(services(gateway)),
        "functions": _short(functions(gateway)),
        "journal": journal(gateway),
    }


def _short(told: dict[str, Any]) -> dict[str, Any]:
    """Lists have pages of their own."""
    return {name: value for name, value in told.items() if not isinstance(value, list)}


def addresses(gateway: "Gateway") -> dict[str, str | None]:
    """Where clients, services and workers connect, and where the journal is; nothing for what is off."""
    hub, proxy, writer = gateway.hub, gateway.functions, gateway.writer
    return {
        "mfp": gateway.url,
        "services": hub.address if hub else None,
        "clients": proxy.clients_address if proxy else None,
        "workers": proxy.workers_address if proxy else None,
        "journal": str(writer.node.directory.absolute()) if writer else None,
    }


def connections(gateway: "Gateway") -> dict[str, Any]:
    """Who is connected by WebSocket."""
    listener, hub = gateway.listener, gateway.hub
    peers = listener.peers if listener else ()
    clients = hub.switch.clients if hub and hub.is_up else ()
    return {
        "mfp_open": len(peers),
        "mfp_opened": listener.opened if listener else 0,
        "mfp_exchanges": listener.exchanges if listener else 0,
        "hub_open": len(clients),
        "limited": dict(listener.accounts.counts) if listener else {},
        "busy": listener.turned_away if listener else 0,
        "refused": {str(status): count for status, count in listener.refused.items()} if listener else {},
        "mfp": [
            {"link": peer.link, "user": peer.user, "pending": peer.pending, "exchanges": peer.exchanges}
            for peer in islice(peers, MOST_LISTED)
        ],
        "users": [
            {"who": one.who, "connections": one.connections, "open": one.open, "refused": one.refused}
            for one in islice(listener.accounts.open.values() if listener else (), MOST_LISTED)
        ],
        "hub": [
            {
                "link": client.link.hex(),
                "user": client.user,
                "version": client.version,
                "streams": len(client.streams),
                "held_bytes": client.held_bytes,
            }
            for client in islice(clients, MOST_LISTED)
        ],
    }


def services(gateway: "Gateway") -> dict[str, Any]:
    """What the hub has."""
    hub = gateway.hub
    if hub is None or not hub.is_up:
        return {"is_on": False, "streams": 0, "held_bytes": 0, "counts": {}, "instances": []}
    switch = hub.switch
    return {
        "is_on": True,
        "streams": len(switch.streams),
        "held_bytes": switch.held_bytes,
        "counts": dict(switch.counts),
        "instances": [
            {
                "link": service_link(one.identity).hex(),
                "service": one.number,
                "name": one.name,
                "version": one.version,
                "streams": len(one.streams),
                "is_leaving": one.is_leaving,
            }
            for one in islice(switch.instances.values(), MOST_LISTED)
        ],
    }


def functions(gateway: "Gateway") -> dict[str, Any]:
    """What the proxy of remote functions has."""
    proxy = gateway.functions
    if proxy is None or not proxy.is_up:
        off = {"is_on": False, "pending": 0, "held_bytes": 0, "workers_open": 0, "counts": {}}
        return {**off, "functions": [], "workers": []}
    machine = proxy.machine
    registry, rows = machine.registry, RpcRows()
    return {
        "is_on": True,
        "pending": machine.pending,
        "held_bytes": machine.held_bytes,
        "workers_open": len(registry.workers),
        "counts": dict(machine.counts),
        "functions": [
            {
                "name": one.name.decode(errors="replace"),
                "workers": len(one.workers),
                "waiting": one.waiting.count,
            }
            for one in islice(registry.functions.values(), MOST_LISTED)
        ],
        "workers": [
            {
                "link": rows.link_of("worker", one.identity).hex(),
                "functions": len(one.functions),
                "queries": len(one.jobs),
                "window": one.window,
                "is_leaving": one.leaving,
            }
            for one in islice(registry.workers.values(), MOST_LISTED)
        ],
    }


def journal(gateway: "Gateway") -> dict[str, Any]:
    """How recording goes."""
    writer, retention = gateway.writer, gateway.retention
    if writer is None:
        return {"is_on": False}
    return {
        "is_on": True,
        "node": writer.node.name,
        "appended": writer.appended,
        "durable": writer.durable,
        "backlog_bytes": writer.backlog,
        "dropped": writer.dropped,
        "sealed": writer.sealer.sealed,
        "not_sealed": len(writer.sealer.errors),
        "removed": retention.removed if retention else 0,
        "removed_bytes": retention.removed_bytes if retention else 0,
        "failed": str(writer.failed) if writer.failed else None,
    }
