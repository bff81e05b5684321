"""Variables of the environment that begin with ``FRAMEHUB_``: which there are, and which one was meant.

Whatever begins so and is neither one of these nor a setting is a mistake that nobody would notice.
"""

import re
from collections.abc import Collection
from difflib import get_close_matches
from typing import Final

PREFIX: Final = "FRAMEHUB_"
SAME: Final = {"FRAMEHUB_TOKENS": ("gateway", "tokens")}
"""Variables that other commands have too, and the setting that each is."""
TOLD: Final = frozenset(
    {
        *SAME,
        "FRAMEHUB_CONFIG",  # the file with the settings
        "FRAMEHUB_URL",  # where clients find a gateway, and as whom they come
        "FRAMEHUB_TOKEN",
        "FRAMEHUB_CLIENTS",  # where programs, workers and services find it
        "FRAMEHUB_WORKERS",
        "FRAMEHUB_SERVICES",
    }
)
"""Those for people, that are no settings by their form, TABLE__NAME."""
OURS: Final = TOLD | {
    "FRAMEHUB_COMMAND",  # what a person types for `framehub`
    "FRAMEHUB_SEALS_FOR",  # told to a process that seals
    "FRAMEHUB_ATTACKS",  # told to tests, which start gateways
    "FRAMEHUB_CONVERSATIONS",
    "FRAMEHUB_SCREENSHOTS",
}
"""All that are no settings."""

_KUBERNETES: Final = re.compile(
    r"FRAMEHUB_([A-Z0-9]+_)*(SERVICE_(HOST|PORT(_\w+)?)|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
_ITS_PORT: Final = re.compile(r"FRAMEHUB_([A-Z0-9]+_)*PORT")


def is_known(name: str, text: str) -> bool:
    """Whether it is ours, or Kubernetes', which tells every pod of a Service named ``framehub`` this way."""
    is_its_port = _ITS_PORT.fullmatch(name) is not None and "://" in text
    return name in OURS or is_its_port or _KUBERNETES.fullmatch(name) is not None


def meant(name: str, settings: Collection[str]) -> str:
    """The variable, of ``settings`` or of those for people, that was meant, if one is near."""
    plain = {_plain(known): known for known in (*settings, *sorted(TOLD))}
    if _plain(name) in plain:
        return plain[_plain(name)]
    table, _, word = name.removeprefix(PREFIX).rpartition("__")
    elsewhere = [known for known in settings if known.endswith(f"__{word}")]
    if elsewhere:
        return elsewhere[0]
    if not table:
        close = get_close_matches(_plain(name), list(plain), n=1, cutoff=0.8)
        return plain[close[0]] if close else ""
    tables = {known.removeprefix(PREFIX).partition("__")[0] for known in settings}
    near = get_close_matches(table, sorted(tables), n=1)
    words = {
        known.partition("__")[2]: known for known in settings if near and known.startswith(PREFIX + near[0])
    }
    close = get_close_matches(word, list(words), n=1)
    return words[close[0]] if close else ""


def _plain(name: str) -> str:
    """Only what tells variables apart."""
    return name.removeprefix(PREFIX).replace("_", "")
