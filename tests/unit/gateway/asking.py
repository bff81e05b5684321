"""One HTTP request, as plainly as can be."""

import asyncio
from urllib.parse import urlsplit


async def get(
    url: str, headers: dict[str, str] | None = None, *, method: str = "GET"
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer."""
    told = urlsplit(url)
    reader, writer = await asyncio.open_connection(told.hostname, told.port)
    path = f"{told.path}?{told.query}" if told.query else told.path
    lines = [f"{method} {path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in ({"Host": told.netloc} | (headers or {})).items()]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    data = await reader.read()
    writer.close()
    await writer.wait_closed()
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    return int(first.split()[1]), dict(line.split(": ", 1) for line in rest), body
