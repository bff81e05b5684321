"""framehub: browsers and programs reach Python functions over one socket; every frame is a row in a table."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from framehub.errors import (
        ConfigError,
        ConnectFailed,
        ConnectionClosed,
        DecodingError,
        EncodingError,
        EndpointError,
        FramehubError,
        HubStreamError,
        IncompatibleSpecs,
        JournalError,
        LimitExceeded,
        PipelineError,
        ProtocolError,
        RemoteBusy,
        RemoteCallError,
        RemoteFunctionError,
        RemoteTimeout,
        RequestAborted,
        RequestTimeout,
        ServiceFailed,
        StreamAborted,
        UnsupportedFunctionName,
    )
    from framehub.hub.called import Answer
    from framehub.mfp.settings import Settings
    from framehub.runtime.backoff import Backoff
    from framehub.runtime.calls import Call, RawCall, Reply
    from framehub.runtime.connect import connect
    from framehub.runtime.curve import CurveClient
    from framehub.runtime.endpoints import Endpoints
    from framehub.runtime.files import File
    from framehub.runtime.functions import Functions
    from framehub.runtime.hub_client import HubClient
    from framehub.runtime.hub_stream import HubStream
    from framehub.runtime.listen import Listener, listen
    from framehub.runtime.peer import Peer
    from framehub.runtime.reconnect import ReconnectingPeer
    from framehub.runtime.service import Service
    from framehub.runtime.service_stream import ServiceStream
    from framehub.runtime.streams import Chunk, InStream, OutStream
    from framehub.runtime.worker import Worker

# Imported when first used: a Spark executor that needs the codec does not load a WebSocket.
_HOME = {
    "Answer": "hub.called",
    "Settings": "mfp.settings",
    "Backoff": "runtime.backoff",
    "Call": "runtime.calls",
    "File": "runtime.files",
    "RawCall": "runtime.calls",
    "Reply": "runtime.calls",
    "connect": "runtime.connect",
    "CurveClient": "runtime.curve",
    "Endpoints": "runtime.endpoints",
    "Listener": "runtime.listen",
    "listen": "runtime.listen",
    "Peer": "runtime.peer",
    "ReconnectingPeer": "runtime.reconnect",
    "Service": "runtime.service",
    "ServiceStream": "runtime.service_stream",
    "Chunk": "runtime.streams",
    "InStream": "runtime.streams",
    "OutStream": "runtime.streams",
    "Functions": "runtime.functions",
    "HubClient": "runtime.hub_client",
    "HubStream": "runtime.hub_stream",
    "Worker": "runtime.worker",
    "ConfigError": "errors",
    "ConnectFailed": "errors",
    "ConnectionClosed": "errors",
    "EndpointError": "errors",
    "FramehubError": "errors",
    "HubStreamError": "errors",
    "ServiceFailed": "errors",
    "JournalError": "errors",
    "LimitExceeded": "errors",
    "PipelineError": "errors",
    "ProtocolError": "errors",
    "RequestAborted": "errors",
    "RequestTimeout": "errors",
    "StreamAborted": "errors",
    "RemoteCallError": "errors",
    "RemoteFunctionError": "errors",
    "RemoteBusy": "errors",
    "UnsupportedFunctionName": "errors",
    "RemoteTimeout": "errors",
    "IncompatibleSpecs": "errors",
    "EncodingError": "errors",
    "DecodingError": "errors",
}

__all__ = [
    "Answer",
    "Backoff",
    "Call",
    "Chunk",
    "ConfigError",
    "ConnectFailed",
    "ConnectionClosed",
    "CurveClient",
    "DecodingError",
    "EncodingError",
    "EndpointError",
    "Endpoints",
    "File",
    "FramehubError",
    "Functions",
    "HubClient",
    "HubStream",
    "HubStreamError",
    "InStream",
    "IncompatibleSpecs",
    "JournalError",
    "LimitExceeded",
    "Listener",
    "OutStream",
    "Peer",
    "PipelineError",
    "ProtocolError",
    "RawCall",
    "ReconnectingPeer",
    "RemoteBusy",
    "RemoteCallError",
    "RemoteFunctionError",
    "RemoteTimeout",
    "Reply",
    "RequestAborted",
    "RequestTimeout",
    "Service",
    "ServiceFailed",
    "ServiceStream",
    "Settings",
    "StreamAborted",
    "UnsupportedFunctionName",
    "Worker",
    "connect",
    "listen",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'framehub' has no attribute {name!r}")
    value = getattr(import_module(f"framehub.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
