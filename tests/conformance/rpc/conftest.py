"""One test per case of the files in spec/vectors/rpc, and the rules of spec/rpc.md."""

import re
from typing import Any

import pytest

from tests.conformance.rpc import vectors


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes ``dialog_case`` once for every dialog, and so on."""
    for fixture, kind in vectors.KINDS.items():
        if fixture in metafunc.fixturenames:
            files: list[Any] = [file for file in vectors.load().values() if type(file) is kind]
            cases = [case for file in files for case in file.cases]
            metafunc.parametrize(fixture, cases, ids=[case.name for case in cases])


@pytest.fixture(scope="session")
def vector_files() -> dict[str, vectors.AnyFile]:
    return vectors.load()


@pytest.fixture(scope="session")
def spec_text() -> str:
    return (vectors.ROOT / "spec" / "rpc.md").read_text()


@pytest.fixture(scope="session")
def rules(spec_text: str) -> list[str]:
    """Every rule of the spec, in its order."""
    return re.findall(r"^- \[(RPC-[\d.]+)\]", spec_text, re.MULTILINE)
