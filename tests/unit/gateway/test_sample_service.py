"""The demo's service, its functions called as they are."""

from framehub.gateway import sample_service as sample


async def test_history_goes_back_day_by_day() -> None:
    assert [item async for item in sample.history("pear", 2)] == [
        {"item": "pear", "day": 0, "cents": 95},
        {"item": "pear", "day": -1, "cents": 94},
    ]


async def test_pondering_ends() -> None:
    assert await sample.ponder(0.0) == "it depends"
