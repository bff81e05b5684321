import os
import signal
import sys
import threading

import pytest

from framehub.pipeline.session import (
    SQL,
    _prepare_environment,
    _settings,
    _signals_wait,
    heap_bytes,
    is_local,
)


def test_the_driver_asks_for_no_more_than_half_the_machine() -> None:
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 512 * 2**20 <= heap_bytes() <= max(512 * 2**20, min(4 * 2**30, machine // 2))


@pytest.mark.parametrize(
    ("master", "local"),
    [("local", True), ("local[*]", True), ("local-cluster[2,1,1024]", True), ("spark://hub:7077", False)],
)
def test_only_what_runs_here_is_bound_to_loopback(master: str, local: bool) -> None:
    assert is_local(master) is local
    settings = _settings(master, "test")
    assert (settings.get("spark.driver.bindAddress") == "127.0.0.1") is local
    assert settings["spark.ui.enabled"] == "false"
    assert settings.items() >= SQL.items()
    assert not any("auth" in name for name in settings)  # py4j's own token stays on


def test_local_workers_run_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAVA_HOME", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_IP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", "/elsewhere/python")
    _prepare_environment("spark://hub:7077")
    assert os.environ["PYSPARK_PYTHON"] == "/elsewhere/python"
    assert "SPARK_LOCAL_IP" not in os.environ
    _prepare_environment("local[2]")
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    assert os.environ["SPARK_LOCAL_IP"] == "127.0.0.1"


def test_an_interrupt_waits_until_the_jvm_is_up() -> None:
    before, steps = signal.getsignal(signal.SIGINT), ["starting"]

    def start() -> None:
        with _signals_wait():
            signal.raise_signal(signal.SIGINT)
            steps.append("started")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert steps == ["starting", "started"]
    assert signal.getsignal(signal.SIGINT) is before


def test_signals_are_left_alone_outside_the_main_thread() -> None:
    before, seen = signal.getsignal(signal.SIGINT), []

    def elsewhere() -> None:
        with _signals_wait():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [before]
