"""The tree as the architecture tests see it."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def files() -> list[Path]:
    """Every file that belongs to the project: no caches, environments or build output."""
    found = []
    for directory, names, files in os.walk(ROOT):
        names[:] = [name for name in names if not _is_made(Path(directory) / name)]
        found += [Path(directory) / file for file in files if not file.startswith(".coverage")]
    return found


def _is_made(directory: Path) -> bool:
    hidden = directory.name.startswith(".") and directory.name != ".ci"
    made = directory.name in {"__pycache__", "node_modules", "spark-warehouse", "metastore_db"}
    at_top = directory.parent == ROOT and directory.name in {"build", "dist", "out"}
    return hidden or made or at_top or directory.name.endswith(".egg-info")
