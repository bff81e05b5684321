"""What several tests of the hub take."""

import pytest


@pytest.fixture(params=[1, 2], ids=["V1", "V2"])
def client_version(request: pytest.FixtureRequest) -> int:
    version: int = request.param
    return version
