"""Whether two sets of tables hold the same rows, and a Python that does not have framehub."""

import sys
from pathlib import Path
from typing import Any

import numpy
import pyarrow.dataset as ds

from framehub.pipeline.schemas import TABLES


def rows_of(snapshot: Path) -> dict[str, list[str]]:
    """The rows of every table, in an order that does not depend on how they were made."""
    tables: dict[str, list[str]] = {}
    for name in TABLES:
        source = ds.dataset(snapshot / name, format="parquet", partitioning="hive")
        columns = sorted(column for column in source.schema.names if column != "data")
        rows: list[dict[str, Any]] = source.to_table(columns=columns).to_pylist()
        tables[name] = sorted(map(repr, rows))
    return tables


def without_us(directory: Path) -> Path:
    """A program that is this Python with all our dependencies, but cannot import framehub.

    With ``-S`` nothing in site-packages is looked at for further paths, where an editable install puts us.
    """
    program = directory / "python-without-framehub"
    packages = Path(numpy.__file__).parent.parent
    program.write_text(f'#!/bin/sh\nPYTHONPATH={packages}:$PYTHONPATH exec {sys.executable} -S "$@"\n')
    program.chmod(0o755)
    return program
