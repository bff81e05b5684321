import pyarrow as pa
import pytest

from framehub.report import naming


@pytest.mark.parametrize(
    ("protocol", "kind", "endpoint", "service", "name"),
    [
        ("mfp", "request", "chat", None, "chat"),
        ("mfp", "message", None, None, "(no endpoint)"),
        ("mfp", "ping", None, None, "(mfp ping)"),
        ("mfp", None, None, None, "(no endpoint)"),
        ("rpc", "query", "add", None, "add()"),
        ("rpc", "query", None, None, "(no endpoint)"),
        ("hub", "stream", "clock", 7, "clock #7"),
        ("hub", "stream", None, 7, "#7"),
        ("hub", "stream", "clock", None, "clock"),
        ("hub", "ping", None, None, "(hub ping)"),
        ("hub", None, None, None, "(no endpoint)"),
    ],
)
def test_each_protocol_has_its_way(
    protocol: str, kind: str | None, endpoint: str | None, service: int | None, name: str
) -> None:
    row = {"protocol": protocol, "kind": kind, "endpoint": endpoint, "service": service}
    assert naming.name_of(row) == name
    table = pa.Table.from_pylist(
        [row], pa.schema([(n, pa.int32() if n == "service" else pa.string()) for n in naming.COLUMNS])
    )
    assert naming.keys(table).to_pylist() == [f"{protocol}:{name}"]


def test_a_name_may_have_colons_but_not_any_length() -> None:
    assert naming.shown("mfp:a:b") == ("mfp", "a:b")
    assert len(naming.shown("mfp:" + "x" * 5000)[1]) == 121
