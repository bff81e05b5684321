"""A remote function's part in one task: batches of columns in, batches of results out, in order.

This is what runs on executors. One client for the partition, a window of calls under way, and names for the
calls that a second try of the same task gives too (spec/rpc.md, section 3.5).
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa
from pyspark import TaskContext

from framehub.errors import DecodingError, EncodingError, PipelineError
from framehub.pipeline.remote_arguments import Parameter, argument_converter
from framehub.pipeline.remote_results import one_column, result_converter
from framehub.rpc.arrow_coder import ArrowCoder
from framehub.rpc.calling import Calling
from framehub.rpc.groups import OWN_BYTES, head
from framehub.runtime.curve import CurveClient
from framehub.runtime.rpc_bulk import Batch, BulkCalls, Failure, Ids, Outcome
from framehub.runtime.zmq_setup import LARGEST_MESSAGE

OnError: TypeAlias = Literal["fail", "null", "column"]
RESULT, ERROR = "result", "error"
"""The fields of a result with ``on_error="column"``."""
_PIECE: Final = LARGEST_MESSAGE // 2
"""Bytes of columns in one call, about: an answer may be larger than its question."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that a task has to know, made on the driver."""

    name: str
    address: str
    argument: str
    result: str
    parameters: Mapping[str, Any] | None
    columns: tuple[Parameter, ...]
    by_name: bool
    type: Any
    """The Arrow type of a result."""
    key: bytes
    run: str
    """The Spark application that this belongs to."""
    limit: int
    window: int
    timeout: float
    retries: int
    on_error: OnError
    curve: CurveClient | None


def run(plan: Plan, batches: Iterable[Any]) -> Iterator[Any]:
    """The results of one partition."""
    context = TaskContext.get()
    partition = stage = before = 0
    if context is not None:
        partition, stage, before = context.partitionId(), context.stageId(), context.attemptNumber()
    work = _Columns(plan) if plan.argument == "arrow" else _Rows(plan)
    with BulkCalls(
        plan.address,
        plan.name.encode(),
        ids=ids_of(plan, stage, partition),
        window=plan.window,
        timeout=plan.timeout,
        retries=plan.retries,
        before=before,
        curve=plan.curve,
    ) as calls:
        first = ahead = 0
        under_way: deque[tuple[int, int, Batch, Any]] = deque()
        for batch in _arriving(plan, batches):
            arrays = batch if isinstance(batch, tuple) else (batch,)
            rows = len(arrays[0])
            arguments, about = work.arguments(arrays)
            under_way.append((first, rows, calls.submit(arguments, first=first), about))
            first += rows
            ahead += rows
            while ahead - under_way[0][1] >= plan.window:  # enough follows to keep the window full
                done = under_way.popleft()
                ahead -= done[1]
                yield _finished(plan, work, partition, *done)
        while under_way:
            yield _finished(plan, work, partition, *under_way.popleft())


def _arriving(plan: Plan, batches: Iterable[Any]) -> Iterator[Any]:
    try:
        yield from batches
    except KeyError:  # so pyarrow says that Python has nothing for a type of Arrow's
        names = ", ".join(column.name for column in plan.columns)
        raise PipelineError(
            f"{plan.name}: {names}: a column has a type that Arrow has not in Python,"
            " such as interval year to month: cast it to string"
        ) from None


def ids_of(plan: Plan, stage: int, partition: int) -> Ids:
    """Names of calls: the same for the same row and argument in every try of this task.

    A stage that runs anew (another action, the next batch of a stream) has another number.
    """
    begins = head(plan.key, plan.limit)
    begun = blake2b(f"{plan.run} {stage} {partition} ".encode(), digest_size=OWN_BYTES)

    def id_(row: int, argument: bytes, attempt: int) -> bytes:
        hashed = begun.copy()
        hashed.update(b"%d %d " % (row, attempt))
        hashed.update(argument)
        return begins + hashed.digest()

    return id_


def _finished(
    plan: Plan, work: "_Rows | _Columns", partition: int, first: int, _: int, batch: Batch, about: Any
) -> Any:
    outcomes = batch.wait()
    values, errors = work.results(outcomes, about)
    if plan.on_error == "fail":
        for index, error in enumerate(errors):
            if error is not None:
                raise failure(plan.name, partition, first + index, error)
    if plan.on_error == "column":
        texts = pa.array(errors, pa.string())
        return pa.StructArray.from_arrays([values, texts], names=[RESULT, ERROR])
    return values


def failure(name: str, partition: int, row: int, text: str) -> PipelineError:
    """What a job fails with."""
    return PipelineError(
        f"{name} failed in partition {partition}, row {row}: {text}"
        " (on_error='null' gives null there, on_error='column' tells it beside the result)"
    )


