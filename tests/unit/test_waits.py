import numpy as np

from framehub.waits import DECADES, EDGES, PER_DECADE, buckets_of


def test_edges_rise_from_a_microsecond_to_a_quarter_of_an_hour() -> None:
    assert (EDGES[0], EDGES[PER_DECADE], EDGES[-1]) == (1.0, 10.0, 10.0**DECADES)
    steps = EDGES[1:] / EDGES[:-1]
    assert steps.min() > 1.12
    assert steps.max() < 1.125


def test_a_wait_is_in_the_first_bucket_whose_edge_it_does_not_pass() -> None:
    waits = np.array([-1, 0, 1, 2, 10, 11, 10**9, 10**9 + 1])
    found = buckets_of(waits)
    assert found.tolist()[:3] == [0, 0, 0]
    assert found[-1] == len(EDGES)
    for wait, bucket in zip(waits.tolist()[:-1], found.tolist()[:-1], strict=True):
        assert wait <= EDGES[bucket]
        assert bucket == 0 or wait > EDGES[bucket - 1]
