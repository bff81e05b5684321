"""clients/typescript by its own tools: types, bundle, tests, real gateways."""

import pytest

from tests.clients.npm import npm

pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("packages")]


def test_the_types_are_right_and_the_bundle_is_small_and_fresh() -> None:
    assert " gzipped, at most " in npm("run", "check")


def test_its_own_tests_pass() -> None:
    """The vectors and conversations of spec/vectors among them."""
    assert "fail 0" in npm("test")


def test_it_gets_along_with_a_real_gateway() -> None:
    assert "fail 0" in npm("run", "interop")
