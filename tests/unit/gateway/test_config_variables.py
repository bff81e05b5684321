import re
from pathlib import Path

import pytest

import framehub
from framehub.gateway import config_variables
from framehub.gateway.config import KEYS
from framehub.gateway.config_variables import OURS, SAME, TOLD, is_known, meant

SETTINGS = [key.variable for key in KEYS.values()]


def named(folder: Path, form: str) -> set[str]:
    """Variables without two underscores that the code in a folder names in this way."""
    here = {Path(__file__), Path(config_variables.__file__)}
    text = "\n".join(file.read_text() for file in folder.rglob("*.py") if file not in here)
    return {name for name in re.findall(form, text) if "__" not in name}


def test_every_variable_that_the_code_reads_is_known() -> None:
    ours = named(Path(framehub.__file__).parent, r'"(FRAMEHUB_[A-Z_]+)"')
    tests = named(Path(__file__).parents[2], r'environ\.get\("(FRAMEHUB_[A-Z_]+)"')
    assert tests
    assert ours | tests == OURS
    assert ours > TOLD
    assert all(place in KEYS for place in SAME.values())


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("FRAMEHUB_MFP_REQUEST_TIMEOUT", "FRAMEHUB_MFP__REQUEST_TIMEOUT"),
        ("FRAMEHUB__MFP__REQUEST_TIMEOUT", "FRAMEHUB_MFP__REQUEST_TIMEOUT"),
        ("FRAMEHUB_MFP__KEPALIVE", "FRAMEHUB_MFP__KEEPALIVE"),
        ("FRAMEHUB_REQUEST_TIMEOUT", "FRAMEHUB_MFP__REQUEST_TIMEOUT"),
        ("FRAMEHUB_LISTEN", "FRAMEHUB_GATEWAY__LISTEN"),
        ("FRAMEHUB_CONFG", "FRAMEHUB_CONFIG"),
        ("FRAMEHUB_GATWAY__LISTN", "FRAMEHUB_GATEWAY__LISTEN"),
        ("FRAMEHUB_HUB__REQUEST_TIMEOUT", "FRAMEHUB_MFP__REQUEST_TIMEOUT"),
        ("FRAMEHUB_WORKER", "FRAMEHUB_WORKERS"),
        ("FRAMEHUB_PORT", ""),
        ("FRAMEHUB_GATEWAY__PORT", ""),
        ("FRAMEHUB_RPC__SERVICE_HOST", ""),
        ("FRAMEHUB_NOPE__X", ""),
        ("FRAMEHUB_X", ""),
        ("FRAMEHUB_", ""),
    ],
)
def test_the_one_that_was_meant(wrong: str, right: str) -> None:
    assert not is_known(wrong, "7400")
    assert meant(wrong, SETTINGS) == right


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("FRAMEHUB_SERVICE_HOST", "10.0.0.1"),
        ("FRAMEHUB_SERVICE_PORT", "7400"),
        ("FRAMEHUB_SERVICE_PORT_MFP", "7400"),
        ("FRAMEHUB_PORT", "tcp://10.0.0.1:7400"),
        ("FRAMEHUB_EAST_PORT", "tcp://10.0.0.1:7400"),
        ("FRAMEHUB_PORT_7400_TCP", "tcp://10.0.0.1:7400"),
        ("FRAMEHUB_PORT_7400_TCP_ADDR", "10.0.0.1"),
        ("FRAMEHUB_EAST_PORT_7400_TCP_PROTO", "tcp"),
    ],
)
def test_what_kubernetes_says_of_a_service_named_like_us_is_no_mistake(name: str, text: str) -> None:
    assert is_known(name, text)
