"""web/ by its own tools: types, freshness, tests of what is pure."""

import pytest

from tests.clients.npm import npm

pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("packages")]
WEB = ("--prefix", "../../web", "run", "--silent")


def test_the_types_are_right_and_the_page_is_fresh() -> None:
    assert "console.js: " in npm(*WEB, "check")


def test_its_own_tests_pass() -> None:
    assert "fail 0" in npm(*WEB, "test")
