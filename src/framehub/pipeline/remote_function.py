"""``remote``: a remote function as a column function.

    square = remote("square", "tcp://127.0.0.1:7402")
    spark.range(10).select(square("id"))

What the function takes and gives is asked once, here on the driver; so a wrong name, a proxy that is not
there and a wrong number of columns are told where they were written. Rows are called by the tasks
(``remote_task``).
"""

import difflib
import os
import secrets
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.functions import arrow_udf

from framehub.errors import (
    ConfigError,
    ConnectFailed,
    FramehubError,
    PipelineError,
    RemoteCallError,
    UnsupportedFunctionName,
)
from framehub.pipeline.remote_arguments import Parameter, arrow_type
from framehub.pipeline.remote_results import check_result
from framehub.pipeline.remote_task import ERROR, RESULT, OnError, Plan, run
from framehub.pipeline.remote_types import result_type
from framehub.rpc import words
from framehub.rpc.binary_coders import BinaryCoder, Tuple
from framehub.rpc.coders import coder
from framehub.rpc.groups import KEY_BYTES, MOST, head
from framehub.runtime.curve import CurveClient
from framehub.runtime.functions import DEFAULT_CLIENTS, Functions
from framehub.runtime.rpc_bulk import BulkCalls

ASK_TIMEOUT: Final = 15.0
"""Seconds to learn about a function: a proxy that has just started waits some for its worker."""
_REACH: Final = 5.0
_BYTES: Final = {"type": "string", "contentEncoding": "base64"}


def remote(
    name: str,
    proxy: str | None = None,
    *,
    returns: T.DataType | str | None = None,
    window: int = 256,
    timeout: float = 300.0,
    retries: int = 0,
    on_error: OnError = "fail",
    limit: int | None = None,
    curve: CurveClient | None = None,
) -> "RemoteFunction":
    """A function that workers offer, for columns.

    Args:
        name: the function's name.
        proxy: where its proxy listens for clients; else ``FRAMEHUB_CLIENTS``, else tcp://127.0.0.1:7402.
            Executors connect there too.
        returns: the Spark type of its results, where the function does not say or another is wanted.
        window: calls that one task has under way at most; fewer where answers take long.
        timeout: seconds that one call may take, its waiting for a worker included.
        retries: how often a call that failed is tried again.
        on_error: what a row that failed does: "fail" ends the job, "null" gives null, "column" makes the
            result a struct of ``result`` and ``error``.
        limit: calls of all tasks that may run at a time; the proxy sees to it.
        curve: keys, where the proxy wants some. They travel to the executors.

    Raises:
        PipelineError: there is no such function, its proxy is not there, it takes or gives what is no
            column, or an option cannot be.
    """
    _check_options(window, timeout, retries, on_error, limit)
    address = proxy or os.environ.get("FRAMEHUB_CLIENTS") or DEFAULT_CLIENTS
    described = _describe(name, address, curve)
    type_ = _parsed(name, returns) if returns is not None else None
    if type_ is None or described["argument"] == "envelope" or described["result"] == "envelope":
        known = described["argument"] if described["argument"] == "envelope" else described["result"]
        type_ = result_type(name, known, described.get("result_schema"))
    check_result(name, type_, described["result"], described.get("result_schema"))
    if (described["argument"] == "arrow") != (described["result"] == "arrow"):
        raise PipelineError(f"{name}: it has the coder arrow one way only; columns need it both ways")
    return RemoteFunction(
        address,
        described,
        type_,
        window=window,
        timeout=timeout,
        retries=retries,
        on_error=on_error,
        limit=limit or 0,
        curve=curve,
    )


