"""The house rules where clients/typescript is concerned; without Node."""

import json
import re
from pathlib import Path

import pytest

LONGEST = 400
TYPES_ONLY = {"mfp/events.ts", "mfp/frames.ts"}
IMPURE = re.compile(r"\b(setTimeout|setInterval|performance|Date|Math\.random|WebSocket\(|fetch|console)\b")


@pytest.fixture
def sources(root: Path) -> dict[str, str]:
    """Everything that is no test, by its path in src."""
    top = root / "clients" / "typescript" / "src"
    files = [file for file in top.rglob("*.ts") if not file.name.endswith(".test.ts")]
    return {
        file.relative_to(top).as_posix(): file.read_text() for file in files if file.parent.name != "testing"
    }


def test_files_are_short_enough_to_read(root: Path) -> None:
    files = [*(root / "clients" / "typescript" / "src").rglob("*.ts")]
    files += (root / "clients" / "typescript" / "interop").iterdir()
    assert {file.name for file in files if len(file.read_text().splitlines()) > LONGEST} == set()


def test_every_file_has_its_test_beside_it(root: Path, sources: dict[str, str]) -> None:
    top = root / "clients" / "typescript" / "src"
    untested = {name for name in sources if not (top / name.replace(".ts", ".test.ts")).exists()}
    assert untested == TYPES_ONLY


def test_the_machine_knows_no_clock_or_socket(sources: dict[str, str]) -> None:
    pure = {
        name: text for name, text in sources.items() if not name.startswith("runtime/") and name != "index.ts"
    }
    assert len(pure) > 20
    for name, text in pure.items():
        code = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
        assert IMPURE.findall(code) == [], name
        assert "runtime/" not in code, name


def test_the_client_needs_nothing_to_run(root: Path) -> None:
    package = json.loads((root / "clients" / "typescript" / "package.json").read_text())
    assert not package.keys() & {"dependencies", "peerDependencies", "optionalDependencies"}
    assert package["devDependencies"].keys() == {"@types/node", "esbuild", "terser", "typescript"}
