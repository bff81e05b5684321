import re
from pathlib import Path

import pytest

from framehub.errors import ConfigError
from framehub.gateway.app import load_app, split_name

MODULES = {
    "fine_app": "import framehub\nendpoints = framehub.Endpoints()\nother = 5\n",
    "needs_app": "import not_installed_anywhere\n",
    "broken_app": "\n1 / 0\n",
    "refused_app": "import framehub\n\nframehub.Settings(max_files=-1)\n",
    "unparsed_app": "def (\n",
}


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_an_app_is_found_where_one_stands() -> None:
    assert load_app("fine_app:endpoints").names == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fine_app", "want MODULE:NAME"),
        (":endpoints", "want MODULE:NAME"),
        ("no_such_app:x", "no module 'no_such_app' here or installed"),
        ("needs_app:x", "it needs 'not_installed_anywhere', which is not installed"),
        ("broken_app:x", "broken_app.py:2: ZeroDivisionError"),
        ("refused_app:x", "refused_app.py:3: max_files"),
        ("fine_app.py:endpoints", "want MODULE:NAME"),
        ("unparsed_app:x", "unparsed_app.py:1: SyntaxError: invalid syntax"),
        ("fine_app:nothing", "has no 'nothing'; it has endpoints"),
        ("fine_app:other", "'other' is of type int, not framehub.Endpoints"),
    ],
)
def test_what_is_wrong_is_named(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(text)):
        load_app(name)


def test_a_name_is_split_without_an_import() -> None:
    assert split_name("no.such:thing", what="app", example="a:b") == ("no.such", "thing")
    for wrong in ("foo", ":x", "x:", "x.py:y"):
        with pytest.raises(ConfigError, match="want MODULE:NAME, like a:b"):
            split_name(wrong, what="app", example="a:b")
