"""Saved results name what they measure, and ``make stale`` tells which are older than that."""

import ast
import subprocess
from collections.abc import Callable
from pathlib import Path
from shutil import which

import pytest

from benchmarks import report
from scripts import results, stale

HEAD = """# Results: speed

- when: 2026-11-19 05:47 UTC
- commit: {commit}
- command: make bench ARGS="speed --save speed"
- measures: src/fast, src/slow.py

- commit: of something else

## Details

- measures: nothing
"""
ROWS = """# Runs

- measures: src/slow.py

| day | commit | command | outcome |
| --- | --- | --- | --- |
| 2026-11-16 | {old} | `make fuzz ARGS='codec --runs 10 --seed 1'` | no failure |
| 2026-11-16 | {old} | `make fuzz ARGS='envelope --runs 10 --seed 1'` | no failure |
| 2026-11-17 | {new}+ | `make fuzz ARGS='codec --runs 2000 --seed 7'` | no failure |
"""
needs_git = pytest.mark.skipif(which("git") is None, reason="there is no git")


def test_every_saved_result_says_what_it_measures_when_and_how(root: Path) -> None:
    files = sorted((root / "benchmarks" / "results").iterdir())
    assert files
    kept = [result for file in files for result in stale.results_in(file)]
    silent = {r.file.name for r in kept if not (r.when and r.commit and r.command and r.measures)}
    assert silent == set()
    gone = {(r.file.name, path) for r in kept for path in r.measures if not (root / path).exists()}
    assert gone == set()


def test_every_benchmark_says_what_it_measures(root: Path) -> None:
    for file in (root / "benchmarks").glob("bench_*.py"):
        values = [
            node.value
            for node in ast.parse(file.read_text()).body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MEASURES"
        ]
        assert len(values) == 1, file.name
        paths = ast.literal_eval(values[0])
        assert paths, file.name
        assert [path for path in paths if not (root / path).exists()] == [], file.name


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A repository with sources and a folder of results; a call is a command of git in it."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    for name in ("src/fast/one.py", "src/slow.py", "src/other.py"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("1\n")
    (tmp_path / "kept").mkdir()
    run("init", "--quiet")
    run("add", ".")
    run("commit", "--quiet", "--message", "One")
    return run


def change(git: Callable[..., str], file: Path, text: str) -> str:
    """Commit it; the commit's id."""
    file.write_text(text)
    git("add", ".")
    git("commit", "--quiet", "--message", "Change")
    return git("rev-parse", "--short=10", "HEAD")


def saved(folder: Path, text: str, name: str = "speed.md") -> Callable[[], list[str]]:
    """What is told when there is one file of results."""
    (folder / "kept" / name).write_text(text)
    return lambda: stale.told(folder, folder / "kept")


@needs_git
def test_a_result_is_stale_when_what_it_measures_has_changed(git: Callable[..., str], tmp_path: Path) -> None:
    fresh = ["0 of 1 results are older than what they measure"]
    commit = git("rev-parse", "--short", "HEAD")
    told = saved(tmp_path, HEAD.format(commit=f"{commit} with changes"))
    assert told() == fresh
    change(git, tmp_path / "src/other.py", "2\n")
    assert told() == fresh, "what else changes is of no matter"
    change(git, tmp_path / "src/fast/one.py", "2\n")
    change(git, tmp_path / "src/fast/one.py", "3\n")
    change(git, tmp_path / "src/slow.py", "3\n")
    assert told() == [
        f"kept/speed.md: measured at {commit} with changes, 2026-11-19 05:47 UTC",
        "  since then src/fast 2 commits, src/slow.py 1 commit",
        '  anew: make bench ARGS="speed --save speed"',
        "1 of 1 results are older than what they measure",
    ]
    change(git, tmp_path / "src/fast/one.py", "1\n")
    change(git, tmp_path / "src/slow.py", "1\n")
    assert told() == fresh, "everything is again as it was measured"


@needs_git
@pytest.mark.parametrize("name", ["src/fast/one.py", "src/fast/new.py"])
def test_what_is_not_committed_counts_too(git: Callable[..., str], tmp_path: Path, name: str) -> None:
    told = saved(tmp_path, HEAD.format(commit=git("rev-parse", "HEAD")))
    (tmp_path / name).write_text("2\n")
    assert told()[1] == "  since then changes that are not committed"


