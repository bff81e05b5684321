"""What the gateway of these tests does: answers pages, speaks to them, notes what they give up."""

import asyncio
import os
import signal
from hashlib import sha256

import framehub

endpoints = framehub.Endpoints()
_given_up: list[str] = []


@endpoints.on("echo")
def echo(call: framehub.Call) -> framehub.Reply:
    """Data and files as they came, and whose they are."""
    return framehub.Reply({"data": call.data, "user": call.user}, call.files)


@endpoints.on("fails")
def fails(_: framehub.Call) -> None:
    """An error of the application."""
    raise framehub.EndpointError({"code": "sold_out", "message": "no tea today"})


@endpoints.on("sleep")
async def sleep(call: framehub.Call) -> None:
    """Say so, and wait long; note that somebody gave it up."""
    try:
        await call.peer.send("sleeping")
        await asyncio.sleep(60)
    finally:
        _given_up.append(f"request {call.data}")


@endpoints.on_stream("upload")
async def upload(stream: framehub.InStream) -> None:
    """Take all of a file, and tell its sum; stand still where the page says, until somebody wakes us."""
    digest, size = sha256(), 0
    halts: list[int] = list(stream.data["halts"]) if isinstance(stream.data, dict) else []
    try:
        async for chunk in stream:
            digest.update(chunk.data)
            size += len(chunk.data)
            if halts and size >= halts[0]:
                del halts[0]
                os.kill(os.getpid(), signal.SIGSTOP)
    except framehub.StreamAborted:
        _given_up.append(f"stream {stream.data}")
        raise
    await stream.peer.send("upload.done", {"bytes": size, "sha256": digest.hexdigest()})


@endpoints.on("given.up")
def given_up(_: framehub.Call) -> list[str]:
    """What was given up so far."""
    return _given_up


@endpoints.on("push")
async def push(call: framehub.Call) -> dict[str, object]:
    """Tell the page something, ask it something, and stream to it."""
    files = {3: framehub.File(b"pushed", "n.txt", "text/plain")}
    await call.peer.send("news", {"n": 1}, files=files, ack=True)
    answer = await call.peer.request("who.are.you", {"why": "a test"}, timeout=20)
    async with call.peer.stream("feed", {"chunks": 20}) as out:
        for number in range(20):
            await out.write(bytes([number]) * 50_000)
    return {"answer": answer.data, "file": answer.files[0].data.decode()}
