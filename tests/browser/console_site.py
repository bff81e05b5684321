"""A gateway with sample endpoints, a worker and a service, each in a process of its own, for the console."""

import asyncio
import subprocess
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Page, expect

import framehub
from tests.e2e.conftest import ENV, FRAMEHUB, FREE, serving, serving_line

expect.set_options(timeout=30_000)  # the machine may be busy
APP = ("--app", "framehub.gateway.sample:endpoints")


class Site(NamedTuple):
    """Where everything is."""

    admin: str
    mfp: str
    clients: str
    workers: str
    services: str


@contextmanager
def gateway(folder: Path, *args: str) -> Iterator[Site]:
    """One gateway with an admin port."""
    with serving(folder) as start:
        process, _ = start(*APP, "--admin", FREE, "--node", "shown", *args)
        told = dict(word.split("=", 1) for word in serving_line(process).split()[1:])
        yield Site(*(told.get(name, "") for name in Site._fields))  # some may be off


@contextmanager
def companion(*args: str, folder: Path | None = None) -> Iterator[None]:
    """A worker or a service; its module may be in a folder."""
    process = subprocess.Popen(
        [FRAMEHUB, *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV, cwd=folder
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def everything(folder: Path) -> Iterator[Site]:
    """All of it."""
    with ExitStack() as stack:
        site = stack.enter_context(gateway(folder))
        stack.enter_context(
            companion("worker", "framehub.gateway.sample_functions:worker", "--connect", site.workers)
        )
        stack.enter_context(
            companion("service", "framehub.gateway.sample_service:service", "--connect", site.services)
        )
        yield site


def opened(page: Page, site: Site, view: str = "overview") -> Page:
    page.goto(f"{site.admin}/#/{view}")
    expect(page.locator(".status")).to_have_text("live")
    return page


def called(page: Page, site: Site, name: str) -> Page:
    """The playground with its form; a worker or service may be on its way."""
    opened(page, site, f"playground/{name}")
    expect(page.locator("form.call")).to_be_visible()
    expect(page.locator("main h2").first).to_contain_text(name)
    return page


def traffic(site: Site, times: int = 3) -> None:
    """Some calls, well and badly, by a client in Python."""

    async def calls(peer: framehub.Peer) -> None:
        for _ in range(times):
            await peer.request("chat", {"text": "hello"})
            with pytest.raises(framehub.EndpointError):
                await peer.request("stock.price", "unicorn")

    _as_client(site, calls)


def chats(site: Site, times: int) -> None:
    """Many at once."""

    async def calls(peer: framehub.Peer) -> None:
        await asyncio.gather(*(peer.request("chat", number) for number in range(times)))

    _as_client(site, calls)


def ask(site: Site, name: str) -> None:
    """One request."""

    async def call(peer: framehub.Peer) -> None:
        await peer.request(name)

    _as_client(site, call)


def _as_client(site: Site, act: Callable[[framehub.Peer], Coroutine[Any, Any, None]]) -> None:
    """With an event loop of its own in a thread of its own: the browser's has this one."""

    async def acting() -> None:
        async with framehub.connect(site.mfp) as peer:
            await act(peer)

    with ThreadPoolExecutor(1) as other:
        other.submit(asyncio.run, acting()).result(30)
