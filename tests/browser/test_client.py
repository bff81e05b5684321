"""The client that a gateway serves, in a page that the gateway serves, against that gateway."""

import hashlib
import os
import shutil
import signal
from pathlib import Path
from subprocess import Popen
from time import monotonic, sleep

import pytest
from playwright.sync_api import Page

from framehub.runtime.tokens import add, revoke
from tests.browser.conftest import Problems, Serve

pytestmark = pytest.mark.timeout(180)

SITE = Path(__file__).with_name("site")
MIB = 1 << 20
UPLOAD = 200 * MIB
HALTS = [60 * MIB, 120 * MIB, 180 * MIB]
"""Where the gateway stands still, and what the page holds is counted: it has on its way what it ever has."""
HALT_SECONDS = 60
ROOM = 64 * MIB
"""Memory that an upload may take on either side, whatever its size."""


@pytest.fixture
def site(tmp_path: Path, serve: Serve) -> "Site":
    """A gateway with the app and the page of these tests."""
    shutil.copy(SITE / "app.py", tmp_path / "app.py")
    return Site(tmp_path, serve)


class Site:
    """Gateways that serve the page, and the way there."""

    def __init__(self, folder: Path, serve: Serve) -> None:
        self.folder = folder
        self._serve = serve
        self.process: Popen[str] | None = None
        self.port = 0

    def start(self, *args: str, app: bool = True) -> "Site":
        """Start one, on the same port as the one before."""
        where = ("--listen", f"127.0.0.1:{self.port}", "--static", str(SITE), "--no-journal")
        self.process, url = self._serve(*(("--app", "app:endpoints") if app else ()), *where, *args)
        self.port = int(url.split(":")[2].split("/")[0])
        return self

    @property
    def web(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def open(self, page: Page) -> None:
        """Go there, and wait for the client."""
        page.goto(f"{self.web}/")
        page.wait_for_function("'connected' in globalThis")

    def kill(self) -> None:
        """As the kernel does when there is no memory left."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()


def forgive(problems: Problems, *words: str) -> None:
    """The browser logs each WebSocket that does not open: those are meant."""
    assert all(any(word in problem for word in words) for problem in problems), problems
    problems.clear()


def test_a_request_with_files_both_ways(page: Page, site: Site) -> None:
    site.start().open(page)
    told = page.evaluate("""async () => {
        await connected({ checksum: "crc32" });
        const photo = new File([new Uint8Array(300_000).fill(7)], "me.png", { type: "image/png" });
        const files = new Map([[4, { bin: photo }], [0, { bin: new Uint8Array(0), name: "empty" }]]);
        const reply = await peer.request({ endpoint: "echo", data: { text: "grüße 🫖" }, files });
        const seen = [...reply.files].map(([key, { bin, name, type }]) =>
            [key, name, type, bin.length, bin.every(byte => byte === 7)]);
        return [reply.data, seen, peer.state, peer.link.length];
    }""")
    files = [[4, "me.png", "image/png", 300_000, True], [0, "empty", "", 0, True]]
    assert told == [{"data": {"text": "grüße 🫖"}, "user": 0}, files, "open", 16]


def test_an_error_of_an_endpoint_says_what_it_is(page: Page, site: Site) -> None:
    site.start().open(page)
    told = page.evaluate("""async () => {
        await connected();
        const error = await peer.request({ endpoint: "fails" }).catch(error => error);
        const unknown = await peer.request({ endpoint: "nobody" }).catch(error => error);
        const kinds = [error, unknown].map(one => one instanceof framehub.EndpointError);
        return [kinds, String(error), error.value, String(unknown)];
    }""")
    assert told == [
        [True, True],
        "EndpointError: sold_out: no tea today",
        {"code": "sold_out", "message": "no tea today"},
        "EndpointError: unknown_endpoint: no endpoint 'nobody' here",
    ]


def test_a_large_upload_has_progress_and_takes_little_memory(page: Page, site: Site, tmp_path: Path) -> None:
    """A file that somebody chose, of 200 MiB: at no time is much of it in memory, on either side."""
    path, digest = tmp_path / "big.bin", hashlib.sha256()
    with path.open("wb") as file:
        for number in range(UPLOAD // MIB):
            part = number.to_bytes(4, "big") * (MIB // 4)
            digest.update(part)
            file.write(part)
    site.start().open(page)
    page.evaluate("connected()")
    page.set_input_files("input", path)
    watched = Memory(page, site)
    page.evaluate(
        """halts => {
        const [file] = document.querySelector("input").files;
        globalThis.told = { steps: [] };
        peer.on("upload.done", done => Object.assign(told, { done }));
        const onprogress = ({ received, total }) => told.steps.push([received, total]);
        peer.upload({ endpoint: "upload", data: { halts }, file, onprogress })
            .catch(error => Object.assign(told, { error }));
    }""",
        HALTS,
    )
    for _ in HALTS:
        watched.look()
    page.wait_for_function("'done' in told || 'error' in told")
    told = page.evaluate("told")
    assert told.get("done") == {"bytes": UPLOAD, "sha256": digest.hexdigest()}, told.get("error")
    received = [step[0] for step in told["steps"]]
    assert received == sorted(received)
    assert (received[-1], {step[1] for step in told["steps"]}) == (UPLOAD, {UPLOAD})
    assert len(received) > 200
    gateway, *renderers = watched.processes_grown()
    assert watched.page_grown < ROOM
    assert gateway < ROOM
    assert max(renderers) < 2 * ROOM  # garbage that nobody has needed the room of


class Memory:
    """How much more a gateway and a page take than they did at first."""

    def __init__(self, page: Page, site: Site) -> None:
        browser = page.context.browser
        assert site.process is not None
        assert browser is not None
        told = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
        renderers = [one["id"] for one in told["processInfo"] if one["type"] == "renderer"]
        self._gateway = site.process.pid
        self._session = page.context.new_cdp_session(page)
        self._page = self._of_page()
        self._before = {pid: _memory(pid, "VmRSS") for pid in (site.process.pid, *renderers)}
        for pid in self._before:
            Path(f"/proc/{pid}/clear_refs").write_text("5")  # its peak is counted from here on
        self.page_grown = 0

    def look(self) -> None:
        """When the gateway stands still, see what the page holds, garbage left out; wake the gateway.

        A page that goes on sending makes garbage between the two questions, as much as it has time for.
        """
        until = monotonic() + HALT_SECONDS
        while _status(self._gateway, "State") != "T":
            assert monotonic() < until, "the gateway does not come to where it stands still"
            sleep(0.01)
        try:
            self.page_grown = max(self.page_grown, self._of_page() - self._page)
        finally:
            os.kill(self._gateway, signal.SIGCONT)

    def processes_grown(self) -> list[int]:
        """At their peak, garbage and all: the gateway, then whatever runs pages."""
        return [_memory(pid, "VmHWM") - before for pid, before in self._before.items()]

    def _of_page(self) -> int:
        self._session.send("HeapProfiler.collectGarbage")
        told = self._session.send("Runtime.getHeapUsage")
        return int(told["usedSize"] + told["embedderHeapUsedSize"] + told["backingStorageSize"])


def _memory(pid: int, name: str) -> int:
    return int(_status(pid, name)) * 1024


def _status(pid: int, name: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(f"{name}:"))


def test_giving_up_is_told_to_the_gateway(page: Page, site: Site) -> None:
    site.start().open(page)
    told = page.evaluate("""async () => {
        await connected();
        const control = new AbortController();
        peer.on("sleeping", () => control.abort());
        const request = await peer.request({ endpoint: "sleep", data: "one", signal: control.signal })
            .catch(error => error.name);
        const stop = new AbortController();
        const file = new Blob(Array(64).fill(new Uint8Array(2 ** 20)));
        const upload = await peer.upload({ endpoint: "upload", data: "two", file, signal: stop.signal,
            onprogress: () => stop.abort(new Error("enough")) }).catch(error => error.message);
        let seen = [];
        while (seen.length < 2) seen = (await peer.request({ endpoint: "given.up" })).data;
        return [request, upload, seen, peer.state];
    }""")
    assert told == ["AbortError", "enough", ["request one", "stream two"], "open"]


def test_the_gateway_speaks_first(page: Page, site: Site) -> None:
    site.start().open(page)
    told = page.evaluate("""async () => {
        await connected();
        const seen = {};
        peer.on("news", (data, files, call) => {
            const { bin, name } = files.get(3);
            seen.news = [data, name, new TextDecoder().decode(bin), call.isRequest];
        });
        peer.on("who.are.you", (data) =>
            new framehub.Reply([navigator.userAgent.includes("Chrome"), data.why],
                new Map([[0, { bin: new Blob(["a file of the page"]), name: "p.txt" }]])));
        const fed = new Promise(resolve => peer.onStream("feed", async stream => {
            let bytes = 0;
            for await (const { data } of stream) bytes += data.length;
            resolve([stream.data, bytes]);
        }));
        const { data } = await peer.request({ endpoint: "push" });
        return [data, seen.news, await fed];
    }""")
    assert told == [
        {"answer": [True, "a test"], "file": "a file of the page"},
        [{"n": 1}, "n.txt", "pushed", False],
        [{"chunks": 20}, 1_000_000],
    ]


def test_a_page_comes_back_when_the_gateway_was_killed_and_restarted(
    page: Page, site: Site, problems: Problems
) -> None:
    site.start().open(page)
    page.evaluate("""async () => {
        globalThis.states = [];
        await connected();
        peer.onstate = state => states.push(state);
        globalThis.first = peer.link;
        globalThis.slept = new Promise(resolve => peer.on("sleeping", resolve));
        globalThis.pending = peer.request({ endpoint: "sleep" }).catch(error => [error.name, error.code]);
        await slept;
    }""")
    site.kill()
    assert page.evaluate("pending") == ["ConnectionClosed", 1006]
    assert page.evaluate("[peer.state, ...states]") == ["connecting", "connecting"]
    page.evaluate("globalThis.asked = peer.request({ endpoint: 'echo', data: 1 }); 0")  # it waits
    site.start()
    assert page.evaluate("asked.then(reply => reply.data.data)") == 1
    assert page.evaluate("[states, peer.link !== first]") == [["connecting", "open"], True]
    page.evaluate("peer.close()")
    assert page.evaluate("states") == ["connecting", "open", "closed"]
    forgive(problems, "WebSocket connection to", "ERR_CONNECTION_REFUSED")


def test_a_wrong_token_and_the_right_one(page: Page, site: Site, problems: Problems) -> None:
    token = add(site.folder / "tokens", user=7, name="page")[0]
    site.start("--tokens", str(site.folder / "tokens")).open(page)
    told = page.evaluate(
        """async token => {
            const failed = async options => {
                const error = await connected(options).catch(error => error);
                return [error instanceof framehub.ConnectFailed, String(error)];
            };
            const wrong = [await failed({}), await failed({ token: token + "x" })];
            await connected({ token });
            return { wrong, user: (await peer.request({ endpoint: "echo" })).data.user };
        }""",
        token,
    )
    assert told["user"] == 7
    for is_one, text in told["wrong"]:
        assert is_one
        assert text.startswith(f"ConnectFailed: cannot connect to ws://127.0.0.1:{site.port}/mfp: ")
    forgive(problems, "HTTP Authentication failed")
    page.evaluate("globalThis.over = peer.closed.then(({ code, reason }) => [code, reason]); 0")
    revoke(site.folder / "tokens", "page")
    assert page.evaluate("over") == [1008, "token revoked"]
    assert page.evaluate("peer.state") == "closed"


@pytest.mark.parametrize("is_allowed", [False, True])
def test_a_page_of_another_origin(
    page: Page, tmp_path: Path, serve: Serve, problems: Problems, is_allowed: bool
) -> None:
    """It may have the client from the gateway, and connect if its origin is on the list."""
    other = Site(tmp_path, serve).start(app=False)
    site = Site(tmp_path, serve).start(*(("--origin", other.web) if is_allowed else ()), app=False)
    other.open(page)
    told = page.evaluate(
        """async port => {
            const { connect, ConnectFailed } = await import(`http://127.0.0.1:${port}/framehub.js`);
            return connect(`ws://127.0.0.1:${port}/mfp`).then(peer => peer.state,
                error => [error instanceof ConnectFailed, error.message]);
        }""",
        site.port,
    )
    if is_allowed:
        assert told == "open"
    else:
        assert told[0] is True
        assert "origin" in told[1]
        forgive(problems, "403")
