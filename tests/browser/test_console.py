"""The page at the admin port, in Chromium, with real traffic."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, expect

from framehub.runtime.tokens import add
from tests.browser.conftest import Problems
from tests.browser.console_site import Site, called, everything, gateway, opened, traffic

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63606060000000040001f61738550000000049454e44ae426082"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with everything(tmp_path_factory.mktemp("site")) as made:
        yield made


class Hello(BaseHTTPRequestHandler):
    """Some other web site."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<link rel=icon href=data:,><p>hello")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Hello) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_the_overview_shows_what_passes_and_what_failed(page: Page, site: Site) -> None:
    opened(page, site)
    traffic(site)
    row = page.locator("tr", has_text="stock.price").filter(has_text="endpoint")
    expect(row.locator("td").nth(2)).to_have_text("3")
    failed = page.get_by_role("region", name="What failed last").locator("tbody tr")
    expect(failed).to_have_count(3)
    expect(failed.first).to_contain_text("stock.price")
    expect(page.locator(".tile", has_text="Failed").locator(".value")).to_have_text("3")
    assert page.locator(".chart path.line").count() >= 4
    failed.first.get_by_text("why?").click()
    expect(page.locator(".verdict")).to_contain_text("The answer after")
    expect(page.locator(".verdict")).to_contain_text("was an error (application)")


def test_tables_show_connections_services_functions_and_workers(page: Page, site: Site) -> None:
    opened(page, site, "functions")
    expect(page.get_by_role("region", name="Functions")).to_contain_text("math.divide")
    expect(page.get_by_role("region", name="Functions")).to_contain_text("a: number, b?: number")
    expect(page.get_by_role("region", name="Workers").locator("tbody tr")).to_have_count(1)
    page.keyboard.press("6")
    expect(page.get_by_role("region", name="Instances of services")).to_contain_text("quotes")
    expect(page.get_by_role("region", name="Functions of services")).to_contain_text("quotes.history")
    page.keyboard.press("5")
    expect(page.get_by_text("Nobody is connected by MFP.")).to_be_visible()


def test_the_playground_calls_a_function_and_shows_answer_time_and_frames(page: Page, site: Site) -> None:
    called(page, site, "math.divide")
    page.get_by_label("a * number").fill("nine")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert").filter(has_text="a: not a number")).to_be_visible()
    page.get_by_label("a * number").fill("9")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".answer pre")).to_have_text("4.5")
    assert page.locator(".answer .badge.good").inner_text().split()[1] in {"µs", "ms", "s"}
    expect(page.locator(".verdict")).to_contain_text("The client had its answer")
    lanes = page.locator(".lane b")
    expect(lanes).to_have_text(["client", "gateway", "worker"])
    expect(page.locator(".event", has_text="result").first).to_be_visible()


def test_the_playground_attaches_files_and_offers_those_that_come_back(page: Page, site: Site) -> None:
    called(page, site, "files.sum")
    page.get_by_role("button", name="Call").click()
    expect(page.get_by_role("alert").filter(has_text="document: choose a file")).to_be_visible()
    picture: FilePayload = {"name": "me.png", "mimeType": "image/png", "buffer": PNG}
    other: FilePayload = {**picture, "name": "you.png"}
    page.get_by_label("document").set_input_files(picture)
    page.get_by_role("button", name="Call").click()
    expect(page.locator(".answer .file a")).to_have_text("sum.txt")
    expect(page.locator(".answer pre")).to_contain_text("me.png")
    with page.expect_download() as got:
        page.locator(".answer .file a").click()
    assert got.value.suggested_filename == "sum.txt"
    called(page, site, "files.store")
    page.locator("input[type=file]").set_input_files([picture, other])
    page.get_by_role("button", name="Call").click()
    expect(page.locator(".answer pre").first).to_contain_text('"stored": 2')
    called(page, site, "files.upload")
    page.get_by_label("file").set_input_files({**picture, "buffer": bytes(1_000_000)})
    page.get_by_role("button", name="Stream").click()
    expect(page.locator(".answer")).to_contain_text("1.00 MB streamed")


def test_the_playground_calls_services_and_shows_errors(page: Page, site: Site) -> None:
    called(page, site, "quotes.history")
    page.get_by_label("item * string").fill("pear")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".answer pre")).to_contain_text('"cents": 95')
    expect(page.locator(".lane b")).to_have_text(["client", "gateway", "service"])
    expect(page.locator(".parts tr").last).to_contain_text("quotes.history")
    called(page, site, "quotes.watch")
    page.locator("form.call input").first.fill("unicorn")
    page.get_by_role("button", name="Call").click()
    expect(page.locator(".answer")).to_contain_text("unicorn is not sold here")


def test_a_timed_out_call_can_be_understood_in_its_timeline(page: Page, site: Site) -> None:
    called(page, site, "nap")
    page.get_by_label("seconds * number").fill("30")
    page.get_by_label("seconds to wait").fill("0.4")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".answer")).to_contain_text("No answer in time")
    page.get_by_text("open as a timeline").click()
    expect(page.locator("h1")).to_have_text("Conversation")
    verdict = page.locator(".verdict")
    expect(verdict.locator("h2")).to_contain_text("timeout")
    expect(verdict).to_contain_text("A client asked for endpoint nap.")
    expect(verdict).to_contain_text("got it after")
    expect(verdict).to_contain_text("did not answer: it had it for")
    expect(verdict).to_contain_text("The client gave up after")
    expect(page.locator(".parts tr")).to_have_count(2)
    expect(page.locator(".event.problem").first).to_contain_text("timeout")
    page.locator(".event").first.press("Enter")
    expect(page.get_by_label("one frame")).to_contain_text("request")
    page.goto(f"{site.admin}/#/conversation/{'00' * 16}")
    expect(page.get_by_role("alert").filter(has_text="no exchange")).to_be_visible()


