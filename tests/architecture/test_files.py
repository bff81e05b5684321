"""How files are sized, named and paired with their tests."""

import re
from pathlib import Path

LONGEST = 400
PARTS = ("src", "tests", "benchmarks", "scripts", "fuzz")
VAGUE = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}
EXCUSED: set[str] = set()
"""Modules of src/framehub without a unit test of their own; meant to stay empty."""

# Written in pieces, so that this file is not what it finds.
REGISTRY_HOSTS = ["pypi" + ".org", "pythonhosted" + ".org", "registry.npmjs" + ".org", "pkg" + ".dev/"]
INDEX_OPTIONS = re.compile(r"^\s*(-i|--(extra-)?index-url|--find-links|-f|--trusted-host)\b", re.MULTILINE)


def python_files(root: Path) -> list[Path]:
    found = [file for part in PARTS for file in (root / part).rglob("*.py")]
    # The benchmarks' peers have environments of their own, and what is in there is not ours.
    return [file for file in found if not any(part.startswith(".") for part in file.relative_to(root).parts)]


def test_files_are_short_enough_to_read(root: Path) -> None:
    lengths = {file: len(file.read_text().splitlines()) for file in python_files(root)}
    assert {str(file.relative_to(root)): n for file, n in lengths.items() if n > LONGEST} == {}


def test_names_say_what_is_inside(root: Path) -> None:
    names = [path for path in (root / "src").rglob("*") if path.suffix == ".py" or path.is_dir()]
    assert [str(path.relative_to(root)) for path in names if path.stem in VAGUE] == []


def test_every_module_has_its_unit_test(root: Path) -> None:
    """src/framehub/mfp/codec.py has tests/unit/mfp/test_codec.py.

    What needs Spark may have tests/spark/test_*.py instead; the command line is tested from outside.
    """
    package = root / "src" / "framehub"
    missing = set()
    for file in package.rglob("*.py"):
        module = file.relative_to(package)
        if file.name in {"__init__.py", "__main__.py"} or module.parts[0] == "cli":
            continue
        tests = [root / "tests" / "unit" / module.with_name(f"test_{file.name}")]
        if module.parts[0] == "pipeline":
            tests.append(root / "tests" / "spark" / f"test_{file.name}")
        if not any(test.exists() for test in tests):
            missing.add(str(module))
    assert sorted(missing - EXCUSED) == []
    assert sorted(EXCUSED - missing) == [], "these have a test now: excuse them no longer"


def test_no_file_names_a_package_registry(root: Path, files: list[Path]) -> None:
    """Where packages come from is each machine's own setting."""
    found = []
    for file in files:
        text = file.read_text(errors="ignore")
        found += [f"{file.relative_to(root)}: {host}" for host in REGISTRY_HOSTS if host in text]
        if file.suffix in {".txt", ".in"} and INDEX_OPTIONS.search(text):
            found.append(f"{file.relative_to(root)}: an index option")
    assert found == []


def test_requirements_are_pinned(root: Path) -> None:
    """Every line is name==version, a comment, or a pip-tools "via"."""
    pinned = re.compile(r"^[A-Za-z0-9._-]+(\[[a-z,]+\])?==\S+( ;.*)?$")
    for file in [*(root / "requirements").glob("*.txt"), *(root / "benchmarks" / "peers").glob("*.txt")]:
        lines = [line for line in file.read_text().splitlines() if line and not line.lstrip().startswith("#")]
        assert lines
        assert [line for line in lines if not pinned.match(line)] == [], file.name
