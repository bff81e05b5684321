"""The switch's tables must agree with each other and with the ledger, and be empty in the end."""

from typing import Any

from framehub.hub.board import cost
from framehub.hub.parties import Client, Instance
from framehub.hub.switch import Switch
from tests.simulation.hub.book import Book
from tests.simulation.rpc.ledger import must

BIGGEST = 1_000
"""No frame of these worlds is larger."""
NOTICES = 64
REMEMBERED = 1_024


def check_quickly(switch: Switch, book: Book) -> None:
    """After every event."""
    board = switch._board
    there, timed, right = len(board.streams), len(board.timers), len(book.live)
    must(there == timed == right, "HINV-12", "{} streams, {} timers; {} are open", there, timed, right)
    must(len(board.clients) == len(book.callers), "HINV-6", "{} clients", len(board.clients))
    must(len(board.instances) == len(book.servers), "HINV-7", "{} services", len(board.instances))
    must(board.held_bytes >= 0, "HINV-11", "{} bytes wait", board.held_bytes)


def check(switch: Switch, book: Book) -> None:
    """Everything, now and then."""
    at_clients = at_instances = held = 0
    for client in switch.clients:
        at_clients += len(client.streams)
        held += _check_client(client, switch)
    for identity, instance in switch.instances.items():
        at_instances += len(instance.streams)
        right = instance.identity == identity and not instance.is_gone
        must(right and identity in book.servers, "HINV-7", "{!r} is not who it is", identity)
        held += _check_instance(instance, switch)
    many = len(switch.streams)
    must(at_clients == at_instances == many, "HINV-12", "{}, {}, {}", at_clients, at_instances, many)
    for hub_id, stream in switch.streams.items():
        talk = book.live.get(hub_id)
        must(talk is not None and not stream.is_over, "HINV-12", "{} is not open", hub_id)
        assert talk is not None
        assert talk.server is not None
        assert stream.instance is not None
        owner: Any = stream.client.owner
        right = owner.caller is talk.caller and stream.instance.identity == talk.server.identity
        must(right and stream.id == talk.id, "HINV-2", "{} belongs to others", talk)
        both = stream.client.streams.get(talk.id) is stream is stream.instance.streams.get(hub_id)
        must(both, "HINV-12", "{} is not in all tables", talk)
    must(held == switch.held_bytes, "HINV-11", "{} bytes wait, counted are {}", held, switch.held_bytes)
    _check_offers(switch)
    for identity, instance in switch.stuck.items():
        right = switch.instances.get(identity) is instance and bool(instance.held)
        must(right, "back-pressure", "{!r} is stuck for ever", identity)


def _check_client(client: Client, switch: Switch) -> int:
    settings, owner = switch.settings, client.owner
    caller = owner.caller  # type: ignore[attr-defined]
    must(len(client.streams) <= settings.max_streams, "HINV-11", "{} streams", len(client.streams))
    ranges = len(client.used)
    must(ranges == caller.runs <= settings.max_used, "HINV-5", "{}: {} ranges", caller, ranges)
    held = 0
    for number, waiting in client.held.items():
        must(bool(waiting), "HINV-11", "nothing waits for {} on {}", caller, number)
        size = 0
        for data, stream in waiting:
            must(stream.client is client and stream.id == number, "HINV-2", "{} is mixed up", number)
            size += cost(data)
        # Answers to the client's own faults, and what ends it, go over the mark.
        most = settings.held_bytes + BIGGEST + (settings.max_strikes + 2) * 2 * BIGGEST // 5
        must(size <= most, "HINV-11", "{} bytes wait for {} on {}", size, caller, number)
        held += size
    right = held == client.held_bytes == caller.held
    must(right, "HINV-11", "{} bytes wait, counted {}, truly {}", held, client.held_bytes, caller.held)
    most = settings.held_bytes_client + BIGGEST * (1 + len(client.held))
    must(held <= most, "HINV-11", "{} bytes wait for {}", held, caller)
    waiting_bytes = sum(stream.waiting_bytes for stream in client.streams.values())
    must(
        client.waiting_bytes == waiting_bytes == caller.waiting,
        "back-pressure",
        "{}: {} bytes wait, {} by streams, {} in truth",
        caller,
        client.waiting_bytes,
        waiting_bytes,
        caller.waiting,
    )
    paused = client.is_paused
    must(
        paused == caller.paused or caller.closing,
        "back-pressure",
        "{} is paused: {}",
        caller,
        client.is_paused,
    )
    return held


def _check_instance(instance: Instance, switch: Switch) -> int:
    settings, many = switch.settings, len(instance.streams)
    must(many <= settings.max_service_streams, "HINV-11", "{} streams", many)
    must(len(instance.told) <= REMEMBERED, "HINV-11", "{} numbers remembered", len(instance.told))
    waits = bool(instance.held)
    must(
        instance.is_stuck == waits, "back-pressure", "{!r} is stuck: {}", instance.identity, instance.is_stuck
    )
    if waits:
        known = switch.stuck.get(instance.identity) is instance
        must(known, "back-pressure", "{!r} is behind, and not tried again", instance.identity)
    notices = sum(stream is None for _, stream, _ in instance.held)
    must(notices <= NOTICES, "HINV-11", "{} notices wait", notices)
    return sum(cost(data) for data, _, _ in instance.held)


def _check_offers(switch: Switch) -> None:
    offered = [one for number in switch.offered for one in switch.offered[number]]
    right = all(switch.offered.values()) and all(
        one.number == number for number, some in switch.offered.items() for one in some
    )
    same = {id(one) for one in offered} == {id(one) for one in switch.instances.values()}
    must(right and same and len(offered) == len(switch.instances), "HINV-17", "offered: {}", offered)
    named = switch._board.named
    names = {id(one) for some in named.values() for one in some}
    should = {id(one) for one in switch.instances.values() if one.name}
    must(names == should and all(named.values()), "HINV-17", "named: {}", named)
    for name in ("first", "second", "nobody"):
        some = [one for one in switch.instances.values() if one.name == name and not one.is_leaving]
        found = switch.service_named(name)
        must(found in some if some else found is None, "HINV-17", "{} is named {}", found, name)
    must(len(switch._services._strangers) <= REMEMBERED, "HINV-11", "strangers are remembered for ever")


def check_deserted(switch: Switch, book: Book) -> None:
    """Everybody has left."""
    check(switch, book)
    left = {
        "streams": len(switch.streams),
        "timers": switch.timers,
        "places": len(switch._board.timers._places),
        "clients": len(switch.clients),
        "services": len(switch.instances),
        "offered": len(switch.offered),
        "named": len(switch._board.named),
        "stuck": len(switch.stuck),
        "held bytes": switch.held_bytes,
    }
    must(not any(left.values()), "HINV-11", "the hub has left {}", left)
