"""Who may import whom, and what nobody may import."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import framehub

ARBITRARY_CODE = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle"}
"""Modules that run what they read."""


def imported_modules(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_the_import_contracts_hold(root: Path) -> None:
    # A console script beside this interpreter; its cache is kept out of the tree.
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache", "--no-logo"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_reads_data_that_can_run_code(root: Path) -> None:
    found = [
        f"{file.relative_to(root)}: {module}"
        for file in (root / "src").rglob("*.py")
        for module in imported_modules(file)
        if module.partition(".")[0] in ARBITRARY_CODE
    ]
    assert found == []


@pytest.mark.parametrize("module", ["framehub", "framehub.cli.main", "framehub.cli.serve"])
def test_serving_needs_no_spark(module: str) -> None:
    code = f"import sys, {module}; assert not {{'pyspark', 'py4j'}} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_client_needs_no_pandas() -> None:
    """Arrow loads it when the first array is made: half a second that `framehub ping` has no use for."""
    code = "import sys, framehub.cli.request; assert 'pandas' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_there() -> None:
    names = getattr(framehub, "__all__", [])
    assert [name for name in names if not hasattr(framehub, name)] == []
    assert len(set(names)) == len(names)


def test_a_gateway_loads_what_its_console_needs_only_when_somebody_looks() -> None:
    code = "import sys, framehub.gateway.gateway; assert not {'pyarrow.compute', 'pandas'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
