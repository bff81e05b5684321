"""What the page says when there is little to show, and whether what it says can be seen and works here."""

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

import framehub
from tests.browser.console_site import Site, called, companion, everything, gateway, opened

LATE = """() => {  // what the page's calls send waits for two seconds: the connection is slow to begin
    const send = WebSocket.prototype.send;
    const until = new WeakMap();
    WebSocket.prototype.send = function (data) {
        if (!this.url.endsWith('/call')) return send.call(this, data);
        if (!until.has(this)) until.set(this, performance.now() + 2000);
        const left = until.get(this) - performance.now();
        if (left > 0) setTimeout(() => send.call(this, data), left);
        else send.call(this, data);
    };
}"""
CONFUSED = """
import framehub

app = framehub.Endpoints()


@app.on("confused")
def confused(call):
    raise framehub.EndpointError({"code": "application", "message": "no", "at": [1, 2]})
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with everything(tmp_path_factory.mktemp("site")) as made:
        yield made


def ask(site: Site, *asked: tuple[str, Any]) -> None:
    """Whatever comes of it."""

    async def calls() -> None:
        async with framehub.connect(site.mfp) as peer:
            for name, data in asked:
                try:
                    await peer.request(name, data)
                except framehub.EndpointError:
                    continue

    with ThreadPoolExecutor(1) as other:
        other.submit(asyncio.run, calls()).result(30)


def is_inside(one: Locator, frame: Locator) -> bool:
    inner, outer = one.bounding_box(), frame.bounding_box()
    assert inner
    assert outer
    return inner["x"] >= outer["x"] and inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 1


def test_an_error_took_as_long_as_the_answer_did(page: Page, site: Site) -> None:
    page.add_init_script(f"({LATE})()")
    called(page, site, "stock.price")
    page.locator("textarea").fill('"unicorn"')
    page.keyboard.press("Control+Enter")
    answer = page.locator("section.answer")
    expect(answer.locator(".badge.bad")).to_have_text(re.compile(r"^[\d.]+ (µs|ms)$"))
    expect(page.locator(".verdict")).to_contain_text("was an error (application)")


def test_an_error_is_said_once_and_gone_when_the_next_call_cannot_be_sent(page: Page, site: Site) -> None:
    called(page, site, "math.divide")
    page.get_by_label("a * number").fill("9")
    page.get_by_label("b number").fill("0")
    page.keyboard.press("Control+Enter")
    answer = page.locator("section.answer")
    expect(answer).to_contain_text("Error")
    assert answer.inner_text().count("division by zero") == 1
    failed = page.locator(".said.failed")
    expect(failed).to_contain_text("It failed")
    tones = [
        page.locator(chosen).evaluate("(one) => getComputedStyle(one, '::before').backgroundColor")
        for chosen in (".said.failed", ".said.error")
    ]
    assert tones[0] == tones[1]
    page.get_by_label("a * number").fill("nine")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert").filter(has_text="a: not a number")).to_be_visible()
    expect(answer).to_have_count(0)
    expect(page.locator(".story")).to_have_count(0)


def test_contents_of_frames_have_the_room_that_there_is(page: Page, site: Site) -> None:
    called(page, site, "math.divide")
    page.get_by_label("a * number").fill("9")
    page.get_by_label("b number").fill("4")
    page.keyboard.press("Control+Enter")
    contents = page.locator(".event .carries").first
    expect(contents).to_have_text('{"a":9,"b":4}')
    assert contents.evaluate("(one) => one.scrollWidth - one.clientWidth") <= 0
    heads = [one.bounding_box() for one in page.locator(".events-head > span").all()]
    cells = [one.bounding_box() for one in page.locator(".event").first.locator("> span").all()]
    assert [abs(head["x"] - cell["x"]) < 8 for head, cell in zip(heads, cells, strict=True) if head and cell]
    assert abs(heads[4]["x"] - cells[4]["x"]) < 8  # type: ignore[index]


def test_a_failure_can_be_asked_why_however_long_its_name_and_code(page: Page, site: Site) -> None:
    opened(page, site)
    ask(site, ("a.name.that.nobody.serves.and.that.is.long", None))
    failures = page.get_by_role("region", name="What failed last")
    row = failures.locator("tr", has_text="nobody")
    expect(row).to_contain_text("error · unknown_endpoint")
    for width in (1280, 1110, 390):
        page.set_viewport_size({"width": width, "height": 860})
        assert is_inside(row.get_by_text("why?"), failures), width


def test_the_tile_tells_what_the_slow_calls_of_the_minute_took(page: Page, site: Site) -> None:
    opened(page, site)
    ask(site, ("nap", 1.2))
    slow = page.locator(".tile", has_text="Latency, p95").locator(".value")
    expect(slow).to_have_text(re.compile(r"^1\.\d+ s$"))
    expect(page.locator("section[aria-label=Latency] path.dots")).to_have_count(3)
    ask(site, *[("chat", {"text": "hello"})] * 3)
    page.wait_for_timeout(2500)
    expect(slow).to_have_text(re.compile(r"^1\.\d+ s$"))


def test_connections_are_charted_as_they_are_counted(page: Page, site: Site) -> None:
    opened(page, site)
    ask(site, ("quotes.history", {"item": "pear"}))
    legend = page.locator("section[aria-label='Open connections'] .legend")
    expect(legend).to_have_text(re.compile(r"MFP \d+\s*hub \d+"))


def test_a_cut_table_shows_that_there_is_more_of_it(page: Page, site: Site) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    opened(page, site, "functions")
    table = page.get_by_role("region", name="Functions")
    expect(table).to_contain_text("math.divide")
    assert table.evaluate("(one) => one.scrollWidth - one.clientWidth") > 0
    table.locator("table").evaluate("(one) => (one.style.visibility = 'hidden')")
    box = table.bounding_box()
    assert box

    def edge() -> bytes:
        right = {"x": box["x"] + box["width"] - 6, "y": box["y"] + 2, "width": 6, "height": 16}
        return page.screenshot(clip=right, animations="disabled")  # type: ignore[arg-type]

    cut = edge()
    table.evaluate("(one) => (one.scrollLeft = one.scrollWidth)")
    whole = edge()
    assert cut != whole


def test_hints_name_this_gateway_and_only_what_can_work_there(page: Page, tmp_path: Path) -> None:
    with gateway(tmp_path) as site:
        opened(page, site, "overview")
        to_us = f'framehub request chat \'{{"text": "hello"}}\' --url {site.mfp}'
        expect(page.get_by_text(to_us, exact=True)).to_be_visible()
        opened(page, site, "connections")
        expect(page.get_by_text(f"framehub ping --url {site.mfp}", exact=True)).to_be_visible()
        opened(page, site, "services")
        started = f"framehub service MODULE:NAME --connect {site.services}"
        expect(page.get_by_text(started, exact=True)).to_be_visible()
        opened(page, site, "functions")
        started = f"framehub worker MODULE:NAME --connect {site.workers}"
        expect(page.get_by_text(started, exact=True).first).to_be_visible()
        sample = page.locator(".command", has_text="sample_functions").inner_text().split()
        with companion(*sample[1:]):
            expect(page.get_by_role("region", name="Workers").locator("tbody tr")).to_have_count(1)


def test_without_hub_and_functions_nobody_is_told_to_start_some(page: Page, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(CONFUSED)
    off = ("--services", "off", "--clients", "off", "--workers", "off", "--app", "own:app")
    with gateway(tmp_path, *off) as site:
        opened(page, site, "overview")
        expect(page.get_by_text("Try something in the playground.")).to_be_visible()
        expect(page.locator(".empty .command")).to_have_count(0)
        for view, said in (("services", "has no hub"), ("functions", "has no remote functions")):
            opened(page, site, view)
            expect(page.locator(".empty").filter(has_text=said)).to_be_visible()
            expect(page.locator(".empty .command")).to_have_count(0)
        called(page, site, "confused").get_by_role("button", name="Call").click()
        expect(page.locator(".answer pre")).to_contain_text('"at"')


def test_frames_that_do_not_fit_are_said_to_be_missing_since_when(page: Page, tmp_path: Path) -> None:
    with gateway(tmp_path) as site:
        opened(page, site, "frames")
        empty = page.locator(".list .empty")
        expect(empty).to_contain_text(re.compile(r"Nothing passed since \d\d:\d\d:\d\d\."))
        expect(empty).to_contain_text(f"framehub ping --url {site.mfp}")
        page.get_by_label("name of an endpoint").fill("chat")
        expect(empty).to_contain_text(re.compile(r"Nothing that fits passed since \d\d:\d\d:\d\d\."))
        expect(empty).not_to_contain_text("framehub ping")
        expect(empty).to_contain_text(f"framehub journal cat {tmp_path}")
        page.get_by_role("button", name="Pause").click()
        expect(empty).to_contain_text("Paused")
        expect(empty).not_to_contain_text("since")
