"""The console in the wheel is the one that web/ builds; told without Node."""

import hashlib
import re
from pathlib import Path

SHIPPED = Path("src/framehub/console/static/console.js")
SOURCES = (".ts", ".css", ".html", ".svg")


def test_the_shipped_console_is_made_of_these_sources(root: Path) -> None:
    """As web/scripts/build.mjs reckons it; if this fails: make console."""
    web = root / "web"
    found = [file.relative_to(web).as_posix() for file in (web / "src").rglob("*") if file.suffix in SOURCES]
    ours = [file for file in found if not file.endswith(".test.ts")]
    digest = hashlib.sha256()
    for file in sorted([*ours, "scripts/build.mjs"]):
        digest.update(file.encode() + b"\0" + (web / file).read_bytes() + b"\0")
    first_line = (root / SHIPPED).read_text().partition("\n")[0]
    stamp = re.search("sources sha256:([0-9a-f]{64})$", first_line)
    assert stamp is not None, first_line
    assert stamp[1] == digest.hexdigest(), f"{SHIPPED} is stale: make console"
    for name in ("index.html", "icon.svg"):
        assert (root / SHIPPED.parent / name).read_bytes() == (web / "src" / name).read_bytes()
