"""The console for everybody: legible in light and dark, every control with a name, all of it by keyboard."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.console_site import Site, called, everything, opened

FAINT = """() => {
  const linear = (part) => (part /= 255) <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const read = (text) => [...text.match(/[\\d.]+/g).map(Number), 1].slice(0, 4);
  const over = (top, under) => [0, 1, 2].map((at) => top[at] * top[3] + under[at] * (1 - top[3]));
  const up = (element) => element ? [...up(element.parentElement), getComputedStyle(element)] : [];
  const contrast = (element, { color, opacity = 1 }) => {
    const styles = up(element);
    const ground = styles.reduce((under, style) => over(read(style.backgroundColor), under), [255, 255, 255]);
    const ink = read(color);
    ink[3] *= styles.reduce((all, style) => all * style.opacity, opacity);
    const [dark, bright] = [light(over(ink, ground)), light(ground)].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05);
  };
  const found = [];
  const note = (element, style, what) => {
    const ratio = contrast(element, style);
    if (ratio < 4.5) found.push(`${what} (${element.className}): ${ratio.toFixed(2)}`);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode()); ) {
    const element = text.parentElement;
    const isHidden = !element.checkVisibility() || element.closest('option, .hidden, kbd[aria-hidden]');
    const said = text.data.trim();
    if (said && !isHidden) note(element, { color: getComputedStyle(element).color }, said);
  }
  for (const field of document.querySelectorAll('[placeholder]')) {
    const { color, opacity } = getComputedStyle(field, '::placeholder');
    if (field.checkVisibility()) note(field, { color, opacity: Number(opacity) }, 'a placeholder');
  }
  return found;
}"""
NAMELESS = """() => [...document.querySelectorAll('a, button, input, select, textarea, [role=button]')]
  .filter((one) => one.checkVisibility())
  .filter((one) => ![one.ariaLabel, one.textContent, one.labels?.[0]?.textContent].some((it) => it?.trim()))
  .map((one) => one.outerHTML)"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with everything(tmp_path_factory.mktemp("site")) as made:
        yield made


def is_fine(page: Page) -> None:
    """All that is on the screen now can be read, and every control has a name."""
    assert page.evaluate(FAINT) == []
    assert page.evaluate(NAMELESS) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_is_legible_and_named(page: Page, site: Site, theme: str) -> None:
    page.emulate_media(color_scheme="light" if theme == "light" else "dark")
    called(page, site, "nap")
    page.get_by_role("button", name="Call").click()
    expect(page.locator(".wrong:visible")).to_have_count(1)
    is_fine(page)
    page.get_by_label("seconds * number").fill("9")
    page.get_by_label("seconds to wait").fill("0.2")
    page.keyboard.press("Control+Enter")
    page.get_by_text("open as a timeline").click()
    expect(page.locator("h1")).to_have_text("Conversation")
    page.locator(".event.problem").first.click()
    expect(page.locator(".explained")).to_be_visible()
    is_fine(page)
    for view in ("overview", "frames", "playground", "conversation", "connections", "services", "functions"):
        opened(page, site, view)
        page.wait_for_timeout(300)
        is_fine(page)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    is_fine(page)


def test_a_frame_is_chosen_and_left_by_keyboard(page: Page, site: Site) -> None:
    opened(page, site, "frames/protocols=mfp,rpc")
    other = page.context.new_page()
    called(other, site, "math.factor")
    other.get_by_label("number *").fill("360")
    other.keyboard.press("Enter")
    expect(other.locator(".answer")).to_be_visible()
    other.close()
    lines = page.locator(".lines tbody tr")
    expect(lines.nth(5)).to_be_visible()
    page.keyboard.press("p")
    page.get_by_role("region", name="frames").focus()
    page.keyboard.press("ArrowDown")
    expect(lines.nth(0)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("k")
    expect(lines.nth(1)).to_be_focused()
    page.keyboard.press("Space")
    expect(page.locator(".explained")).to_be_visible()
    page.keyboard.press("Tab")  # past all other lines
    expect(page.get_by_role("button", name="close")).to_be_focused()
    page.keyboard.press("j")
    expect(lines.nth(2)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".explained")).to_be_hidden()
    expect(lines.nth(1)).to_be_focused()


def test_a_call_is_made_and_looked_into_by_keyboard(page: Page, site: Site) -> None:
    opened(page, site, "playground")
    page.keyboard.press("/")
    page.keyboard.type("factor")
    chosen = page.locator(".choices a", has_text="math.factor")
    expect(chosen).to_be_visible()  # its worker may be on its way
    page.keyboard.press("Tab")
    expect(chosen).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("form.call")).to_be_visible()
    expect(chosen).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.type("360")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".answer pre")).to_contain_text("5")
    expect(page.get_by_role("button", name="Call")).to_be_focused()
    page.get_by_text("open as a timeline").press("Enter")
    expect(page.locator("h1")).to_have_text("Conversation")
    event = page.locator(".event").first
    event.press("Enter")
    expect(page.get_by_role("button", name="close")).to_be_focused()
    expect(page.locator(".explained")).to_be_visible()
    page.keyboard.press("Escape")
    expect(event).to_be_focused()


def test_on_a_narrow_screen_the_menu_shows_where_one_is(page: Page, site: Site) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for view in ("functions", "overview", "connections"):
        opened(page, site, view)
        expect(page.locator(".menu [aria-current]")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("is_early", [False, True])
def test_the_menu_is_skipped_to_a_view_that_is_there_or_comes(
    page: Page, site: Site, *, is_early: bool
) -> None:
    held: list[Route] = []
    page.route("**/api/state", lambda route: held.append(route) if is_early else route.continue_())
    page.goto(site.admin)
    expect(page.locator("h1")).to_have_count(0 if is_early else 1)
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the view")
    page.keyboard.press("Enter")
    if is_early:
        expect(page.locator("main")).to_be_focused()
        while not held:
            page.wait_for_timeout(10)
        held.pop().continue_()
    expect(page.locator("h1")).to_be_focused()
    expect(page.locator("h1")).to_have_text("Overview")
