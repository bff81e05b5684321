import tomllib

from framehub.gateway.config import load
from framehub.gateway.config_page import docs, example, shown
from framehub.gateway.recording import RecordingSettings


def test_what_is_shown_is_toml_and_says_where_it_comes_from() -> None:
    found = load(None, {"FRAMEHUB_MFP__MAX_FILES": "3"})
    text = "\n".join(shown(found.values))
    assert "max_files = 3  # environment FRAMEHUB_MFP__MAX_FILES" in text
    told = tomllib.loads(text)
    assert told["mfp"]["max_files"] == 3
    assert told["gateway"]["tokens"] == "off"


def test_a_setting_is_explained_by_what_stands_below_it() -> None:
    assert docs(RecordingSettings)["group_bytes"] == "Rows of so many bytes do not wait."
    assert '"off": there is no hub' in example()
