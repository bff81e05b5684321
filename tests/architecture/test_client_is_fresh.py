"""The browser client in the wheel is the one that clients/typescript builds; told without Node."""

import gzip
import hashlib
import re
from pathlib import Path

import pytest

SHIPPED = Path("src/framehub/console/static/framehub.js")


def test_the_shipped_client_is_made_of_these_sources(root: Path) -> None:
    """As clients/typescript/scripts/build.mjs reckons it; if this fails: make client."""
    client = root / "clients" / "typescript"
    ours = [file.relative_to(client).as_posix() for file in (client / "src").rglob("*.ts")]
    ours = [file for file in ours if not file.endswith(".test.ts") and not file.startswith("src/testing/")]
    digest = hashlib.sha256()
    made_by = ["package-lock.json", "scripts/build.mjs", "scripts/minified.mjs", "scripts/names.json"]
    for file in sorted([*ours, *made_by]):
        digest.update(file.encode() + b"\0" + (client / file).read_bytes() + b"\0")
    first_line = (root / SHIPPED).read_text().partition("\n")[0]
    found = re.search(" ([0-9a-f]{12})$", first_line)
    assert found is not None, first_line
    assert found[1] == digest.hexdigest()[:12], f"{SHIPPED} is stale: make client"


@pytest.mark.parametrize("level", [6, 9])
def test_it_is_small_whoever_compresses_it(root: Path, level: int) -> None:
    """At most 12 KiB: gzip(1) gives some bytes more than Python does, and Node fewer."""
    assert len(gzip.compress((root / SHIPPED).read_bytes(), level)) <= 12 * 1024 - 16


def test_the_lock_file_names_no_registry(root: Path) -> None:
    """Where packages come from is each machine's own setting."""
    lock = (root / "clients" / "typescript" / "package-lock.json").read_text()
    assert '"resolved"' not in lock
    assert '"integrity"' in lock
