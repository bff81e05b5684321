"""The console as people see it: wide and narrow, light and dark, with traffic.

``make screenshots`` keeps the pictures in ``docs/images``; otherwise they are made all the same, and gone.
"""

import asyncio
import os
import random
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from playwright.sync_api import Browser, Page, expect

import framehub
from tests.browser.console_site import Site, everything

KEPT = os.environ.get("FRAMEHUB_SCREENSHOTS")
SECONDS = 100 if KEPT else 4
WIDTHS = {1280: 860, 390: 844}
THEMES = ("light", "dark")


async def client(site: Site, number: int, stop: threading.Event) -> None:
    """One of several who call this and that, at a calm pace."""
    dice = random.Random(number)
    async with framehub.connect(site.mfp) as peer:
        while not stop.is_set():
            with suppress(framehub.EndpointError, framehub.RequestTimeout):
                match dice.choices(range(7), (40, 20, 18, 12, 5, 1, 5))[0]:
                    case 0:
                        await peer.request("chat", {"room": "lobby", "text": "hello"})
                    case 1:
                        await peer.request("stock.price", dice.choice(["apple", "pear"] * 10 + ["unicorn"]))
                    case 2:
                        await peer.request("math.factor", dice.randint(1, 10**6))
                    case 3:
                        await peer.request("quotes.history", {"item": "pear"})
                    case 4:
                        await peer.request("report.build", {"seconds": dice.random() / 20})
                    case 5:
                        await peer.request("nap", 0.4, timeout=0.05)
                    case 6:
                        picture = framehub.File(dice.randbytes(3000), "me.png", "image/png")
                        await peer.request("files.store", {"album": number}, files={0: picture})
            await asyncio.sleep(dice.expovariate(8))


async def clients(site: Site, stop: threading.Event) -> None:
    await asyncio.gather(*(client(site, number, stop) for number in range(12)))


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with TemporaryDirectory(prefix="site-") as folder, everything(Path(folder)) as made:  # it is in a picture
        stop = threading.Event()
        driving = threading.Thread(target=lambda: asyncio.run(clients(made, stop)))
        driving.start()
        yield made
        stop.set()
        driving.join(30)


def overview(page: Page, site: Site) -> None:
    page.goto(f"{site.admin}/#/overview")
    expect(page.locator("tr", has_text="chat").first).to_be_visible()


def frames(page: Page, site: Site) -> None:
    page.goto(f"{site.admin}/#/frames/protocols=mfp,rpc")
    expect(page.locator(".lines tbody tr").nth(25)).to_be_visible()
    if page.get_by_role("button", name="Pause").is_visible():
        page.keyboard.press("p")
    if page.viewport_size and page.viewport_size["width"] > 800:
        page.locator(".lines tbody tr", has_text="request").first.click()
        expect(page.locator(".explained")).to_be_visible()
        page.locator(".explained .fields tr", has_text="payload").last.hover()


def playground(page: Page, site: Site) -> None:
    page.goto(f"{site.admin}/#/playground/math.divide")
    page.get_by_label("a * number").fill("9")
    page.get_by_label("b number").fill("4")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".verdict")).to_be_visible()


def timeline(page: Page, site: Site) -> None:
    page.goto(f"{site.admin}/#/playground/nap")
    page.get_by_label("seconds * number").fill("1.5")
    page.get_by_label("seconds to wait").fill("0.4")
    page.keyboard.press("Control+Enter")
    page.get_by_text("open as a timeline").click()
    expect(page.locator("h1")).to_have_text("Conversation")
    expect(page.locator(".diagram")).to_be_visible()


@pytest.mark.timeout(400)
def test_every_view_fits_its_screen_and_is_photographed(
    browser: Browser, site: Site, tmp_path: Path, problems: list[str]
) -> None:
    kept = Path(KEPT) if KEPT else tmp_path
    views = (overview, frames, playground, timeline)
    with browser.new_context() as context:
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
        page.goto(site.admin)
        page.wait_for_timeout(1000 * SECONDS)
        for width, height in WIDTHS.items():
            for theme in THEMES:
                page.set_viewport_size({"width": width, "height": height})
                page.emulate_media(color_scheme="light" if theme == "light" else "dark")
                # Four of each would be many: those two look the same narrow and light.
                for view in views if (width, theme) != (390, "light") else (overview, timeline):
                    view(page, site)
                    page.wait_for_timeout(300)
                    page.evaluate("scrollTo(0, 0)")
                    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
                    file = kept / f"console-{view.__name__}-{width}-{theme}.png"
                    page.screenshot(
                        path=file, full_page=view in (playground, timeline), animations="disabled"
                    )
                    assert file.stat().st_size > 10_000
    assert problems == []