class RemoteFunction:
    """Made by ``remote``. Call it with columns, or ``register`` it for SQL."""

    def __init__(
        self,
        address: str,
        described: Mapping[str, Any],
        type_: T.DataType,
        *,
        on_error: OnError,
        **options: Any,
    ) -> None:
        self.name: str = described["name"]
        self.address = address
        self.result_type = type_
        """What one call gives, as a Spark type."""
        self.__doc__ = described.get("doc") or None
        self._described = described
        self._on_error: OnError = on_error
        self._options = options
        self._key = secrets.token_bytes(KEY_BYTES)
        self._parameters = _parameters(described)

    @property
    def type(self) -> T.DataType:
        """The type of its column: that of a result, or a struct of result and error."""
        if self._on_error != "column":
            return self.result_type
        return T.StructType([T.StructField(RESULT, self.result_type), T.StructField(ERROR, T.StringType())])

    def __call__(self, *columns: Column | str, **named: Column | str) -> Column:
        """The column of its results; columns are given as in a call of the function.

        Raises:
            PipelineError: the function does not take such columns.
        """
        taken, given = self._bound(columns, named)
        for parameter, column in zip(taken, given, strict=True):
            if (known := _type_of(column)) is not None:
                parameter.check_spark(self.name, known)
        plan = self._plan(tuple(taken), by_name=bool(named))
        made: Column = self._udf(plan)(*(given or [F.lit(0)]))
        return made

    def register(self, spark: SparkSession, name: str | None = None) -> None:
        """Make it a function of SQL in this session, under its own name or another."""
        taken = self._parameters
        if self._described["argument"] == "arrow":
            raise PipelineError(f"{self.name}: SQL gives columns no names; call it from Python")
        if taken is None:
            raise PipelineError(f"{self.name}: its worker does not say what it takes; call it from Python")
        spark.udf.register(name or self.name, self._udf(self._plan(taken, by_name=False)))

    def end(self) -> None:
        """Stop what is still running for it, and have the proxy forget the results that it keeps.

        Columns that were made before cannot be worked out any more; new ones can.

        Raises:
            ConnectFailed: the proxy is not there.
        """
        with BulkCalls(
            self.address, self.name.encode(), ids=lambda *_: b"", curve=self._options["curve"]
        ) as calls:
            calls.reach(_REACH)
            calls.tell(words.CANCEL, head(self._key, self._options["limit"]))
        self._key = secrets.token_bytes(KEY_BYTES)

    def __repr__(self) -> str:
        return f"remote({self.name!r}, {self.address!r}) -> {self.type.simpleString()}"

    # --- inside ----------------------------------------------------------------------------------------

    def _plan(self, columns: tuple[Parameter, ...], *, by_name: bool) -> Plan:
        context = SparkContext._active_spark_context
        return Plan(
            name=self.name,
            address=self.address,
            argument=self._described["argument"],
            result=self._described["result"],
            parameters=self._described.get("parameters"),
            columns=columns,
            by_name=by_name,
            type=arrow_type(self.result_type),
            key=self._key,
            run=context.applicationId if context is not None else "",
            on_error=self._on_error,
            **self._options,
        )

    def _udf(self, plan: Plan) -> Any:
        def calls(batches: Iterator[Any]) -> Iterator[Any]:
            try:
                yield from run(plan, batches)
            except FramehubError as exc:
                raise exc.with_traceback(None) from None  # where in here it was raised helps nobody

        calls.__name__ = self.name
        # By this Spark knows that it is given all batches of a partition, one by one.
        given = Iterator[tuple[pa.Array, ...]] if len(plan.columns) > 1 else Iterator[pa.Array]
        calls.__annotations__ = {"batches": given, "return": Iterator[pa.Array]}
        made: Any = arrow_udf(calls, self.type)  # type: ignore[call-overload]
        # Else Spark may work it out twice, before a filter and after it.
        return made.asNondeterministic()

    def _bound(
        self, columns: tuple[Column | str, ...], named: Mapping[str, Column | str]
    ) -> tuple[list[Parameter], list[Column]]:
        """Which parameter each column is for, and the columns."""
        if self._described["argument"] == "arrow":
            return _columns_of_table(self.name, columns, named)
        if self._parameters is None:
            if columns and named:
                raise PipelineError(f"{self.name}: give all columns by position, or all by name")
            names = [f"column {place}" for place in range(1, len(columns) + 1)] + list(named)
            taken = [Parameter(name=each, coder=self._described["argument"]) for each in names]
            return taken, [_column(each) for each in (*columns, *named.values())]
        by_name = dict(zip((each.name for each in self._parameters), columns, strict=False))
        if len(columns) > len(self._parameters):
            raise PipelineError(f"{self._signature} takes no {len(columns)} columns")
        for own in named:
            if own in by_name:
                raise PipelineError(f"{self._signature}: {own} is given twice")
            if all(own != each.name for each in self._parameters):
                raise PipelineError(f"{self._signature} has no parameter {own}")
        by_name |= named
        required = (self._described.get("parameters") or {}).get(
            "required", [each.name for each in self._parameters]
        )
        missing = [
            each.name for each in self._parameters if each.name in required and each.name not in by_name
        ]
        if missing:
            raise PipelineError(f"{self._signature}: a column for {missing[0]} is missing")
        taken = [each for each in self._parameters if each.name in by_name]
        return taken, [_column(by_name[each.name]) for each in taken]

    @property
    def _signature(self) -> str:
        inside = ", ".join(
            each.name + (f": {' or '.join(sorted(each.kinds))}" if each.kinds else "")
            for each in self._parameters or ()
        )
        return f"{self.name}({inside})"


