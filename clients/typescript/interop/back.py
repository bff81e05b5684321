"""Endpoints for the interop tests of the TypeScript client: what a listener says to a page by itself."""

import asyncio
from hashlib import sha256

import framehub

endpoints = framehub.Endpoints()
_given_up: list[str] = []


@endpoints.on("echo")
def echo(call: framehub.Call) -> framehub.Reply:
    """Data and files as they came."""
    return framehub.Reply(call.data, call.files)


@endpoints.on("album")
async def album(call: framehub.Call) -> None:
    """Tell what an announced message brought."""
    sizes = [[key, file.name, file.type, len(file.data)] for key, file in call.files.items()]
    await call.peer.send("album.seen", {"data": call.data, "files": sizes})


@endpoints.on("announce.back")
async def announce_back(call: framehub.Call) -> None:
    """Announce two files to the caller."""
    files = {5: framehub.File(b"five", "5.txt", "text/plain"), 1: framehub.File(b"", "1.txt")}
    await call.peer.announce("album", {"n": 2}, files)


@endpoints.on("stream.back")
async def stream_back(call: framehub.Call) -> str:
    """Stream to the caller as many chunks as it wants; the sum of what was sent."""
    digest = sha256()
    try:
        async with call.peer.stream("feed", call.data) as out:
            for number in range(int(call.data["chunks"])):
                chunk = bytes((number + n) % 256 for n in range(50_000))
                await out.write(chunk)
                digest.update(chunk)
    except framehub.StreamAborted:
        return "aborted"
    return digest.hexdigest()


@endpoints.on("sleep")
async def sleep(call: framehub.Call) -> None:
    """Say so, and wait long; note that somebody gave it up."""
    try:
        await call.peer.send("sleeping")
        await asyncio.sleep(60)
    finally:
        _given_up.append(str(call.data))


@endpoints.on("given.up")
def given_up(_: framehub.Call) -> list[str]:
    """What was given up."""
    return _given_up


@endpoints.on_stream("upload")
async def upload(stream: framehub.InStream) -> None:
    """Read all of it, or only some if asked; tell the sum."""
    digest, size, keys = sha256(), 0, set()
    async for chunk in stream:
        digest.update(chunk.data)
        size += len(chunk.data)
        keys.add(chunk.key)
        if isinstance(stream.data, dict) and size >= stream.data.get("at_most", size + 1):
            return
    told = {"bytes": size, "sha256": digest.hexdigest(), "keys": len(keys)}
    await stream.peer.send("upload.done", told)
