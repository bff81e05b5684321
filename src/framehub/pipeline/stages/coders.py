"""Bytes of the journal as values, by Spark expressions.

Of arguments and results of remote functions (spec/rpc.md, section 6) only coders whose bytes Spark can read
by itself: ``json``, ``envelope``, ``Int``, ``Long``, ``ULong``, ``Double``, ``String``. Of all others, and of
bytes that are not what their coder says, the value is null.

Spark may evaluate an expression before the condition that it stands behind: what two of them share, it
computes first. So nothing here fails, whatever the numbers and bytes are: wrong ones give some value or null.
"""

from collections.abc import Callable
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from framehub.journal.record import WHOLE

_FILE: Final = "struct<key:bigint,name:string,type:string,bytes:bigint>"


def payload() -> Column:
    """The payload's bytes; null unless all of it was recorded."""
    end = F.col("payload_at").cast("bigint") + F.col("payload_bytes")
    whole = F.col("recorded").isin(*WHOLE) & (F.octet_length("raw") >= end)
    return F.when(whole, cut("raw", F.col("payload_at"), F.col("payload_bytes")))


def cut(data: str, at: Column, size: Column) -> Column:
    """So many bytes of a column from this 0-based place; fewer, or none, where it has no more."""
    return F.substring(data, (at.cast("bigint") + 1).try_cast("int"), size.try_cast("int"))


def u32(at: Column) -> Column:
    """The big-endian number at this 0-based place of the frame."""
    return unsigned(cut("raw", at, F.lit(4)))


def places(count: Column, entry_bytes: int) -> Column:
    """The places 0, 1, 2, ... of so many entries, a power of two in size, as far as the frame has room."""
    room = F.shiftright(F.octet_length("raw"), entry_bytes.bit_length() - 1)
    # The least of a number and null is the number.
    within = F.when(count.isNotNull() & room.isNotNull(), F.greatest(F.lit(0), F.least(count, room)))
    # One more is made and cut off: a sequence down to -1 would have two.
    return F.slice(F.sequence(F.lit(0), within), F.lit(1), within)


def names() -> Column:
    """The ``filemap`` of ``_envelope`` as an array of structs; empty if there is none."""
    entries = F.try_variant_get("_envelope", "$.filemap", "array<variant>")
    named = F.transform(
        entries,
        lambda entry: F.struct(
            F.try_variant_get(entry, "$[0]", "bigint").alias("key"),
            F.try_variant_get(entry, "$[1]", "string").alias("name"),
            F.try_variant_get(entry, "$[2]", "string").alias("type"),
            F.lit(None).cast("bigint").alias("bytes"),
        ),
    )
    return F.coalesce(named, no_files())


def no_files() -> Column:
    """An empty array of files."""
    return F.array().cast(f"array<{_FILE}>")


def attached(table: Column, place: Column) -> Column:
    """The file in this place of the map: its key and size are there, four bytes each."""
    at = table.cast("bigint") + place * 8
    return file(u32(at), place, u32(at + 4))


def file(key: Column, place: Column, size: Column) -> Column:
    """One entry of ``files``, its name from ``_names``."""
    listed = F.col("_names")
    # The envelope names the files in the order of the map, nearly always: look there before searching.
    there = F.get(listed, place)
    named = F.when(there["key"] == key, there).otherwise(
        F.get(F.filter(listed, lambda entry: entry["key"] == key), F.lit(0))
    )
    return F.struct(
        key.alias("key"), named["name"].alias("name"), named["type"].alias("type"), size.alias("bytes")
    )


def strict_json(text: Column) -> Column:
    """A text that is one JSON value, as a variant; null if it is none.

    Spark's parser stops after the first value: it takes ``1 and more`` for 1. Inside an array it cannot, and
    the mark after the value shows that the array did not end too soon.
    """
    document = F.try_parse_json(F.concat(F.lit("["), text, F.lit(',"end"]')))
    marked = F.try_variant_get(document, "$[1]", "string") == "end"
    whole = marked & F.try_variant_get(document, "$[2]", "variant").isNull()
    return F.when(whole, F.try_variant_get(document, "$[0]", "variant"))


def value(payload: Column, coder: Column) -> Column:
    """What these bytes say by a coder of one value, as a variant."""
    found = F.lit(None).cast("variant")
    for name, (size, read) in _FIXED.items():
        fits = (coder == name) & (F.octet_length(payload) == size)
        found = F.when(fits, read(payload).cast("variant")).otherwise(found)
    return F.when(coder == "String", string(payload).cast("variant")).otherwise(found)


def string(payload: Column) -> Column:
    """``size:4 text``."""
    fits = unsigned(F.substring(payload, 1, 4)) == F.octet_length(payload) - 4
    text = F.try_validate_utf8(F.substring(payload, F.lit(5), F.octet_length(payload)).cast("string"))
    return F.when(fits, text)


def unsigned(payload: Column) -> Column:
    """Up to seven bytes, big-endian."""
    return F.conv(F.hex(payload), 16, 10).try_cast("bigint")


def _int(payload: Column) -> Column:
    number = unsigned(F.substring(payload, 1, 4))
    return F.when(number >= 1 << 31, number - (1 << 32)).otherwise(number).try_cast("int")


def _long(payload: Column) -> Column:
    return F.conv(F.hex(F.substring(payload, 1, 8)), 16, -10).try_cast("bigint")


def _ulong(payload: Column) -> Column:
    return F.conv(F.hex(F.substring(payload, 1, 8)), 16, 10).try_cast("decimal(20,0)")


def _double(payload: Column) -> Column:
    """Sign, eleven bits of exponent, 52 of fraction: every step is exact."""
    head = unsigned(F.substring(payload, 1, 2))
    sign = F.when(head >= 1 << 15, F.lit(-1.0)).otherwise(F.lit(1.0))
    exponent = F.shiftright(head, 4).bitwiseAND(0x7FF)
    fraction = unsigned(F.substring(payload, 2, 7)).bitwiseAND((1 << 52) - 1)
    share = fraction.cast("double") * F.lit(2.0**-52)
    special = F.when(fraction == 0, F.lit(float("inf"))).otherwise(F.lit(float("nan")))
    tiny = share * F.lit(2.0**-1022)
    usual = (F.lit(1.0) + share) * F.pow(F.lit(2.0), (exponent - 1023).cast("double"))
    return sign * F.when(exponent == 0x7FF, special).when(exponent == 0, tiny).otherwise(usual)


_FIXED: Final[dict[str, tuple[int, Callable[[Column], Column]]]] = {
    "Int": (4, _int),
    "Long": (8, _long),
    "ULong": (8, _ulong),
    "Double": (8, _double),
}