@needs_git
def test_a_commit_that_is_no_part_of_the_history_is_compared(git: Callable[..., str], tmp_path: Path) -> None:
    git("switch", "--quiet", "--create", "aside")
    commit = change(git, tmp_path / "src/fast/one.py", "2\n")
    git("switch", "--quiet", "-")
    told = saved(tmp_path, HEAD.format(commit=commit))
    assert told()[1] == "  other than at that commit: src/fast"
    change(git, tmp_path / "src/slow.py", "2\n")
    assert told()[1] == "  other than at that commit: src/fast, src/slow.py"
    (tmp_path / "src/slow.py").write_text("3\n")
    assert told()[1] == "  other than at that commit: src/fast, src/slow.py, changes that are not committed"
    git("checkout", "--quiet", "src/slow.py")
    change(git, tmp_path / "src/slow.py", "1\n")
    change(git, tmp_path / "src/fast/one.py", "2\n")
    assert told() == ["0 of 1 results are older than what they measure"]


@needs_git
def test_of_runs_of_one_kind_the_newest_counts(git: Callable[..., str], tmp_path: Path) -> None:
    old = git("rev-parse", "--short", "HEAD")
    new = change(git, tmp_path / "src/slow.py", "2\n")
    assert saved(tmp_path, ROWS.format(old=old, new=new))() == [
        f"kept/speed.md: measured at {old}, 2026-11-16",
        "  since then src/slow.py 1 commit",
        "  anew: make fuzz ARGS='envelope --runs 10 --seed 1'",
        "1 of 2 results are older than what they measure",
    ]


@needs_git
def test_a_flame_graph_says_it_in_a_comment(git: Callable[..., str], tmp_path: Path) -> None:
    text = f"<svg></svg>\n<!--\n{HEAD.format(commit=git('rev-parse', 'HEAD'))}-->\n"
    told = saved(tmp_path, text, "speed.svg")
    assert told() == ["0 of 1 results are older than what they measure"]
    change(git, tmp_path / "src/slow.py", "2\n")
    assert told()[1] == "  since then src/slow.py 1 commit"


@needs_git
@pytest.mark.parametrize(
    ("text", "why"),
    [
        (HEAD.format(commit="0123456789"), "this repository does not have the commit"),
        (HEAD.format(commit="unknown"), "this repository does not have the commit"),
        ("# Results: speed\n", "it does not say its commit and what it measures"),
    ],
)
def test_where_nobody_can_tell_it_says_so(
    git: Callable[..., str], tmp_path: Path, text: str, why: str
) -> None:
    told = saved(tmp_path, text)()
    assert told[1] == f"  cannot tell: {why}"
    assert told[-1] == "0 of 1 results are older than what they measure; of 1 nobody can tell"


@pytest.mark.parametrize("has_git", [True, False])
def test_without_a_history_it_says_so_and_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], has_git: bool
) -> None:
    if not has_git:
        monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(stale, "ROOT", tmp_path)
    assert stale.main() == 0
    assert capsys.readouterr().out.startswith("There is no git history here")


@needs_git
def test_a_tree_inside_another_repository_has_no_history(git: Callable[..., str], tmp_path: Path) -> None:
    assert git("rev-parse", "HEAD")
    assert stale.History(tmp_path).is_known
    assert not stale.History(tmp_path / "src").is_known


def test_what_benchmarks_and_long_runs_keep_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    for seed in (1, 2):
        command = f"make simulate ARGS='--seed {seed}'"
        run = results.add(
            "run", "Runs", measures=("a", "b"), command=command, executions=1, seconds=1.0, outcome="fine"
        )
    (result,) = stale.results_in(run)
    assert (result.commit, result.command) == (results.commit(), "make simulate ARGS='--seed 2'")
    assert result.measures == ("a", "b")
    made = report.Report()
    made.section("one", ("b", "a"))
    made.section("two", ("b", "c"))
    (result,) = stale.results_in(made.save("speed", "make bench ARGS=one"))
    assert (result.command, result.measures) == ("make bench ARGS=one", ("a", "b", "c"))
    assert result.commit
    assert result.when
