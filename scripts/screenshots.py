"""Photograph a page as people see it: wide and narrow, light and dark.

    python scripts/screenshots.py OUT/report.html docs/images --name report

writes ``report-{1280,390}-{light,dark}.png``. It drives chromium by its DevTools protocol, over a pipe: file
descriptors 3 and 4, JSON with a zero byte behind each message. Nothing else is needed.
"""

import argparse
import base64
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

WIDTHS: Final = (1280, 390)
THEMES: Final = ("light", "dark")
_SETTLE_MS: Final = 400
_FLAGS: Final = (
    *("--headless=new", "--remote-debugging-pipe", "--no-first-run", "--hide-scrollbars", "--disable-gpu"),
    *("--force-color-profile=srgb", "--font-render-hinting=none"),
)


class Browser:
    """A chromium without a window, with one page."""

    def __init__(self, program: str, profile: str) -> None:
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        flags = [*_FLAGS, f"--user-data-dir={profile}"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        # The shell gives the pipes the numbers that chromium wants.
        line = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(  # noqa: S603 - the program is the caller's choice
            ["/bin/bash", "-c", line, program, *flags, "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out = os.fdopen(ours_in, "rb", 0), os.fdopen(ours_out, "wb", 0)
        self._numbers = itertools.count(1)
        self._rest = b""
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method: str, **params: Any) -> Any:
        """Ask for something; what it answers."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def evaluate(self, script: str) -> Any:
        """What the script comes to, in the page."""
        told = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in told:
            raise RuntimeError(f"{script}: {told['exceptionDetails']['text']}")
        return told["result"].get("value")

    def close(self) -> None:
        """End it."""
        self._session = None
        self.call("Browser.close")
        self._process.wait(timeout=30)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = self._in.read(1 << 20)
            if not more:
                raise RuntimeError("the browser has gone")
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        told: dict[str, Any] = json.loads(message)
        return told


def photograph(
    browser: Browser, page: Path, width: int, theme: str, start: int, most: int
) -> tuple[bytes, int]:
    """A picture of the page from ``start`` on, and by how many pixels the page is too wide."""
    browser.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 700
    )
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
    browser.call("Page.navigate", url=page.resolve().as_uri())
    browser.evaluate(
        "new Promise((done) => { const look = () => document.readyState === 'complete'"
        f" ? setTimeout(done, {_SETTLE_MS}) : setTimeout(look, 50); look(); }})"
    )
    wide = browser.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    height = browser.evaluate("document.documentElement.scrollHeight")
    clip = {"x": 0, "y": start, "width": width, "height": max(1, min(most, height - start)), "scale": 1}
    told = browser.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
    return base64.b64decode(told["data"]), max(0, int(wide))


def main() -> int:
    """Take the four pictures; 1 if the page is wider than a screen."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("page", type=Path)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--name", default="report")
    parser.add_argument("--start", type=int, default=0, help="pixels from the top")
    parser.add_argument("--height", type=int, default=4000, help="pixels at most")
    parser.add_argument("--chromium", default="chromium")
    given = parser.parse_args()
    given.directory.mkdir(parents=True, exist_ok=True)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="screenshots-", ignore_cleanup_errors=True) as profile:
        browser = Browser(given.chromium, profile)
        try:
            for width, theme in itertools.product(WIDTHS, THEMES):
                picture, beyond = photograph(browser, given.page, width, theme, given.start, given.height)
                file = given.directory / f"{given.name}-{width}-{theme}.png"
                file.write_bytes(picture)
                print(f"{file}: {len(picture) // 1000} kB" + (f", {beyond} px too wide" if beyond else ""))
                failed |= beyond > 0
        finally:
            browser.close()
    return failed


if __name__ == "__main__":
    sys.exit(main())
