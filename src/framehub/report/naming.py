"""What an exchange is called on the page: an endpoint, a function or a service, each in its own way.

    chat        an endpoint          chat()      a function
    chat #7     a hub service        (mfp ping)  a ping

In a table's column the name stands behind its protocol and a colon: ``mfp:chat``.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from framehub.report.tables import NAME_LIMIT, short

COLUMNS = ("protocol", "kind", "endpoint", "service")
"""What a name is made of."""
NO_NAME = "(no endpoint)"


def keys(table: pa.Table) -> pa.ChunkedArray:
    """Of each row, its protocol, a colon and its name."""
    protocol = pc.fill_null(table["protocol"], "")
    endpoint, number = table["endpoint"], pc.cast(table["service"], pa.string())
    called = pc.binary_join_element_wise(endpoint, "()", "")
    numbered = pc.coalesce(
        pc.binary_join_element_wise(endpoint, number, " #"),
        endpoint,
        pc.binary_join_element_wise("#", number, ""),
    )
    cases = pc.make_struct(
        pc.equal(pc.fill_null(table["kind"], ""), "ping"),
        pc.equal(protocol, "rpc"),
        pc.equal(protocol, "hub"),
    )
    ping = pc.binary_join_element_wise("(", protocol, " ping)", "")
    names = pc.fill_null(pc.case_when(cases, ping, called, numbered, endpoint), NO_NAME)
    return pc.binary_join_element_wise(protocol, names, ":")


def name_of(row: dict[str, Any]) -> str:
    """The name of one exchange."""
    table = pa.table({column: pa.array([row[column]], _TYPES.get(column, pa.string())) for column in COLUMNS})
    key: str = keys(table)[0].as_py()
    return shown(key)[1]


def shown(key: str) -> tuple[str, str]:
    """The protocol and the name, not too long, in a key."""
    protocol, _, name = key.partition(":")
    return protocol, short(name, NAME_LIMIT) or ""


_TYPES = {"service": pa.int32()}