def _check_options(window: int, timeout: float, retries: int, on_error: str, limit: int | None) -> None:
    for what, value, least, most in (
        ("window", window, 1, 65_536),
        ("retries", retries, 0, 1_000),
        ("limit", limit, 1, MOST),
    ):
        if value is not None and (type(value) is not int or not least <= value <= most):
            raise PipelineError(f"{what} is a whole number from {least} to {most}, not {value!r}")
    if not isinstance(timeout, int | float) or not timeout > 0:
        raise PipelineError(f"timeout is a number of seconds above zero, not {timeout!r}")
    if on_error not in ("fail", "null", "column"):
        raise PipelineError(f"on_error is 'fail', 'null' or 'column', not {on_error!r}")


def _describe(name: str, address: str, curve: CurveClient | None) -> dict[str, Any]:
    try:
        with Functions.blocking(address, timeout=ASK_TIMEOUT, curve=curve) as functions:
            functions.reach(_REACH)
            try:
                return functions.describe(name)
            except UnsupportedFunctionName:
                offered = [each["name"] for each in functions.list()]
                raise PipelineError(_unknown(name, address, offered)) from None
    except (ConnectFailed, RemoteCallError, ConfigError) as exc:
        raise PipelineError(f"remote({name!r}): {exc}") from exc


def _unknown(name: str, address: str, offered: list[str]) -> str:
    if not offered:
        return f"remote({name!r}): no worker offers anything at {address}; `framehub worker` starts one"
    near = difflib.get_close_matches(name, offered, 1)
    told = f"did you mean {near[0]!r}?" if near else f"offered are {', '.join(offered[:10])}"
    return f"remote({name!r}): no worker offers it at {address}; {told}"


def _parsed(name: str, returns: T.DataType | str) -> T.DataType:
    if isinstance(returns, T.DataType):
        return returns
    try:
        return T.DataType.fromDDL(returns)
    except Exception as exc:  # Spark's parser, or that there is none yet
        told = str(exc).splitlines()[0]
        raise PipelineError(f"remote({name!r}): returns={returns!r} is no Spark type: {told}") from exc


def _parameters(described: Mapping[str, Any]) -> tuple[Parameter, ...] | None:
    """What the function takes, column by column; None if nobody says."""
    schema, identity = described.get("parameters"), described["argument"]
    if isinstance(schema, Mapping) and isinstance(schema.get("properties"), Mapping):
        defs = schema.get("$defs", {})
        return tuple(
            Parameter(name=name, coder=identity, schema=own, defs=defs)
            for name, own in schema["properties"].items()
        )
    own = coder(identity) if identity != "arrow" else None
    if isinstance(own, Tuple):
        return tuple(
            Parameter(name=f"_{place}", coder=identity, schema=item.schema)
            for place, item in enumerate(own.items, 1)
        )
    if isinstance(own, BinaryCoder):
        return (Parameter(name="_1", coder=identity, schema=own.schema),)
    return (Parameter(name="_1", coder=identity, schema=_BYTES),) if identity == "bytes" else None


def _columns_of_table(
    name: str, columns: tuple[Column | str, ...], named: Mapping[str, Column | str]
) -> tuple[list[Parameter], list[Column]]:
    """Columns for a function of tables: each has the name it is given by."""
    given = [(_name_of(each), each) for each in columns] + list(named.items())
    if not given:
        raise PipelineError(f"{name}: it takes a table: give at least one column")
    names = [own for own, _ in given]
    if twice := next((own for own in names if names.count(own) > 1), None):
        raise PipelineError(
            f"{name}: two columns are called {twice}: give one by another name, {twice}_2=..."
        )
    return [Parameter(name=own, coder="arrow") for own in names], [_column(each) for _, each in given]


def _name_of(column: Column | str) -> str:
    if isinstance(column, str):
        return column.rsplit(".", 1)[-1].strip("`")
    text = str(column).removeprefix("Column<'").removesuffix("'>")
    return text.rsplit(" AS ", 1)[-1].rsplit(".", 1)[-1].strip("`")


def _type_of(column: Column) -> T.DataType | None:
    """The type of a column that belongs to a DataFrame, as ``df["id"]`` does.

    What the name in ``F.col("id")`` will stand for, Spark does not know yet.
    """
    try:
        node: Any = getattr(column, "_jc").node()  # noqa: B009  (typed as a Column's column)
        if node.getClass().getSimpleName() != "ExpressionColumnNode" or not node.expression().resolved():
            return None
        return T._parse_datatype_json_string(node.expression().dataType().json())
    except (AttributeError, Py4JError, PySparkException):
        return None  # a Spark that is elsewhere, or a type that Python does not know: the first batch tells


def _column(column: Column | str) -> Column:
    return F.col(column) if isinstance(column, str) else column
