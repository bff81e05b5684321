"""What can be called through a gateway now: endpoints, functions, those of services, with their schemas."""

import inspect
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from framehub.rpc.registry import Function

if TYPE_CHECKING:
    from framehub.gateway.gateway import Gateway

MOST_LISTED: Final = 1_000
MOST_SCHEMA: Final = 64 * 1024
"""Bytes of one function's schemas; of larger ones only the name is told."""
MOST_BYTES: Final = 4 << 20
"""Of the whole list; beyond it only names are told."""
_DEEP: Final = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)

Told = dict[str, Any]


def callables(gateway: "Gateway") -> list[Told]:
    """Each with ``name``, ``called`` (endpoint, function, service), ``doc`` and what it takes and gives.

    Where a name stands for several, the first of them is what a client reaches.
    """
    found: dict[str, Told] = {}
    for one in (*_endpoints(gateway), *_functions(gateway), *_services(gateway)):
        found.setdefault(one["name"], one)
    listed = sorted(islice(found.values(), MOST_LISTED), key=lambda one: (one["called"], one["name"]))
    size = 0
    for one in listed:
        size += len(msgspec.json.encode(one))
        if size > MOST_BYTES:
            for part in ("doc", "parameters", "result"):
                one.pop(part, None)
            one["doc"] = ""
    return listed


def _endpoints(gateway: "Gateway") -> list[Told]:
    endpoints = gateway.endpoints
    if endpoints is None:
        return []
    app = endpoints.app
    told = []
    for name in app.names:
        handler, stream = app.find(name), app.find_stream(name)
        mode = "call" if handler is not None else "stream"
        doc = inspect.getdoc(handler if handler is not None else stream) or ""
        told.append({"name": name, "called": "endpoint", "mode": mode, "doc": doc})
    return told


def _functions(gateway: "Gateway") -> list[Told]:
    proxy = gateway.functions
    if proxy is None or not proxy.is_up:
        return []
    offered = (one for one in proxy.machine.registry.functions.values() if one.workers)
    return [_function(one) for one in islice(offered, MOST_LISTED)]


def _function(one: Function) -> Told:
    told = one.described
    return {
        "name": one.name.decode(errors="replace"),
        "called": "function",
        "mode": "call",
        "doc": told.doc,
        "coders": [one.argument.decode(errors="replace"), one.result.decode(errors="replace")],
        "workers": len(one.workers),
        **_schemas(told.parameters, told.result),
    }


def _services(gateway: "Gateway") -> list[Told]:
    hub = gateway.hub
    if hub is None or not hub.is_up:
        return []
    found: dict[str, Told] = {}
    for instance in islice(hub.switch.instances.values(), MOST_LISTED):
        if instance.name and instance.name not in found:
            for one in _interface(instance.interface):
                if isinstance(named := one.get("name"), str) and instance.functions.get(named):
                    full = f"{instance.name}.{named}"
                    found[full] = {
                        "name": full,
                        "called": "service",
                        "mode": one.get("kind") if isinstance(one.get("kind"), str) else "call",
                        "doc": one.get("doc") if isinstance(one.get("doc"), str) else "",
                        "number": f"{instance.number}.{one.get('number')}",
                        **_schemas(one.get("parameters"), one.get("result")),
                    }
    return list(found.values())


def service_names(gateway: "Gateway") -> dict[str, str]:
    """Names of services' functions, by what rows have of them: ``quotes.2`` is ``quotes.history``."""
    hub = gateway.hub
    if hub is None or not hub.is_up:
        return {}
    instances = islice(hub.switch.instances.values(), MOST_LISTED)
    return {
        f"{one.name}.{number}": f"{one.name}.{function}"
        for one in instances
        if one.name
        for function, number in one.functions.items()
    }


def _interface(body: bytes) -> list[Told]:
    """The functions of an interface; the hub has looked at it, others may have written it."""
    try:
        told = msgspec.json.decode(body) if body else {}
    except _DEEP:
        return []
    listed = told.get("functions") if isinstance(told, dict) else None
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _schemas(parameters: Any, result: Any) -> Told:
    if parameters is None and result is None:
        return {}
    if len(msgspec.json.encode((parameters, result))) > MOST_SCHEMA:
        return {}
    return {"parameters": parameters, "result": result}
