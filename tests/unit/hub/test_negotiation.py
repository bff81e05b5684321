"""Which version of the hub's frames a client speaks."""

import pytest

from framehub.hub.headers import VERSIONS
from framehub.hub.negotiation import DEFAULT_VERSION, SUBPROTOCOLS, NoVersion, choose


def test_each_name_is_a_version() -> None:
    assert sorted(SUBPROTOCOLS.values()) == sorted(VERSIONS)
    assert max(VERSIONS) == DEFAULT_VERSION


@pytest.mark.parametrize(
    ("offered", "said", "taken"),
    [
        ([], [], (2, None)),
        ([], ["1"], (1, None)),
        ([], [" 2 "], (2, None)),
        ([], ["1", "1"], (1, None)),
        (["hub.v1"], [], (1, "hub.v1")),
        (["hub.v2"], [], (2, "hub.v2")),
        (["hub.v9", "hub.v1", "hub.v2"], [], (1, "hub.v1")),
        (["hub.v1", "hub.v2"], ["2"], (2, "hub.v2")),
        (["hub.v1"], ["1"], (1, "hub.v1")),
    ],
)
def test_a_version_is_said_in_a_header_or_a_subprotocol(
    offered: list[str], said: list[str], taken: tuple[int, str | None]
) -> None:
    """[HUB-6.2] [HUB-6.3]"""
    assert choose(offered, said) == taken


@pytest.mark.parametrize(
    ("offered", "said", "text"),
    [
        ([], ["3"], "X-Hub-Version: want one of 1, 2"),
        ([], [""], "X-Hub-Version: want one of 1, 2"),
        ([], ["01"], "X-Hub-Version: want one of 1, 2"),
        ([], ["1", "2"], "X-Hub-Version says two things"),
        (["hub.v3"], [], "speak one of hub.v1, hub.v2"),
        (["mfp"], [], "speak one of hub.v1, hub.v2"),
        (["HUB.V1"], ["1"], "speak one of hub.v1, hub.v2"),
        (["hub.v1"], ["2"], "disagree"),
    ],
)
def test_what_cannot_be_spoken_is_refused(offered: list[str], said: list[str], text: str) -> None:
    """[HUB-6.3]"""
    with pytest.raises(NoVersion, match=text):
        choose(offered, said)
