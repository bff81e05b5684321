import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from framehub.report.histogram import BUCKETS, Histogram, coarse_edge, coarser


def test_nothing_has_no_quantile() -> None:
    assert Histogram().quantile(0.5) is None


@given(st.lists(st.integers(0, 10**12), min_size=1), st.sampled_from([0.05, 0.5, 0.95, 0.99, 1.0]))
def test_a_quantile_is_never_too_small_and_at_most_a_bucket_too_big(waits: list[int], share: float) -> None:
    histogram = Histogram()
    histogram.add(np.array(waits))
    exact = sorted(waits)[max(0, int(np.ceil(share * len(waits))) - 1)]
    told = histogram.quantile(share)
    assert told is not None
    assert exact <= max(told, 1)
    assert told <= max(waits)
    if 1 <= exact <= 10**9:
        assert told <= exact * 1.13


@given(st.lists(st.integers(0, 10**10)), st.integers(0, 20))
def test_the_order_and_the_batches_do_not_matter(waits: list[int], cut: int) -> None:
    whole, parts = Histogram(), Histogram()
    whole.add(np.array(waits, dtype=np.int64))
    for some in (waits[cut:], waits[:cut]):
        parts.add(np.array(some, dtype=np.int64))
    assert np.array_equal(whole.counts, parts.counts)
    assert (whole.total, whole.longest) == (len(waits), parts.longest)


@given(st.lists(st.integers(0, 10**10)), st.sampled_from([1, 2, 4, 5, 10, 20]))
def test_wide_buckets_hold_what_their_edges_say(waits: list[int], per_decade: int) -> None:
    histogram = Histogram()
    histogram.add(np.array(waits, dtype=np.int64))
    wide = coarser(histogram.counts, per_decade)
    assert wide.sum() == len(waits)
    for bucket in range(len(wide) - 1):
        edge = coarse_edge(bucket, per_decade)
        assert wide[: bucket + 1].sum() == sum(wait <= edge for wait in waits)


def test_many_histograms_are_made_coarser_at_once() -> None:
    counts = np.arange(3 * BUCKETS).reshape(3, BUCKETS)
    assert [coarser(row, 5).tolist() for row in counts] == coarser(counts, 5).tolist()
