"""The worker of ``bench_remote``: the same work by row and by column, and a function of 2 ms."""

import asyncio
import time

import pyarrow as pa
import pyarrow.compute as pc

import framehub

SECONDS = 0.002

worker = framehub.Worker(processes=2)
waiting = framehub.Worker(threads=1)


@worker.function
def by_row(x: float) -> float:
    return x * x + 1.0


@worker.function(coders=("arrow", "arrow"))
def by_column(table: pa.Table) -> pa.Table:
    x = table.column(0)
    return pa.table({"y": pc.add(pc.multiply(x, x), 1.0)})


@worker.function
def busy(x: int) -> int:
    """2 ms, one call after another in each process."""
    time.sleep(SECONDS)
    return x


@waiting.function
async def served(x: int) -> int:
    """2 ms, any number of them at the same time."""
    await asyncio.sleep(SECONDS)
    return x


@waiting.function(coders=("arrow", "arrow"))
def served_columns(table: pa.Table) -> pa.Table:
    """2 ms, whatever number of rows."""
    time.sleep(SECONDS)
    return table.select([0])
