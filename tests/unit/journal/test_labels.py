import numpy as np

from framehub.journal import labels as module
from framehub.journal.brief import CONSTANT, LABEL
from framehub.journal.labels import LONG_TEXT, NOT_BRIEF, TEXT_BYTES, TEXT_LIMIT, Labels

ONE = CONSTANT.pack(b"linklink", 0, 1, 0, 2, 7, -1, -1, -1, 0, 0)
OTHER = CONSTANT.pack(b"otherone", 2, 1, 1, 3, 0, 4, 5, 6, 17, 18)


def test_a_label_has_one_number_and_says_what_it_was_made_of() -> None:
    labels = Labels()
    first = labels.number(ONE, "a", None, None)
    second = labels.number(OTHER, "b", "busy", "json")
    assert labels.number(ONE, "a", None, None) == first != second
    assert (
        len({first, second, labels.number(ONE, "a", "busy", None), labels.number(OTHER, "a", None, None)})
        == 4
    )
    told = labels.of(np.array([second, first, second]))
    assert tuple(told) == LABEL.names
    assert told["link"].tolist() == [b"otherone", b"linklink", b"otherone"]
    assert told["user"].tolist() == [0, 7, 0]
    assert (told["ref"][0], told["payload_at"][0], told["query_at"][0]) == (6, 17, 18)
    assert [labels.texts[code] for code in told["endpoint"]] == [b"b", b"a", b"b"]
    assert [labels.texts[code] for code in told["coder"]] == [b"json", b"", b"json"]


def test_labels_of_many_rows_of_one_kind_and_of_none() -> None:
    labels = Labels()
    number = labels.number(ONE, "a", None, None)
    told = labels.of(np.full(5, number))
    assert told["link"].tolist() == [b"linklink"] * 5
    assert labels.of(np.zeros(0, dtype=np.uint32))["user"].tolist() == []


def test_a_text_is_kept_once_and_clipped_if_it_is_too_long() -> None:
    labels = Labels()
    long = "x" * (LONG_TEXT + 1)
    assert labels.code(None) == 0
    assert labels.code("a") == labels.code("a")
    assert len(labels.texts[labels.code(long)]) == TEXT_LIMIT
    assert labels.texts[labels.code("\ud800")] == b"\\ud800"


def test_enough_texts_or_labels_are_enough() -> None:
    texts = Labels()
    texts.number(ONE, "x" * (TEXT_BYTES // 2), None, None)
    assert not texts.is_full
    for number in range(9):
        texts.code(str(number) * LONG_TEXT)
    assert texts.is_full
    many = Labels()
    for number in range(module.MOST):
        assert not many.is_full
        many.number(NOT_BRIEF[:-2] + number.to_bytes(2, "big"), None, None, None)
    assert many.is_full
