"""One test per case of the files in spec/vectors/hub, and the rules of spec/hub.md."""

import re
from typing import Any

import pytest

from tests.conformance.hub import vectors


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes ``hub_case`` once for every conversation, and so on."""
    for fixture, kind in vectors.KINDS.items():
        if fixture in metafunc.fixturenames:
            files: list[Any] = [file for file in vectors.load().values() if type(file) is kind]
            cases = [case for file in files for case in file.cases]
            metafunc.parametrize(fixture, cases, ids=[case.name for case in cases])


@pytest.fixture(scope="session")
def hub_files() -> dict[str, vectors.AnyFile]:
    return vectors.load()


@pytest.fixture(scope="session")
def hub_spec() -> str:
    return (vectors.ROOT / "spec" / "hub.md").read_text()


@pytest.fixture(scope="session")
def hub_rules(hub_spec: str) -> list[str]:
    """Every rule of the spec, in its order."""
    return re.findall(r"^- \[(HUB-[\d.]+)\]", hub_spec, re.MULTILINE)