class _Rows:
    """A call for each row."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._calling = Calling(plan.name, plan.argument, plan.result, plan.parameters)
        self._names = [column.name for column in plan.columns]
        self._checked = False
        self._converter = result_converter(plan.type)

    def arguments(self, arrays: Sequence[Any]) -> tuple[list[Outcome], None]:
        """The argument of each row; None where it has a null that the function does not take."""
        columns = self._plan.columns
        if not columns:
            nothing = self._calling.encode((), {})
            return [nothing] * len(arrays[0]), None
        if not self._checked:
            self._check(arrays)
        lists = [
            _plain(self._plan.name, column, array) for column, array in zip(columns, arrays, strict=True)
        ]
        strict = [place for place, column in enumerate(columns) if not column.takes_null]
        return [self._argument(values, strict) for values in zip(*lists, strict=True)], None

    def results(self, outcomes: Sequence[Outcome], _: None) -> tuple[Any, list[str | None]]:
        """An Arrow column, and why a row has no result."""
        errors: list[str | None] = [None] * len(outcomes)
        values: list[Any] = [None] * len(outcomes)
        convert = self._converter
        for index, outcome in enumerate(outcomes):
            if isinstance(outcome, Failure):
                errors[index] = outcome.text
            elif outcome is not None:
                try:
                    value = self._calling.decode(outcome)
                    values[index] = convert(value)
                except DecodingError as exc:
                    errors[index] = exc.message
                except (ValueError, TypeError, ArithmeticError) as exc:
                    errors[index] = f"its result is no {self._plan.type}: {exc}"
        try:
            return pa.array(values, self._plan.type), errors
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            return self._one_by_one(values, errors), errors

    def _one_by_one(self, values: list[Any], errors: list[str | None]) -> Any:
        """Some value does not fit: find out which."""
        for index, value in enumerate(values):
            try:
                pa.array([value], self._plan.type)
            except (pa.ArrowException, ValueError, TypeError, OverflowError) as exc:
                values[index] = None
                errors[index] = f"its result is no {self._plan.type}: {exc}"
        return pa.array(values, self._plan.type)

    def _argument(self, values: tuple[Any, ...], strict: list[int]) -> Outcome:
        for place in strict:
            if values[place] is None:
                return None
        try:
            if self._plan.by_name:
                return self._calling.encode((), dict(zip(self._names, values, strict=True)))
            return self._calling.encode(values, {})
        except EncodingError as exc:
            return Failure(exc.message)

    def _check(self, arrays: Sequence[Any]) -> None:
        """Whether the columns are of the types that the function takes; before anything is called."""
        self._checked = True
        for column, array in zip(self._plan.columns, arrays, strict=True):
            column.check(self._plan.name, array.type)


class _Columns:
    """A call for each batch, or for a few pieces of it if it is large."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._coder = ArrowCoder()
        self._names = [column.name for column in plan.columns]

    def arguments(self, arrays: Sequence[Any]) -> tuple[list[Outcome], list[int]]:
        """The pieces, and how many rows each has."""
        whole = pa.RecordBatch.from_arrays(list(arrays), names=self._names)
        rows = max(1, int(whole.num_rows * min(1.0, _PIECE / max(1, whole.nbytes))))
        pieces = [whole.slice(at, rows) for at in range(0, whole.num_rows, rows)]
        try:
            return [self._coder.encode(piece) for piece in pieces], [piece.num_rows for piece in pieces]
        except EncodingError as exc:
            raise PipelineError(f"{self._plan.name}: {exc.message}") from None

    def results(self, outcomes: Sequence[Outcome], sizes: list[int]) -> tuple[Any, list[str | None]]:
        """An Arrow column, and why rows have no result: those of one piece all for the same reason."""
        errors: list[str | None] = []
        parts = []
        for outcome, size in zip(outcomes, sizes, strict=True):
            found = self._read(outcome, size) if isinstance(outcome, bytes) else outcome
            if isinstance(found, Failure):
                errors += [found.text] * size
                parts.append(pa.nulls(size, self._plan.type))
            else:
                errors += [None] * size
                parts.append(found)
        whole = pa.concat_arrays(parts) if parts else pa.array([], self._plan.type)
        return whole, errors

    def _read(self, outcome: bytes, size: int) -> Any:
        try:
            table = self._coder.decode(outcome)
        except DecodingError as exc:
            return Failure(exc.message)
        if table.num_rows != size:
            return Failure(f"it was given {size} rows and gave {table.num_rows}")
        try:
            return one_column(table, self._plan.type)
        except (pa.ArrowException, ValueError, TypeError, KeyError) as exc:
            return Failure(f"its result is no {self._plan.type}: {exc}")


def _plain(name: str, column: Parameter, array: Any) -> list[Any]:
    """A column's values, as the function's coder takes them."""
    convert = argument_converter(array.type)
    try:
        values: list[Any] = array.to_pylist()
    except (ValueError, OverflowError) as exc:  # a year that Python does not have, a field that stands twice
        raise PipelineError(f"{name}: {column.name}: a value cannot be sent: {exc}") from None
    return values if convert is None else [convert(value) for value in values]
