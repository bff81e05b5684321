"""Types as bytes."""

from framehub.codes import Message
from framehub.rpc import words


def test_every_type_is_there_under_its_name() -> None:
    assert {type_.name: getattr(words, type_.name) for type_ in Message} == {
        type_.name: type_.value.encode() for type_ in Message
    }


def test_reasons_of_returned_queries() -> None:
    assert (words.DIED, words.UNSTARTED) == (b"died", b"unstarted")
