"""Idle WebSockets to any server: a handshake by hand, then silence. Standard library only."""

import asyncio
import sys
from typing import Any

from benchmarks.driving import Order, obey, raise_file_limit

AT_ONCE = 50


async def client(port: str, path: str) -> None:
    raise_file_limit()
    opened: list[asyncio.StreamWriter] = []
    upgrade = (
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()

    async def join() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
        writer.write(upgrade)
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 101"), answer
        opened.append(writer)

    async def act(order: Order) -> dict[str, Any]:
        for done in range(0, order["count"], AT_ONCE):
            await asyncio.gather(*(join() for _ in range(min(AT_ONCE, order["count"] - done))))
        return {"open": len(opened)}

    await obey(act)


if __name__ == "__main__":
    asyncio.run(client(*sys.argv[1:]))
