"""Names and payloads that mean something to SQL or to paths (T67); whoever knocks at Spark's doors (T68)."""

import socket
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, lit

from framehub.journal.mfp_rows import IN, LinkRows
from framehub.journal.writer import JournalWriter
from framehub.mfp import codec, envelope
from framehub.mfp.frames import RequestFrame
from framehub.pipeline.run import run

pytestmark = pytest.mark.spark

NAMES = [
    "'); DROP TABLE frames; --",
    '" OR "1"="1',
    "`; DROP VIEW frames; --",
    "${spark.driver.host}",
    "__HIVE_DEFAULT_PARTITION__",
    "../../x",
    "/etc/passwd",
    "a=b/c=d",
    "%2e%2e%2f",
    "line\nbreak\x00null",
    "m" * 1_000_000,
]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    link = LinkRows(b"linklink", 0)
    with JournalWriter(tmp_path / "in" / "journal", node="../../node'; --") as writer:
        writer.append(link.opened((1, 1)))
        for number, name in enumerate(NAMES, 1):
            at = (number * 1_000_000, number * 1_000_000)
            frame = RequestFrame(id=number, payload=envelope.encode(name[:1000], {"text": name}))
            exchange = b"linklink" + number.to_bytes(8, "big")
            raw = codec.encode(frame)
            writer.append(link.frame(at, IN, frame, raw, exchange, endpoint=name))
    return tmp_path / "in" / "journal"


@pytest.mark.timeout(300)
def test_attack_T67_values_are_values_and_no_path_is_made_of_them(  # noqa: N802
    spark: SparkSession, journal: Path, tmp_path: Path
) -> None:
    before = {file for file in tmp_path.rglob("*") if file.is_file()}
    outside = set(tmp_path.parent.iterdir())
    out = tmp_path / "out"
    result = run(journal, out, spark=spark)
    assert result.rows["frames"] == len(NAMES)
    made = {file for file in tmp_path.rglob("*") if file.is_file()} - before
    assert all(file.is_relative_to(out) for file in made)
    assert set(tmp_path.parent.iterdir()) == outside
    frames = spark.read.parquet(str(out / "current" / "frames"))
    kept = [row["endpoint"] for row in frames.where("endpoint IS NOT NULL").orderBy("seq").collect()]
    assert kept[:-1] == NAMES[:-1]
    assert NAMES[-1].startswith(kept[-1])
    for name in NAMES[:-1]:
        assert frames.where(col("endpoint") == lit(name)).count() == 1
    for folder in (path for path in (out / "current").rglob("*") if path.is_dir()):
        assert not any(word in folder.name for word in ("DROP", "..", "HIVE", "passwd", "c=d"))


def test_attack_T68_only_this_machine_may_knock_and_only_who_knows_the_word_is_let_in(  # noqa: N802
    spark: SparkSession,
) -> None:
    context = spark.sparkContext
    assert context.uiWebUrl is None
    gateway = context._gateway
    assert gateway is not None
    java = context._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    places = listening(java)
    assert places
    assert {address for address, _ in places} <= {"127.0.0.1", "::1"}
    port = gateway.gateway_parameters.port
    assert ("127.0.0.1", port) in places
    for words in (b"j\ni\nrj\norg.apache.spark.SparkConf\ne\n", b"A\nguess\ne\n", b"c\nt\ntoString\ne\n"):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as knock:
            knock.sendall(words)
            assert not heard(knock).startswith(b"!y")
            assert heard(knock) == b""  # and the door is closed


def heard(knock: socket.socket) -> bytes:
    """What is said next; nothing, if the other end hung up."""
    try:
        return knock.recv(1000)
    except ConnectionResetError:
        return b""


def listening(process: int) -> set[tuple[str, int]]:
    """Where a process and those it started listen."""
    sockets = set()
    for task in (process, *children(process)):
        for file in Path(f"/proc/{task}/fd").iterdir():
            try:
                sockets.add(str(file.readlink()).removeprefix("socket:[").removesuffix("]"))
            except OSError:
                continue
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in sockets:
                address, _, port = words[1].partition(":")
                found.add((readable(bytes.fromhex(address)), int(port, 16)))
    return found


def readable(raw: bytes) -> str:
    """An address as /proc has it: 32-bit words of this machine's order."""
    data = b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))
    if len(data) == 16 and data.startswith(bytes(10) + b"\xff\xff"):
        data = data[12:]  # IPv4, in IPv6's clothes
    return socket.inet_ntop(socket.AF_INET if len(data) == 4 else socket.AF_INET6, data)


def children(process: int) -> list[int]:
    below = [
        int(word)
        for file in Path(f"/proc/{process}/task").glob("*/children")
        for word in file.read_text().split()
    ]
    return below + [one for child in below for one in children(child)]
