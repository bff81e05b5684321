"""Stage: what was sent to one endpoint or function, as typed columns.

journal (``record.ROW_SCHEMA``) -> the schema's columns, then who sent it and when.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructField, StructType

from framehub.errors import PipelineError
from framehub.pipeline.stages.messages import messages

ABOUT: Final = ("time", "user", "kind", "direction", "link", "exchange", "node", "seq")
"""What is told about each row beside its data."""

_SENT: Final = ("message", "request", "query", "first", "last")


def endpoint(
    journal: DataFrame, name: str, schema: str | DataType, *, kinds: tuple[str, ...] | None = None
) -> DataFrame:
    """What was sent to an endpoint, a function or a service of the hub, as typed columns.

    Each field of the schema becomes a column, filled from the field of that name in the data; a value that is
    missing or does not fit its type is null. Of a call with its arguments in order, the first field takes the
    first argument, and so on. A schema that is no struct (``"string"``) gives one column
    ``value``. Then come the columns of ``ABOUT``; one whose name the schema takes is called ``frame_<name>``.

    Args:
        journal: what ``read_journal`` gives.
        name: the endpoint's, the function's or the service's name.
        schema: the fields and their types, as Spark writes them: ``"text string, room string"``.
        kinds: what to take, by default all that was sent: ``message``, ``request``, ``response``; of
            functions ``query``, ``result``; of the hub, in both directions, ``first``, ``message``, ``last``.

    Raises:
        PipelineError: the schema cannot be read.
    """
    fields = _fields(schema)
    wanted = F.col("kind").isin(*kinds) if kinds is not None else _sent()
    sent = _readable(messages(journal.where(F.col("endpoint") == name)).where(wanted))
    taken = {field.name.casefold() for field, _ in fields}
    about = [F.col(column).alias(f"frame_{column}" if column in taken else column) for column in ABOUT]
    return sent.select(*[value.alias(field.name) for field, value in fields], *about)


def _readable(rows: DataFrame) -> DataFrame:
    """Those whose data could be read.

    A filter alone Spark would take down to the journal's rows, with all that ``readable`` is made of as often
    as it is named: more code than Java has room for in a method. It takes none past an ``explode``.
    """
    marked = rows.withColumn("_readable", F.explode_outer(F.array("readable")))
    return marked.where(F.col("_readable"))


def _sent() -> Column:
    """Of the hub, answers have the kinds of what was sent."""
    return F.col("kind").isin(*_SENT) & ((F.col("protocol") != "hub") | (F.col("direction") == "in"))


def _fields(schema: str | DataType) -> list[tuple[StructField, Column]]:
    kind = _parse(schema) if isinstance(schema, str) else schema
    if not isinstance(kind, StructType):
        return [(StructField("value", kind), _value("$", kind))]
    return [(field, _argument(place, field)) for place, field in enumerate(kind)]


def _argument(place: int, field: StructField) -> Column:
    in_order = F.when(F.col("kind") == "query", _value(f"$[{place}]", field.dataType))
    return F.coalesce(_value(_path(field.name), field.dataType), in_order)


def _parse(schema: str) -> DataType:
    try:
        return DataType.fromDDL(schema)
    except Exception as exc:
        reason = str(exc).strip().partition("\n")[0]
        raise PipelineError(f"schema {schema!r} cannot be read: {reason}") from exc


def _value(path: str, kind: DataType) -> Column:
    return F.try_variant_get("data", path, kind.simpleString())


def _path(name: str) -> str:
    for quote in ("'", '"'):
        if quote not in name:
            return f"$[{quote}{name}{quote}]"
    raise PipelineError(f"field {name!r}: a name with both kinds of quotes cannot be looked up")
