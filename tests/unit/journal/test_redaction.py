"""Fields of JSON that are written over: where they are, and that nothing else changes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framehub.errors import ConfigError
from framehub.journal.redaction import NotJson, in_envelope, in_value, parse, written_over


def redacted(data: bytes, *paths: str, strict: bool = False) -> bytes:
    return written_over(data, in_value(data, map(parse, paths), strict=strict))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("password", ("password",)),
        ("user.card", ("user", "card")),
        ("items[].secret", ("items", None, "secret")),
        ("[1]", (1,)),
        ("[][2].x", (None, 2, "x")),
        ("grid[0][]", ("grid", 0, None)),
        ("with space.größe", ("with space", "größe")),
        ("$names", ("filemap", None, 1)),
    ],
)
def test_paths(text: str, path: tuple[object, ...]) -> None:
    assert parse(text) == path


@pytest.mark.parametrize(
    "text", ["", ".", "a.", ".a", "a..b", "a[", "a]b", "a[x]", "a[-1]", "$other", "a.[1]"]
)
def test_what_is_no_path_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match="is no path to a field: want one like password"):
        parse(text)


@pytest.mark.parametrize(
    ("data", "paths", "after"),
    [
        (b'{"password":"hunter2"}', ["password"], b'{"password":"***"    }'),
        (b'{"a":"x","b":"","c":"xy"}', ["a", "b", "c"], b'{"a":"*","b":"","c":"**"}'),
        (b'{ "n" : -12.5e+3 , "m":1}', ["n"], b'{ "n" : 0        , "m":1}'),
        (b'{"t":true,"f":false,"z":null}', ["t", "f", "z"], b'{"t":null,"f":null ,"z":null}'),
        (b'{"o":{"a":[1,{}]},"l":["}"]}', ["o", "l"], b'{"o":{}          ,"l":[]   }'),
        (b'{"user":{"card":1234,"x":1}}', ["user.card"], b'{"user":{"card":0   ,"x":1}}'),
        (b'{"i":[{"s":"abcd"},{"t":1},{"s":7}]}', ["i[].s"], b'{"i":[{"s":"***" },{"t":1},{"s":0}]}'),
        (b'["anna","hunter2"]', ["[1]"], b'["anna","***"    ]'),
        (b'{"pass\\u0077ord":"a\\"b\\\\"}', ["password"], b'{"pass\\u0077ord":"***"   }'),
        (b'{"a":{"b":1},"a":{"b":2}}', ["a.b"], b'{"a":{"b":0},"a":{"b":0}}'),
        (b'{"other":"}{"}', ["password"], b'{"other":"}{"}'),
        (b"[]", ["[0]"], b"[]"),
        (b'{"a":[]}', ["a[].b"], b'{"a":[]}'),
        (b'"text"', ["password"], b'"text"'),
        (b'{"a":1}', ["a.b", "a[]"], b'{"a":1}'),
    ],
)
def test_fields_are_written_over_in_their_place(data: bytes, paths: list[str], after: bytes) -> None:
    assert redacted(data, *paths) == after


@pytest.mark.parametrize("data", [b'["anna","hunter2"]', b'"hunter2"', b" 12 ", b"true"])
def test_where_no_object_is_all_of_it_is_meant(data: bytes) -> None:
    """Arguments of a function stand in a list, or alone."""
    after = redacted(data, "password", strict=True)
    assert b"hunter2" not in after
    assert len(after) == len(data)
    assert json.loads(after) in ([], "***", 0, None)
    assert redacted(data, "[7]", strict=True) == data


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b'{"a"', b'{"a" 1}', b'{"a":}', b'{"a":1 "b":2}', b'{"a":1', b"[1", b"[1 2]", b"{1:2}",
     b"\xff", b'{"a":1}x', b'{"\\uZZZZ":1}', b'{"password":"x}'],
)  # fmt: skip
def test_what_is_no_json_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(NotJson):
        in_value(data, [("password",), (None, "x")], strict=False)


def test_an_envelope_is_looked_into_where_people_write() -> None:
    data = (
        b'{"endpoint":"secret","data":{"secret":"abc","x":1},"error":{"code":"busy","message":"abc"},'
        b'"filemap":[[0,"abc.png","image/png"]]}'
    )
    after = written_over(
        data, in_envelope(data, [parse("secret"), parse("code"), parse("$names")], strict=True)
    )
    assert len(after) == len(data)
    assert json.loads(after) == {
        "endpoint": "secret",
        "data": {"secret": "***", "x": 1},
        "error": {"code": "busy", "message": "***"},
        "filemap": [[0, "***", "image/png"]],
    }
    assert b"abc.png" in written_over(data, in_envelope(data, [parse("secret")], strict=True))
    plain = b'{"endpoint":"e","error":"wrong password abc"}'
    assert b"abc" not in written_over(plain, in_envelope(plain, [parse("secret")], strict=False))
    with pytest.raises(NotJson):
        in_envelope(b"[1]", [parse("secret")], strict=True)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from("abc{") | st.text(), inner, max_size=4)
    ),
    max_leaves=20,
)  # fmt: skip


def without(value: Any, path: tuple[Any, ...]) -> Any:
    """The value with what the path names gone."""
    if not path:
        return "gone"
    if isinstance(value, dict):
        return {k: without(v, path[1:]) if k == path[0] else v for k, v in value.items()}
    if isinstance(value, list):
        return [without(v, path[1:]) if path[0] in (None, n) else v for n, v in enumerate(value)]
    return value


@given(values, st.sampled_from(["a", "a.b", "b[].a", "[0]", "[].a", "c[1]"]), st.sampled_from([None, 1]))
def test_only_what_is_named_changes(value: Any, text: str, indent: int | None) -> None:
    data = json.dumps(value, indent=indent, ensure_ascii=indent is None).encode()
    after = redacted(data, text)
    assert len(after) == len(data)
    path = parse(text)
    assert without(json.loads(after), path) == without(value, path)
