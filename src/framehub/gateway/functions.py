"""Endpoints that are remote functions: an MFP request becomes a query, its answer the response."""

import asyncio
from collections.abc import Awaitable
from functools import partial
from time import monotonic
from typing import Any, Final

from framehub.codes import ErrorCode
from framehub.gateway.arguments import answer_of, argument_of, refusal
from framehub.rpc import words
from framehub.rpc.jobs import Job
from framehub.rpc.registry import Function
from framehub.rpc.texts import error_code
from framehub.runtime.calls import Call
from framehub.runtime.peer import Peer
from framehub.runtime.rpc_proxy import RpcProxy
from framehub.runtime.zmq_setup import LARGEST_MESSAGE

_INSIDE: Final = b"\0mfp"
"""How identities of MFP clients begin at the proxy; no peer of a socket can have one."""

Answer = tuple[bytes, bytes, bytes]
"""Type and body of an answer, and the coder of its result."""


class FunctionCalls:
    """Queries of MFP clients, each connection a client of the proxy."""

    def __init__(self, proxy: RpcProxy) -> None:
        self._proxy = proxy
        self._waiting: dict[bytes, dict[bytes, asyncio.Future[Answer]]] = {}
        self._owed: dict[bytes, set[bytes]] = {}  # what is not answered and acknowledged, of the gone too
        self._number = 0

    @property
    def names(self) -> list[str]:
        """Functions that are offered now."""
        functions = self._proxy.machine.registry.functions.values()
        return [function.name.decode() for function in functions if function.workers]

    def offers(self, name: str) -> bool:
        """Whether a worker offers it now."""
        function = self._known(name)
        return function is not None and bool(function.workers)

    def may_come(self, name: str) -> bool:
        """Whether one may in a moment."""
        return self._may_come(self._known(name))

    def call(self, call: Call) -> Awaitable[Any]:
        """Have the function run; give its result, or raise what the caller is to be told."""
        return self._call(call)

    async def _call(self, call: Call) -> Any:
        name = call.endpoint.encode()
        function = await self._offered(name)
        argument = argument_of(call, function)
        type_, body, result_coder = await self._ask(call, name, argument)
        if type_ == words.RESPONSE_RESULT:
            return answer_of(call.endpoint, result_coder or function.result, body)
        if type_ == words.RESPONSE_EXCEPTION:
            raise refusal(error_code(body), body.decode(errors="replace"))
        raise refusal(ErrorCode.UNKNOWN_FUNCTION, f"no worker offers a function {call.endpoint!r}")

    def _known(self, name: str) -> Function | None:
        return self._proxy.machine.registry.functions.get(name.encode(errors="surrogatepass"))

    async def _offered(self, name: bytes) -> Function:
        """The function, once its coders are known: its workers may be on their way."""
        machine = self._proxy.machine
        while True:
            function = machine.registry.functions.get(name)
            if function is not None and function.workers:
                return function
            if not self._may_come(function):
                raise refusal(ErrorCode.UNKNOWN_ENDPOINT, f"no endpoint {name.decode()!r} here")
            await asyncio.sleep(0.05)

    def _may_come(self, function: Function | None) -> bool:
        """Whether workers are on their way: those of this function, or those from before a restart."""
        placing = self._proxy.machine.placing
        if function is None and not placing.recovering:
            return False  # a wrong name is told so at once
        return bool(placing.may_come(function, monotonic()))

    async def _ask(self, call: Call, name: bytes, argument: bytes) -> Answer:
        self._number += 1
        id_ = self._number.to_bytes(8, "big")
        query = [words.QUERY, id_, argument, name]
        if (size := sum(map(len, query))) > LARGEST_MESSAGE:
            text = f"{call.endpoint}: {size} bytes for a function, the limit is {LARGEST_MESSAGE}"
            raise refusal(ErrorCode.LIMIT, f"{text}: give it in parts")
        identity = self._identity(call.peer)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[identity][id_] = future
        self._owed[identity].add(id_)
        self._proxy.tell(identity, query, parent=call.peer.exchange_name(call.number))
        try:
            return await future
        finally:
            waiting = self._waiting.get(identity, {})
            if waiting.pop(id_, None) is not None and identity in self._waiting:
                self._proxy.tell(identity, [words.CANCEL, id_])

    def _identity(self, peer: Peer) -> bytes:
        identity = _INSIDE + peer.link_id
        if identity not in self._waiting:
            self._waiting[identity] = {}
            self._owed.setdefault(identity, set())
            self._proxy.admit(identity, peer.link_id, partial(self._heard, identity))
            peer.closed.add_done_callback(lambda _closed: self._left(identity))
        return identity

    def _heard(self, identity: bytes, parts: list[bytes], job: Job | None) -> None:
        if len(parts) < 3:
            return  # QUERY_RECEIVED
        future = self._waiting.get(identity, {}).pop(parts[1], None)
        # After this turn: the proxy is in the middle of sending.
        asyncio.get_running_loop().call_soon(self._acknowledge, identity, parts[1], job is not None)
        if future is not None and not future.done():
            spec = job.spec if job is not None else None
            future.set_result((parts[0], parts[2], spec.result if spec is not None else b""))

    def _acknowledge(self, identity: bytes, id_: bytes, is_kept: bool) -> None:
        owed = self._owed.get(identity)
        if owed is None or id_ not in owed:
            return
        owed.discard(id_)
        if is_kept:
            self._proxy.tell(identity, [words.RESPONSE_RECEIVED, id_])
        self._forget(identity)

    def _forget(self, identity: bytes) -> None:
        """Of an MFP client that is gone nothing is left, once what it asked for has come to an end."""
        if identity not in self._waiting and not self._owed[identity]:
            del self._owed[identity]
            self._proxy.dismiss(identity)

    def _left(self, identity: bytes) -> None:
        """The MFP client is gone: nobody wants what it asked for."""
        waiting = self._waiting[identity]
        for id_ in list(waiting):
            self._proxy.tell(identity, [words.CANCEL, id_])
        del self._waiting[identity]
        self._forget(identity)
        for future in waiting.values():
            future.cancel()
