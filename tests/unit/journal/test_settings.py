from typing import Any

import pytest

from framehub.errors import ConfigError
from framehub.journal.settings import WriterSettings


def test_a_block_holds_one_frame_and_a_mebibyte() -> None:
    assert WriterSettings().block_limit == 17 << 20


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("group_bytes", 0),
        ("gather_bytes", 0),
        ("segment_bytes", 0),
        ("backlog_bytes", -1),
        ("frame_limit", 0),
        ("frame_limit", 1 << 30),
        ("group_seconds", -0.1),
        ("group_seconds", 11),
        ("gather_seconds", 11),
        ("segment_seconds", 0),
        ("segment_seconds", float("nan")),
        ("overflow", "explode"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name(setting: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=setting):
        WriterSettings(**{setting: value})
