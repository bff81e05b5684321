import pytest

from framehub.errors import ConfigError, DecodingError, EncodingError
from framehub.rpc.coders import coder, named


@pytest.mark.parametrize(
    ("written", "identity"),
    [
        ("Int", "Int"),
        (" Int ", "Int"),
        ("Pair<Int,List<String>>", "Pair<Int, List<String>>"),
        (
            " Triple < Long , ULong,Pair<Double, Int> > ",
            "Triple<Long, ULong, Pair<Double, Int>>",
        ),
        ("List<" * 15 + "Int" + ">" * 15, "List<" * 15 + "Int" + ">" * 15),
        ("json", "json"),
        (" msgpack", "msgpack"),
        ("bytes", "bytes"),
        ("arrow", "arrow"),
        ("envelope", "envelope"),
    ],
)
def test_identities_have_one_form(written: str, identity: str) -> None:
    """[RPC-6.1]"""
    assert coder(written).identity == identity


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("", "'' is not known; known are Int, Long"),
        ("int", "'int' is not known"),
        ("Pair<Int, Foo>", "'Foo' is not known"),
        ("Pair<Int>", "expected ',', got '>'"),
        ("Pair", "expected '<', got 'its end'"),
        ("Triple<Int, Int>", "expected ',', got '>'"),
        ("List<Int, Int>", "expected '>', got ','"),
        ("List<Int", "expected '>', got 'its end'"),
        ("List<", "'' is not known"),
        ("Int>", "'>' is too much"),
        ("Int Int", "'Int' is too much"),
        ("List<json>", "json cannot stand inside or beside others"),
        ("json<Int>", "json cannot stand inside or beside others"),
        ("List<\ud800>", "is not known"),
        ("List<" * 16 + "Int" + ">" * 16, "nested deeper than 16 levels"),
        ("é" * 128, "at most 255 bytes"),
    ],
)
def test_others_are_refused(written: str, why: str) -> None:
    """[RPC-6.1] [RPC-6.16]"""
    with pytest.raises(ConfigError) as caught:
        coder(written)
    assert why in str(caught.value)


def test_errors_get_the_name_of_their_function() -> None:
    with pytest.raises(EncodingError) as caught:
        coder("Int").encode("a")
    error = named(caught.value, "square")
    assert isinstance(error, EncodingError)
    assert (error.function, error.message) == ("square", caught.value.message)
    assert str(error).startswith("square: expected an integer")
    assert str(named(DecodingError("", "cut short"), "f")) == "f: cut short"
