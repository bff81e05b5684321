"""The gateway under attack, in a process of its own: ``python -m tests.attacks.server OPTIONS``.

``OPTIONS`` is a JSON object: ``settings`` of MFP, and the files ``journal`` and ``tokens``. The first line
on stdout is the port; after that each line on stdin is answered with one line of JSON that says how things
stand inside. Logs go to stderr, as much of them as there is.
"""

import asyncio
import gc
import json
import logging
import resource
import sys
from hashlib import sha256
from pathlib import Path

import uvloop

import framehub
from framehub.gateway.gateway import Gateway
from framehub.gateway.settings import GatewaySettings
from framehub.mfp.settings import Settings
from tests.attacks.recording import SMALL_SEGMENTS

endpoints = framehub.Endpoints()
delivered: dict[str, int] = {}


def count(what: str) -> None:
    delivered[what] = delivered.get(what, 0) + 1


@endpoints.on("echo")
def echo(call: framehub.Call) -> object:
    count("echo")
    return call.data


@endpoints.on("note")
def note(_call: framehub.Call) -> None:
    count("note")


@endpoints.on("sums")
def sums(call: framehub.Call) -> object:
    """The sums of the attached files, and the names that the sender gave them."""
    count("sums")
    return [[file.name, sha256(file.data).hexdigest()] for file in call.files.values()]


@endpoints.on("slow")
async def slow(_call: framehub.Call) -> None:
    count("slow")
    await asyncio.sleep(3600)


@endpoints.on("fails")
def fails(_call: framehub.Call) -> object:
    raise RuntimeError("a secret of the inside")


@endpoints.on("ask.back")
async def ask_back(call: framehub.Call) -> object:
    return (await call.peer.request("who.are.you")).data


@endpoints.on_stream("sink")
async def sink(stream: framehub.InStream) -> None:
    """Read everything; say how much it was and what it was."""
    digest, size = sha256(), 0
    async for chunk in stream:
        count("chunk")
        digest.update(chunk.data)
        size += len(chunk.data)
    await stream.peer.send("sink.done", [size, digest.hexdigest()])


@endpoints.on_stream("unread")
async def unread(_stream: framehub.InStream) -> None:
    await asyncio.sleep(3600)


def stand(gateway: Gateway) -> dict[str, object]:
    """How things stand, once what can be thrown away is."""
    assert gateway._listener is not None
    peers = gateway._listener.peers
    gc.collect()
    return {
        "peers": len(peers),
        "pending": sum(peer.pending for peer in peers),
        "leaving": sum(peer.pending for peer in gateway._listener._leaving),
        "delivered": delivered,
    }


async def serve(settings: Settings, journal: Path | None, tokens: Path | None) -> None:
    listen = GatewaySettings(
        listen="127.0.0.1:0",
        services="127.0.0.1:0",
        clients="127.0.0.1:0",
        workers="127.0.0.1:0",
        app="tests.attacks.server:endpoints",
        journal=journal,
        tokens=tokens,
        origins=("https://friend.example",),
        mfp=settings,
        recording=SMALL_SEGMENTS,
    )
    async with Gateway(listen) as gateway:
        print(gateway.url.rpartition(":")[2].removesuffix("/mfp"), flush=True)
        loop = asyncio.get_running_loop()
        while await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps(stand(gateway)), flush=True)


def main() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    options = json.loads(sys.argv[1])
    journal, tokens = (Path(options[name]) if options.get(name) else None for name in ("journal", "tokens"))
    # As a module of its own name, so that what `--app` loads is what counts here.
    from tests.attacks import server

    uvloop.run(server.serve(Settings(**options["settings"]), journal, tokens))


if __name__ == "__main__":
    main()
