import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from framehub.errors import PipelineError
from framehub.pipeline import snapshots


def make(out: Path, text: str = "rows") -> Path:
    with snapshots.locked(out):
        target = snapshots.begin(out)
        (target / "frames").mkdir()
        (target / "frames" / "part.parquet").write_text(text)
        staged = target / snapshots.STAGED / "frames"
        staged.mkdir(parents=True)
        (staged / ".part.parquet.crc").write_text("sum")
        snapshots.commit(out, target, {"rows": 1})
        snapshots.sweep(out, target)
    return target


def test_current_is_a_relative_link_to_the_newest(tmp_path: Path) -> None:
    make(tmp_path, "old")
    newest = make(tmp_path, "new")
    assert (tmp_path / "current").readlink() == Path("snapshots") / newest.name
    assert (tmp_path / "current" / "frames" / "part.parquet").read_text() == "new"
    assert not list(tmp_path.rglob("*.crc"))
    moved = tmp_path.rename(tmp_path.with_name("moved"))
    assert (moved / "current" / "frames" / "part.parquet").read_text() == "new"


def test_the_last_three_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "KEEP_SECONDS", -1.0)
    made = [make(tmp_path) for _ in range(5)]
    assert sorted((tmp_path / "snapshots").iterdir()) == made[2:]


def test_all_that_are_young_are_kept(tmp_path: Path) -> None:
    made = [make(tmp_path) for _ in range(5)]
    assert sorted((tmp_path / "snapshots").iterdir()) == made


def test_a_file_is_in_both_snapshots_and_outlives_the_first(tmp_path: Path) -> None:
    first = make(tmp_path, "old")
    with snapshots.locked(tmp_path):
        second = snapshots.begin(tmp_path)
        snapshots.keep(first / "frames" / "part.parquet", second / "frames" / "kept.parquet")
        staged = second / snapshots.STAGED / "new.parquet"
        staged.parent.mkdir()
        staged.write_text("new")
        snapshots.take(staged, second / "frames" / "new.parquet")
        snapshots.commit(tmp_path, second, {})
    shutil.rmtree(first)
    assert {file.name: file.read_text() for file in (tmp_path / "current" / "frames").iterdir()} == {
        "kept.parquet": "old",
        "new.parquet": "new",
    }
    assert not (second / snapshots.STAGED).exists()


def test_where_links_are_not_to_be_had_it_is_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    (tmp_path / "a").write_text("rows")
    monkeypatch.setattr("os.link", refuse)
    snapshots.keep(tmp_path / "a", tmp_path / "b" / "a")
    (tmp_path / "a").write_text("other")
    assert (tmp_path / "b" / "a").read_text() == "rows"


def test_a_reader_of_the_one_before_still_finds_it(tmp_path: Path) -> None:
    make(tmp_path, "old")
    reader = (tmp_path / "current").resolve()
    make(tmp_path, "new")
    make(tmp_path, "newer")
    assert (reader / "frames" / "part.parquet").read_text() == "old"


DIES_IN_THE_MIDDLE = """
import os, signal, sys
from pathlib import Path
from framehub.pipeline import snapshots

out = Path(sys.argv[1])
with snapshots.locked(out):
    (snapshots.begin(out) / "frames").mkdir()
    (out / ".current-abc").symlink_to("snapshots")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_run_leaves_the_tables_and_is_cleaned_up(tmp_path: Path) -> None:
    whole = make(tmp_path)
    killed = subprocess.run([sys.executable, "-c", DIES_IN_THE_MIDDLE, tmp_path], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "current").resolve() == whole.resolve()
    assert len(list((tmp_path / "snapshots").iterdir())) == 2
    after = make(tmp_path)
    assert sorted((tmp_path / "snapshots").iterdir()) == [whole, after]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["current", "lock", "snapshots"]


def test_two_runs_cannot_write_at_once(tmp_path: Path) -> None:
    with (
        snapshots.locked(tmp_path),
        pytest.raises(PipelineError, match="another run"),
        snapshots.locked(tmp_path),
    ):
        pass
    with snapshots.locked(tmp_path):
        pass


def test_a_place_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with (
        pytest.raises(PipelineError, match="cannot write tables"),
        snapshots.locked(tmp_path / "file" / "out"),
    ):
        pass


@pytest.mark.parametrize("within", [0o700, 0o770])
def test_all_places_that_others_can_write_to_are_named(tmp_path: Path, within: int) -> None:
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "snapshots").chmod(within)
    tmp_path.chmod(0o775)
    places = [tmp_path, tmp_path / "snapshots"][: 1 if within == 0o700 else 2]
    named = ", ".join(map(str, places)), " ".join(map(str, places))
    with (
        pytest.raises(PipelineError, match=f"^{named[0]}: others can write there: chmod go-w {named[1]}$"),
        snapshots.locked(tmp_path),
    ):
        pass
    for place in places:
        place.chmod(0o755)
    make(tmp_path)


def test_tables_that_are_gone_are_told(tmp_path: Path) -> None:
    shutil.rmtree(make(tmp_path))
    with pytest.raises(PipelineError, match=r"leads to tables that are not there.*--fresh"):
        snapshots.load(tmp_path)


def test_what_was_replaced_just_now_stays_however_old_it_is(tmp_path: Path) -> None:
    made = [make(tmp_path)]
    os.utime(made[0] / "manifest.json", (1, 1))
    made += [make(tmp_path) for _ in range(4)]
    assert sorted((tmp_path / "snapshots").iterdir()) == made


def test_what_somebody_holds_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "KEEP_SECONDS", -1.0)
    first = make(tmp_path)
    with snapshots.held(first):
        made = [make(tmp_path) for _ in range(4)]
        assert sorted((tmp_path / "snapshots").iterdir()) == [first, *made[1:]]
    made.append(make(tmp_path))
    assert sorted((tmp_path / "snapshots").iterdir()) == made[2:]


def test_what_is_not_published_is_kept_beside_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "KEEP_SECONDS", -1.0)
    current = make(tmp_path)
    for _ in range(5):
        with snapshots.locked(tmp_path):
            target = snapshots.begin(tmp_path)
            snapshots.commit(tmp_path, target, {"rows": 2}, publish=False)
            snapshots.sweep(tmp_path, target)
        assert not snapshots.is_current(tmp_path, target)
    found = snapshots.load(tmp_path)
    assert found is not None
    assert found[0] == current.resolve()
    assert len(list((tmp_path / "snapshots").iterdir())) == 1 + snapshots.KEEP
