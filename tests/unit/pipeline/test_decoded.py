import numpy as np

from framehub.pipeline.decoded import LAWFUL, UNLAWFUL, VERDICTS, verdicts


def test_what_is_not_lawful_is_unlawful() -> None:
    assert verdicts(np.array([True, False])).tolist() == [LAWFUL, UNLAWFUL]
    assert [VERDICTS[verdict] for verdict in (LAWFUL, UNLAWFUL)] == ["lawful", "unlawful"]
