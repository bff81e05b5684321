"""The console's frames: live, filtered, paused, explained, and those from before."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.console_site import Site, ask, chats, everything, gateway, opened, traffic


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with everything(tmp_path_factory.mktemp("site")) as made:
        yield made


def test_frames_come_live_are_filtered_paused_and_explained(page: Page, site: Site) -> None:
    opened(page, site, "frames")
    page.get_by_label("name of an endpoint").fill("chat")
    lines = page.locator(".lines tbody tr")
    page.get_by_role("button", name="Clear").click()
    expect(lines).to_have_count(0)
    traffic(site, 2)
    expect(lines).to_have_count(4)
    assert page.url.endswith("#/frames/name=chat")
    lines.last.focus()
    page.keyboard.press("Enter")
    panel = page.get_by_label("one frame")
    expect(panel).to_contain_text("sub-protocol 3, flags 0001")
    expect(panel.locator("pre")).to_contain_text('"text": "hello"')
    panel.locator("tr", has_text="id").first.hover()
    assert panel.locator(".lit").count() == 4
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    traffic(site, 1)
    page.wait_for_timeout(400)
    expect(lines).to_have_count(4)
    page.keyboard.press("p")
    expect(lines.nth(5)).to_be_visible()  # what passed meanwhile is there, too
    page.get_by_label("name of an endpoint").fill("")
    page.get_by_text("problems only").click()
    page.get_by_role("button", name="Clear").click()
    traffic(site, 1)
    expect(lines).to_have_count(1)
    expect(lines).to_contain_text("application")
    expect(page.get_by_text("1 frame", exact=True)).to_be_visible()


def test_what_was_before_somebody_looked_on_is_there(page: Page, tmp_path: Path) -> None:
    with gateway(tmp_path) as site:
        traffic(site, 60)
        opened(page, site)
        row = page.locator("tr", has_text="stock.price").filter(has_text="endpoint")
        expect(row.locator("td").nth(2)).to_have_text("60")
        failed = page.get_by_role("region", name="What failed last").locator("tbody tr")
        expect(failed).to_have_count(50)
        failed.first.get_by_text("why?").click()
        expect(page.locator(".verdict")).to_contain_text("was an error (application)")
        opened(page, site, "frames/kinds=request")
        lines = page.locator(".lines tbody tr")
        expect(lines).to_have_count(100)
        page.keyboard.press("o")
        expect(lines).to_have_count(120)
        expect(page.get_by_text("120 frames", exact=True)).to_be_visible()
        expect(page.get_by_role("button", name="Older frames")).to_be_hidden()
        lines.last.click()
        expect(page.get_by_label("one frame")).to_contain_text("sub-protocol 3, flags 0001")
        traffic(site, 1)
        expect(lines).to_have_count(122)
        page.get_by_label("name of an endpoint").fill("unicorns")
        expect(page.get_by_text("Nothing that fits passed since")).to_be_visible()


def test_after_a_restart_all_of_the_overview_tells_the_same(page: Page, tmp_path: Path) -> None:
    with gateway(tmp_path) as site:
        traffic(site, 5)
        page.wait_for_timeout(500)  # what is not on disk yet goes with a gateway that is killed
    with gateway(tmp_path) as site:
        opened(page, site)
        expect(page.locator(".tile", has_text="Calls per second").locator(".note")).to_have_text(
            "10 last minute"
        )
        expect(page.locator(".tile", has_text="Failed").locator(".value")).to_have_text("5")
        row = page.locator("tr", has_text="stock.price").filter(has_text="endpoint")
        expect(row.locator("td").nth(1)).to_have_text("5")


SLOW = """
import time
import framehub
from framehub.console import past
from framehub.gateway import console

app = framehub.Endpoints()
app.on("chat")(lambda call: call.data)
older = past.older


def slowly(*args, **options):
    found = older(*args, **options)
    time.sleep(2.5)
    return found


@app.on("slow")
def slow(call):
    console.older = slowly


@app.on("broken")
def broken(call):
    def fail(*args, **options):
        raise framehub.JournalError("the disk says no")

    console.older = fail
"""


def test_older_frames_follow_on_the_others_whatever_comes_meanwhile(page: Page, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    with gateway(tmp_path, "--app", "slow:app") as site:
        chats(site, 300)
        ask(site, "slow")
        opened(page, site, "frames")
        for _ in range(9):
            chats(site, 30)
            page.wait_for_timeout(120)  # at most two hundred are shown in a tenth of a second
        lines = page.locator(".lines tbody tr")
        expect(lines.nth(600)).to_be_visible()  # five hundred live ones, and a hundred older ones
        assert "left out" not in page.locator("main").inner_text()
        seqs = [int(seq) for seq in lines.evaluate_all("lines => lines.map((line) => line.dataset.seq)")]
        assert seqs == list(range(seqs[0], seqs[0] - len(seqs), -1))
        page.keyboard.press("p")
        page.keyboard.press("o")
        expect(lines.nth(len(seqs) + 50)).to_be_visible()
        ask(site, "broken")
        page.get_by_label("name of an endpoint").fill("chat")
        expect(page.get_by_role("alert")).to_contain_text("the disk says no")


def test_a_filter_that_cannot_be_lists_nothing_and_says_why(page: Page, site: Site) -> None:
    traffic(site, 2)
    opened(page, site, "frames/foo=1&kind=nonsense&problems=1")
    lines = page.locator(".lines tbody tr")
    expect(lines.first).to_be_visible()
    assert page.url.endswith("#/frames/problems=1"), "what is not understood stands in no address"
    page.get_by_label("beginning of a link").fill("zzz")
    expect(page.get_by_role("alert")).to_have_text("link: want hex digits, the beginning of a link's name")
    expect(lines).to_have_count(0)
    page.get_by_label("beginning of a link").fill("")
    expect(lines.first).to_be_visible()
    page.get_by_label("user", exact=True).fill("99999999999999999999")
    expect(page.get_by_role("alert")).to_have_text("user: want a number from 0 to 65535")
    page.get_by_label("user", exact=True).fill("")
    page.get_by_text("problems only").click()
    page.get_by_text("calls only").click()
    expect(lines.first).to_be_visible()
    expect(lines.filter(has_text="link")).to_have_count(0)
    traffic(site, 1)
    expect(lines.first).to_contain_text("application")


def test_what_was_cleared_stays_so_until_older_ones_are_asked_for(page: Page, site: Site) -> None:
    traffic(site, 1)
    opened(page, site, "frames/name=chat")
    lines = page.locator(".lines tbody tr")
    expect(lines.first).to_be_visible()
    page.keyboard.press("p")
    page.keyboard.press("c")
    expect(page.get_by_text("Paused: what passes now is not listed.")).to_be_visible()
    page.keyboard.press("p")
    expect(page.get_by_text("0 frames", exact=True)).to_be_visible()
    traffic(site, 1)
    expect(lines).to_have_count(2)
    page.keyboard.press("o")
    expect(lines.nth(3)).to_be_visible()
    seqs = [int(seq) for seq in lines.evaluate_all("lines => lines.map((line) => line.dataset.seq)")]
    assert seqs == sorted(set(seqs), reverse=True)
