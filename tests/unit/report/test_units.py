import pytest

from framehub.report import units

NO_BREAK = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (None, ""),
        (0, "0 µs"),
        (31.623, "31.6 µs"),
        (999.6, "1,000 µs"),
        (1500, "1.5 ms"),
        (2e6, "2 s"),
        (100e6, "100 s"),
        (150e6, "2.5 min"),
        (7200e6, "2 h"),
        (3 * 86_400e6, "3 d"),
        (5000 * 86_400e6, "5,000 d"),
    ],
)
def test_durations_read_well(microseconds: float | None, text: str) -> None:
    assert units.duration(microseconds) == text.replace(" ", NO_BREAK)


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (None, ""),
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (12_345_678, "12.3 MB"),
        (5 * 10**15, "5,000 TB"),
    ],
)
def test_amounts_read_well(octets: int | None, text: str) -> None:
    assert units.amount(octets) == text.replace(" ", NO_BREAK)


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 0, "0 %"), (0, 9, "0 %"), (1, 3, "33.3 %"), (3, 3, "100 %"), (1, 10**6, "&lt; 0.01 %")],
)
def test_shares_are_never_nothing_unless_they_are(part: int, whole: int, text: str) -> None:
    assert units.share(part, whole) == text.replace(" ", NO_BREAK)


def test_moments_are_cut() -> None:
    assert units.moment(None) == ""
    assert units.moment("2026-03-01T12:00:00.123456+00:00") == "2026-03-01 12:00:00"
    assert units.moment("2026-03-01T12:00:00.123456+00:00", fine=True) == "2026-03-01 12:00:00.123"
    assert units.moment("2026-03-01T12:00:00+00:00", fine=True) == "2026-03-01 12:00:00.000"


def test_counts_have_their_thousands_apart() -> None:
    assert units.number(1234567) == "1,234,567"
