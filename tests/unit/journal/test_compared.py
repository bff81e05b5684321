"""Counting what compares, and how."""

from framehub.journal.answers import of_failure
from framehub.journal.compared import Count, Tally

YES, NO = of_failure("taken"), of_failure("aborted")


def test_every_exchange_is_counted_once() -> None:
    tally = Tally(keep=1)
    tally.of("a").sent += 3
    tally.of("b").sent += 2
    tally.compare(b"\1", "a", YES, YES)
    tally.compare(b"\2", "a", YES, NO)
    tally.compare(b"\3", "a", None, NO)
    tally.compare(b"\4", "b", NO, YES)
    tally.compare(b"\5", "b", YES, None)
    assert tally.counts == {"a": Count(3, 1, 1, 1), "b": Count(2, 0, 1, 1)}
    assert tally.total == Count(5, 1, 2, 2)
    assert [(one.exchange, one.name, one.was, one.now) for one in tally.differences] == [("02", "a", YES, NO)]