def test_keys_do_what_the_help_says_and_the_theme_stays(page: Page, site: Site) -> None:
    opened(page, site)
    for key, title in (("2", "Frames"), ("3", "Playground"), ("4", "Conversation"), ("1", "Overview")):
        page.keyboard.press(key)
        expect(page.locator("h1")).to_have_text(title)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("light or dark")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    before = page.evaluate("document.documentElement.dataset.theme")
    page.keyboard.press("t")
    after = page.evaluate("document.documentElement.dataset.theme")
    assert {before, after} == {"light", "dark"}
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == after


def test_it_fits_a_narrow_screen(page: Page, site: Site) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for view in ("overview", "frames", "playground/math.factor", "conversation", "connections", "functions"):
        opened(page, site, view)
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, view


def test_a_lost_gateway_is_shown_and_found_again(page: Page, tmp_path: Path, problems: Problems) -> None:
    with gateway(tmp_path) as first:
        opened(page, first)
        port = first.admin.rpartition(":")[2]
    expect(page.locator(".status")).to_have_text("reconnecting")
    expect(page.get_by_role("alert").filter(has_text="No connection to the gateway")).to_be_visible()
    with gateway(tmp_path, "--admin", f"127.0.0.1:{port}"):
        expect(page.locator(".status")).to_have_text("live")
        expect(page.get_by_role("alert").filter(has_text="No connection")).to_be_hidden()
    problems.clear()  # the browser complains of each try


def test_tokens_wrong_and_right(page: Page, tmp_path: Path, problems: Problems) -> None:
    token = add(tmp_path / "admins", user=1, name="me")[0]
    with gateway(tmp_path, "--admin", "0.0.0.0:0", "--admin-tokens", "admins") as found:
        site = found._replace(admin=found.admin.replace("0.0.0.0", "127.0.0.1"))  # any name it is reached by
        page.goto(site.admin)
        expect(page.get_by_text("This admin port asks for a token.")).to_be_visible()
        page.get_by_label("admin token").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert").filter(has_text="does not know this token")).to_be_visible()
        page.get_by_label("admin token").fill(token)
        page.keyboard.press("Enter")
        expect(page.locator(".status")).to_have_text("live")
        called(page, site, "chat")
        page.locator("textarea").fill('{"text": "with a token"}')
        page.keyboard.press("Control+Enter")
        expect(page.locator(".answer pre")).to_contain_text('"length": 12')
        assert token not in page.evaluate("JSON.stringify([localStorage, document.cookie, location.href])")
        page.reload()
        expect(page.locator(".status")).to_have_text("live")
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_text("This admin port asks for a token.")).to_be_visible()
    assert all("401" in problem for problem in problems), problems
    problems.clear()


def test_a_token_revoked_while_the_gateway_is_away_asks_for_another(
    page: Page, tmp_path: Path, problems: Problems
) -> None:
    token = add(tmp_path / "admins", user=1, name="me")[0]
    add(tmp_path / "others", user=1, name="you")
    with gateway(tmp_path, "--admin-tokens", "admins") as first:
        page.goto(first.admin)
        page.get_by_label("admin token").fill(token)
        page.keyboard.press("Enter")
        expect(page.locator(".status")).to_have_text("live")
        port = first.admin.rpartition(":")[2]
    expect(page.locator(".status")).to_have_text("reconnecting")
    with gateway(tmp_path, "--admin", f"127.0.0.1:{port}", "--admin-tokens", "others"):
        expect(page.get_by_role("alert").filter(has_text="does not know this token")).to_be_visible()
        expect(page.get_by_label("admin token")).to_be_focused()
    problems.clear()  # the browser complains of each try


def test_pages_of_other_origins_are_refused(
    page: Page, site: Site, elsewhere: str, problems: Problems
) -> None:
    page.goto(elsewhere)
    tried = """(url) => new Promise((done) => {
        const socket = new WebSocket(url, ['mfp.v1.crc32', 'mfp.v1']);
        socket.onopen = () => done('open');
        socket.onerror = () => done('refused');
    })"""
    for path in ("mfp", "call"):
        assert page.evaluate(tried, f"{site.admin.replace('http', 'ws')}/{path}") == "refused"
    assert all("403" in problem for problem in problems), problems
    assert len(problems) == 2
    problems.clear()


def test_pictures_that_come_back_are_shown(page: Page, tmp_path: Path) -> None:
    (tmp_path / "album.py").write_text(
        "import framehub\n"
        "app = framehub.Endpoints()\n"
        f"PNG = bytes.fromhex('{PNG.hex()}')\n"
        "@app.on('picture')\n"
        "def picture(call):\n"
        "    return framehub.Reply(None, {4: framehub.File(PNG, '<img src=x>.png', 'image/png')})\n"
    )
    with gateway(tmp_path, "--app", "album:app") as site:
        called(page, site, "picture").get_by_role("button", name="Call").click()
        expect(page.locator(".answer .file a")).to_have_text("<img src=x>.png")
        page.wait_for_function("document.querySelector('.answer img').naturalWidth === 1")


def test_a_port_without_tokens_says_why_it_shows_and_calls_nothing(page: Page, tmp_path: Path) -> None:
    add(tmp_path / "users", user=1, name="somebody")
    with gateway(tmp_path, "--tokens", "users", "--no-journal") as site:
        opened(page, site, "playground")
        expect(page.get_by_text("Calls from here are off")).to_be_visible()
        page.keyboard.press("2")
        expect(page.get_by_text("This gateway records nothing")).to_be_visible()
