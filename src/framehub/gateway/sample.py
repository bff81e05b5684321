"""Sample endpoints for ``framehub demo``: a chat, a file store, something slow, something broken."""

import asyncio
from hashlib import sha256

from framehub.errors import EndpointError
from framehub.runtime.calls import Call, Reply
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.files import File
from framehub.runtime.streams import InStream

endpoints = Endpoints()
_rooms: dict[str, int] = {}


@endpoints.on("chat")
async def chat(call: Call) -> object:
    """Count what was said in a room."""
    if not isinstance(call.data, dict) or not isinstance(call.data.get("text"), str):
        raise EndpointError({"reason": "say {'room': ..., 'text': ...}"})
    room = str(call.data.get("room", "lobby"))
    _rooms[room] = _rooms.get(room, 0) + 1
    counted = {"room": room, "messages": _rooms[room], "length": len(call.data["text"])}
    return {**counted, "pictures": len(call.files)} if call.files else counted


@endpoints.on("files.store")
async def store(call: Call) -> Reply:
    """Answer with a receipt for every file."""
    receipts = {key: sha256(file.data).hexdigest() for key, file in call.files.items()}
    text = "\n".join(f"{digest}  {call.files[key].name}" for key, digest in receipts.items())
    files = {0: File(text.encode(), "receipts.txt", "text/plain")}
    return Reply(
        {"stored": len(receipts), "bytes": sum(len(file.data) for file in call.files.values())}, files
    )


@endpoints.on_stream("files.upload")
async def upload(stream: InStream) -> None:
    """Take a file in chunks, whatever its size, and tell the sender its sum."""
    digest, size = sha256(), 0
    async for chunk in stream:
        digest.update(chunk.data)
        size += len(chunk.data)
    await stream.peer.send("upload.done", {"bytes": size, "sha256": digest.hexdigest()})


@endpoints.on("report.build")
async def build(call: Call) -> object:
    """Take as long as one is told to; long enough, and the caller gives up."""
    seconds = float(call.data["seconds"]) if isinstance(call.data, dict) else 0.0
    await asyncio.sleep(min(seconds, 60.0))
    return {"pages": 12}


@endpoints.on("stock.price")
def price(call: Call) -> object:
    """Fail for what nobody sells."""
    prices = {"apple": 120, "pear": 95}
    if call.data not in prices:
        raise EndpointError({"reason": "not sold here", "item": call.data})
    return {"item": call.data, "cents": prices[call.data]}


@endpoints.on("broken")
def broken(call: Call) -> object:
    """A handler with a fault: callers see that it failed, not how."""
    return 1 // len(call.files)


@endpoints.on("ask.back")
async def ask_back(call: Call) -> object:
    """Ask the caller something in turn: its exchange is the parent of this question's."""
    answer = await call.peer.request("who.are.you", timeout=5)
    return {"you_are": answer.data}
