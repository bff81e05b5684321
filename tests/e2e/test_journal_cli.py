"""``framehub journal`` as it is installed: data on stdout, everything else on stderr, never a traceback."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from framehub.journal.record import FIXED, NO_ID, Row
from framehub.journal.settings import WriterSettings
from framehub.journal.writer import JournalWriter

COMMAND = [str(Path(sys.executable).with_name("framehub")), "journal"]
FIXED_ROW = FIXED.pack(1, 1, b"linklink", 0, 1, 0, 0, -1, -1, 6, *[-1] * 5, 0, -1, -1, -1, NO_ID, NO_ID, 2)


def framehub(*args: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*COMMAND, *map(str, args)], capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sample") / "journal"
    done = framehub("generate", directory, "--frames", "5000", "--seed", "3")
    assert done.stdout == f"{directory}\n"
    assert "5,000 frames in" in done.stderr
    return directory


@pytest.fixture
def copy(sample: Path, tmp_path: Path) -> Callable[[], Path]:
    def make() -> Path:
        for file in sample.iterdir():
            (tmp_path / file.name).write_bytes(file.read_bytes())
        return tmp_path

    return make


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_check_of_a_sound_journal(sample: Path) -> None:
    assert "clean" in framehub("check", sample).stdout
    report = json.loads(framehub("check", sample, "--json").stdout)
    assert (report["clean"], report["rows"]) == (True, 5000)


def test_check_of_a_torn_tail_warns_and_of_damage_fails(copy: Callable[[], Path]) -> None:
    directory = copy()
    file = directory / f"{1:020d}.fhj"
    os.truncate(file, file.stat().st_size - 7)
    done = framehub("check", directory)
    assert "torn tail at byte" in done.stderr
    assert done.stdout.endswith("\nclean but for a torn tail\n")
    data = bytearray(file.read_bytes())
    data[9000] ^= 1
    file.write_bytes(data)
    done = framehub("check", directory, "--json", code=1)
    assert "Error:" in done.stderr
    (damage,) = json.loads(done.stdout)["nodes"][0]["damages"]
    assert (damage["after_seq"], damage["before_seq"]) == (0, 2049)
    assert "NOT clean" in framehub("check", directory, code=1).stdout
    assert "not sealed" in framehub("compact", directory, code=1).stderr


def test_whatever_reads_says_what_is_missing_and_of_which_node(tmp_path: Path) -> None:
    settings = WriterSettings(segment_bytes=1, seal=False)
    for name in ("north", "south"):
        writer = JournalWriter(tmp_path / name, node=name, settings=settings)
        for _ in range(4):
            writer.append(Row(FIXED_ROW))
            writer.flush(20)
        writer.close(seal=False)
    (tmp_path / "north" / f"{2:020d}.fhj").unlink()
    third = tmp_path / "south" / f"{3:020d}.fhj"
    os.truncate(third, third.stat().st_size - 1)
    lost = ["Warning: north: row 2 is missing", "Warning: south: row 3 is missing"]
    for command in ("cat", "tail", "stats"):
        assert framehub(command, tmp_path).stderr.splitlines() == lost
    assert framehub("cat", tmp_path, "--seq", "4").stderr == ""
    first, second = framehub("check", tmp_path, code=1).stderr.splitlines()
    assert first == f"Error: north: row 2 is missing ({2:020d}.fhj is gone)"
    assert second.startswith(f"Error: south: {third.name}: damage at byte ")
    assert second.endswith("the body of a block is cut short (row 3 is lost)")


def test_cat_prints_rows_or_objects(sample: Path) -> None:
    rows = lines(framehub("cat", sample, "--json").stdout)
    assert [row["seq"] for row in rows] == list(range(1, 5001))
    asked = next(row for row in rows if row["kind"] == "request")
    assert bytes.fromhex(asked["raw"])[0] == asked["head"]
    story = lines(framehub("cat", sample, "--json", "--exchange", asked["exchange"]).stdout)
    assert {row["exchange"] for row in story} == {asked["exchange"]}
    assert [row["kind"] for row in story][:2] in (["request", "response"], ["request", "service"])
    text = framehub("cat", sample, "--limit", "60").stdout.splitlines()
    assert len(text) == 60
    assert any("request" in line and " -> " in line for line in text)


def test_tail_prints_the_last_rows(sample: Path) -> None:
    rows = lines(framehub("tail", sample, "-n", "3", "--json").stdout)
    assert [row["seq"] for row in rows] == [4998, 4999, 5000]
    assert len(framehub("tail", sample).stdout.splitlines()) == 10


def test_tail_follows_a_writer_until_interrupted(copy: Callable[[], Path]) -> None:
    directory = copy()
    following = subprocess.Popen(
        [*COMMAND, "tail", str(directory), "-n", "1", "-f", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert following.stdout is not None
    first = json.loads(following.stdout.readline())
    assert first["seq"] == 5000
    with JournalWriter(directory) as writer:
        writer.append(Row(FIXED_ROW))
    assert json.loads(following.stdout.readline())["seq"] == 5001
    following.send_signal(signal.SIGINT)
    _, said = following.communicate(timeout=20)
    assert "Traceback" not in said
    assert following.returncode == 0


def test_stats_counts(sample: Path) -> None:
    found = json.loads(framehub("stats", sample, "--json").stdout)
    assert found["rows"] == sum(found["kind"].values()) == 5000
    assert "endpoint chat" in framehub("stats", sample).stdout


def test_compact_seals_and_needs_the_lock(copy: Callable[[], Path]) -> None:
    directory = copy()
    with JournalWriter(directory):
        done = framehub("compact", directory, code=3)
        assert f"process {os.getpid()} writes this journal" in done.stderr
    assert not list(directory.glob("*.fhj"))
    assert framehub("compact", directory).stdout == ""
    assert json.loads(framehub("check", directory, "--json").stdout)["nodes"][0]["sealed"] == 1


def test_a_reader_that_has_seen_enough_is_no_error(sample: Path) -> None:
    reading = subprocess.Popen([*COMMAND, "cat", str(sample)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert reading.stdout is not None
    assert reading.stderr is not None
    reading.stdout.readline()
    reading.stdout.close()
    assert reading.stderr.read() == b""
    reading.wait(20)
    reading.stderr.close()


@pytest.mark.parametrize("command", ["check", "tail", "compact"])
def test_no_journal_is_one_line(tmp_path: Path, command: str) -> None:
    done = framehub(command, tmp_path / "nope", code=1)
    assert done.stderr == f"Error: {tmp_path / 'nope'}: no such journal\n"


def test_generate_never_writes_over_a_journal(sample: Path) -> None:
    assert "there is a journal already" in framehub("generate", sample, code=1).stderr


def test_faults_are_put_in_and_listed(tmp_path: Path) -> None:
    rules = "raw-differs,mfp-not-acked"
    done = framehub("generate", tmp_path, "--frames", "3000", "--faults", rules, "--each", "2")
    assert "4 faults, listed in truth.json" in done.stderr
    told = json.loads((tmp_path / "truth.json").read_text())
    assert sorted(fault["rule"] for fault in told["faults"]) == sorted(2 * rules.split(","))
    assert framehub("check", tmp_path).stdout.endswith("clean\n")


def test_a_fault_that_is_none_is_a_wrong_option(tmp_path: Path) -> None:
    wrong = framehub("generate", tmp_path / "x", "--faults", "mfp-nothing", code=2)
    assert "no such rule: mfp-nothing" in wrong.stderr
    assert "mfp-not-acked" in wrong.stderr
    assert not (tmp_path / "x").exists()


def test_how_often_needs_which(tmp_path: Path) -> None:
    assert "name them with --faults" in framehub("generate", tmp_path, "--each", "2", code=2).stderr


def test_a_journal_can_begin_at_any_time(tmp_path: Path) -> None:
    framehub("generate", tmp_path, "--frames", "100", "--start", "2025-03-04T05:06")
    assert " 2025-03-04 05:06:00" in framehub("cat", tmp_path, "--limit", "1").stdout


def test_an_exchange_that_is_no_hex_is_a_wrong_option(sample: Path) -> None:
    assert "not hexadecimal" in framehub("cat", sample, "--exchange", "xyz", code=2).stderr
