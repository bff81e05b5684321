"""The console's playground: what is typed is what is sent, what was sent is what is shown."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.console_site import Site, called, companion, gateway, opened

LARGE = 2**53 + 1
APP = f"""
import framehub

app = framehub.Endpoints()


@app.on("large")
def large(call):
    return {{"id": {LARGE}, "ratio": 0.5}}


@app.on("refusing")
def refusing(call):
    raise framehub.EndpointError({{"id": {LARGE}}})


@app.on_stream("taking")
async def taking(stream):
    async for _ in stream:
        pass
    await stream.peer.send("upload.done", {{"id": {LARGE}}})


@app.on("slow")
async def slow(call):
    import asyncio
    from pathlib import Path

    while not Path("let-go").exists():
        await asyncio.sleep(0.02)
    return "late"
"""
WORKER = """
from typing import Literal

from framehub import File, Worker

worker = Worker()


@worker.function(name="order")
def order(lines: list[dict[str, int]], express: bool, size: Literal["s", "l"], count: int = 3) -> str:
    return f"{lines} {express} {size} {count}"


@worker.function(name="double")
def double(number: int = 21) -> int:
    return number * 2


@worker.function(name="which")
def which(first: File | None, second: File) -> str:
    return f"{first and first.name}, {second.name}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the gateway and the worker run."""
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Site]:
    (folder / "shop.py").write_text(APP)
    (folder / "jobs.py").write_text(WORKER)
    with (
        gateway(folder, "--app", "shop:app") as made,
        companion("worker", "jobs:worker", "--connect", made.workers, folder=folder),
    ):
        yield made


def call(page: Page) -> None:
    page.get_by_role("button", name="Call").click()


def test_what_is_wrong_is_said_at_its_field(page: Page, site: Site) -> None:
    called(page, site, "order")
    assert "for example [ {" in (page.get_by_label("lines *").get_attribute("placeholder") or "")
    assert page.get_by_label("count").get_attribute("placeholder") == "default: 3"
    call(page)
    lines = page.get_by_label("lines *")
    expect(page.locator(".wrong:visible")).to_have_text("lines: a value is needed")
    expect(lines).to_be_focused()
    expect(lines).to_have_attribute("aria-invalid", "true")
    expect(lines).to_have_accessible_description("lines: a value is needed")
    lines.fill('[{"a": 1}]')
    expect(page.locator(".wrong:visible")).to_have_count(0)
    call(page)
    expect(page.locator(".wrong:visible")).to_have_text("express: choose one")
    page.get_by_label("express *").select_option("false")
    page.get_by_label("size *").select_option('"l"')
    page.get_by_label("count").fill("many")
    call(page)
    expect(page.locator(".wrong:visible")).to_have_text("count: not an integer")
    expect(page.locator(".answer")).to_have_count(0)
    page.get_by_label("count").fill("")
    call(page)
    expect(page.locator(".answer pre")).to_have_text("\"[{'a': 1}] False l 3\"")


def test_one_parameter_that_is_left_out_is_its_default(page: Page, site: Site) -> None:
    called(page, site, "double")
    call(page)
    expect(page.locator(".answer pre")).to_have_text("42")


def test_a_file_goes_to_its_parameter_though_the_one_before_is_missing(page: Page, site: Site) -> None:
    called(page, site, "which")
    call(page)
    expect(page.locator(".wrong:visible")).to_have_text("second: choose a file")
    page.get_by_label("second *").set_input_files({"name": "b.txt", "mimeType": "text/plain", "buffer": b"b"})
    call(page)
    expect(page.locator(".answer pre")).to_have_text('"None, b.txt"')


def test_no_other_number_is_sent_than_was_typed(page: Page, site: Site) -> None:
    called(page, site, "double")
    page.get_by_label("number").fill(str(LARGE))
    call(page)
    expect(page.locator(".wrong:visible")).to_contain_text(f"{LARGE} would be another number in a browser")
    called(page, site, "large")
    page.locator("textarea").fill(f'{{"id": {LARGE}}}')
    call(page)
    expect(page.locator(".wrong:visible")).to_contain_text(f"{LARGE} would be another number in a browser")
    expect(page.locator(".answer")).to_have_count(0)


def test_no_other_number_is_shown_than_came(page: Page, site: Site) -> None:
    called(page, site, "large")
    call(page)
    expect(page.locator(".answer pre")).to_have_text(f'{{\n  "id": {LARGE},\n  "ratio": 0.5\n}}')
    page.get_by_text("open as a timeline").click()
    expect(page.locator("h1")).to_have_text("Conversation")
    page.locator(".event", has_text="response").click()
    expect(page.get_by_label("one frame").locator("pre")).to_contain_text(f'"id": {LARGE}')
    called(page, site, "refusing")
    call(page)
    expect(page.locator(".answer")).to_contain_text(str(LARGE))
    expect(page.locator(".answer")).not_to_contain_text(str(LARGE - 1))
    called(page, site, "taking")
    page.get_by_label("file").set_input_files({"name": "a", "mimeType": "text/plain", "buffer": b"a"})
    page.get_by_role("button", name="Stream").click()
    expect(page.locator(".answer pre")).to_have_text(f'{{\n  "id": {LARGE}\n}}')


def test_an_answer_is_not_shown_under_another_form(page: Page, site: Site, folder: Path) -> None:
    with page.expect_websocket() as session:
        called(page, site, "slow")
    call(page)
    expect(page.get_by_role("button", name="Give up")).to_be_visible()
    page.locator(".choices").get_by_text("double").click()
    expect(page.locator("main h2").first).to_contain_text("double")
    with session.value.expect_event("framesent", asks_for_story):  # once it has done with the answer
        (folder / "let-go").touch()
    expect(page.locator(".answer")).to_have_count(0)
    call(page)
    expect(page.locator(".answer pre")).to_have_text("42")


def asks_for_story(frame: bytes | str) -> bool:
    return isinstance(frame, bytes) and b'"endpoint":"story"' in frame


def test_an_address_that_nobody_encoded_is_read_as_it_is(page: Page, site: Site) -> None:
    opened(page, site, "playground/100%")
    expect(page.get_by_text("There is no 100% here now.")).to_be_visible()
    opened(page, site, "conversation/%zz")
    expect(page.get_by_label("conversation", exact=True)).to_have_value("%zz")
    expect(page.get_by_role("alert").filter(has_text="named by 32 hex digits")).to_be_visible()
