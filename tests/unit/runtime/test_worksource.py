import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from framehub.errors import ConfigError
from framehub.runtime import functionset
from framehub.runtime.worksource import ChildHasSeenEnough, load, main_source, stop_here

HEAD = """
from framehub.runtime.functionset import FunctionSet
from framehub.runtime.worksource import stop_here
class Worker:
    def __init__(self): self.functions = FunctionSet()
worker = Worker()
def square(x: int) -> int: return x * x
async def later(x: int) -> int: return x
worker.functions.add(square)
worker.functions.add(later)
"""
NAMES = [("later", True), ("square", False)]


@pytest.fixture(autouse=True)
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a child process: what is loaded leaves no trace."""
    before = dict(sys.modules)
    monkeypatch.setattr(functionset, "collected", None)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in set(sys.modules) - set(before):
        del sys.modules[name]
    sys.modules.update(before)


def test_functions_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "own_module.py").write_text(HEAD)
    for source in ("own_module:worker", "own_module:", str(tmp_path / "own_module.py")):
        sys.modules.pop("own_module", None)
        found = load(source, NAMES)
        assert [function.name for function in found] == ["later", "square"]


def test_a_script_is_main_under_another_name_and_keeps_what_it_needs(tmp_path: Path) -> None:
    script = tmp_path / "script with: a colon"
    script.write_text(HEAD + "if __name__ == '__main__': raise SystemExit\nstop_here()\nraise SystemExit\n")
    (function,) = load(str(script), NAMES[1:])
    assert function.function(4) == 16
    assert sys.modules["__main__"].__dict__["square"] is function.function
    assert function.function.__module__ == "__framehub_script__"


def test_of_two_workers_the_one_that_has_them_all(tmp_path: Path) -> None:
    text = HEAD + "small = Worker()\nsmall.functions.add(square)\nother = Worker()\n"
    (tmp_path / "two_workers.py").write_text(text)
    own = load("two_workers:", NAMES[1:])
    assert own[0] is sys.modules["two_workers"].small.functions["square"]
    assert load("two_workers:small", NAMES[1:]) == own
    del sys.modules["two_workers"]
    assert load("two_workers:", NAMES)[1] is sys.modules["two_workers"].worker.functions["square"]


@pytest.mark.parametrize(
    ("source", "body", "text"),
    [
        ("absent:worker", "", "absent:worker: no module 'absent' here or installed"),
        ("absent.part:worker", "", "no module 'absent' here or installed"),
        ("own:other", HEAD, "the module has no 'other'"),
        ("own:square", HEAD, "'square' is a function, not framehub.Worker"),
        ("own:worker", "import absent_one", "it needs 'absent_one', which is not installed"),
        ("own:worker", "\n\n1 / 0", r"own:worker: fails at .*/own.py:3: ZeroDivisionError"),
        ("own:worker", "\nimport sys; sys.exit(1)", r"fails at .*/own.py:2: SystemExit\(1\)"),
        ("own:worker", "\n\ndef (", r"fails at .*/own.py:3: SyntaxError"),
        ("own:", "", "function 'later' is not there when its module is imported: define it at the top"),
        ("own:", HEAD.replace("async ", ""), "'later' is another one when its module is imported again"),
        (
            "own:",
            HEAD.replace("functions.add(later)", "__init__(); worker.functions.add(later)"),
            "no worker has all",
        ),
        ("package.part:worker", "", "package.part:worker: its package fails at .*: ZeroDivisionError"),
    ],
)
def test_what_is_missing_is_said(tmp_path: Path, source: str, body: str, text: str) -> None:
    (tmp_path / "own.py").write_text(body)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("1 / 0")
    with pytest.raises(ConfigError, match=text):
        load(source, NAMES)


def test_a_namespace_has_no_functions(tmp_path: Path) -> None:
    (tmp_path / "space").mkdir()
    with pytest.raises(ConfigError, match="the module has no 'worker'"):
        load("space:worker", NAMES)


def test_only_a_child_stops_where_a_worker_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_here()
    monkeypatch.setattr(functionset, "collected", [])
    with pytest.raises(ChildHasSeenEnough):
        stop_here()


def test_the_source_of_what_is_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main = type(sys)("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    with pytest.raises(ConfigError, match="run them in threads"):
        main_source()
    main.__file__ = str(tmp_path / "script.py")
    with pytest.raises(ConfigError, match="run them in threads"):
        main_source()
    (tmp_path / "script.py").touch()
    assert main_source() == str(tmp_path / "script.py")
    main.__spec__ = sys.modules["framehub"].__spec__
    assert main_source() == "framehub:"
