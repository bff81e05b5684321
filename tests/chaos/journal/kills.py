"""kill -9 of a real gateway under traffic, again and again; a ledger of what it acknowledged as durable.

The gateway is told ``ack_after_durable``: an acknowledgement is its word that the message is in the journal
for good. The ledger is written by who sends, before the next message goes, and synced. Meanwhile another
asks, and the gateway seals small segments.
"""

import asyncio
import os
import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

import framehub
from framehub.errors import FramehubError
from framehub.journal import reader
from framehub.mfp import envelope
from tests.chaos.journal.judge import Found, Note, digest, judge

FRAMEHUB = str(Path(sys.executable).with_name("framehub"))
FREE = "127.0.0.1:0"
SENDERS = 6
LONGEST = 0.6
"""Seconds that a gateway lives after its first acknowledgement, at most."""
APP = """
import framehub

app = framehub.Endpoints()


@app.on("ledger")
def note(call):
    return None
"""
SETTINGS = {
    "FRAMEHUB_JOURNAL__ACK_AFTER_DURABLE": "true",
    "FRAMEHUB_JOURNAL__SEGMENT_BYTES": "300000",
    "FRAMEHUB_JOURNAL__GATHER_BYTES": "20000",
}


class Verdict(NamedTuple):
    """What is wrong, and what was done."""

    problems: list[str]
    figures: dict[str, int]


class Ledger:
    """Written at once and for good; kept in memory, too."""

    def __init__(self, file: Path) -> None:
        self._file: IO[bytes] = file.open("wb")
        self.sent: list[Note] = []
        self.acknowledged: list[Note] = []

    def note(self, what: str, note: Note) -> None:
        """Write down that a message is ``sent`` or ``acknowledged``."""
        self._file.write(f"{what} {note.op} {note.payload}\n".encode())
        self._file.flush()
        if what == "acknowledged":
            os.fsync(self._file.fileno())
        (self.acknowledged if what == "acknowledged" else self.sent).append(note)

    def close(self) -> None:
        self._file.close()


class Gateway:
    """``framehub serve`` as a process."""

    def __init__(self, journal: Path, log: IO[bytes]) -> None:
        (journal.parent / "noting.py").write_text(APP)
        self._process = subprocess.Popen(
            [
                *(FRAMEHUB, "serve", "--app", "noting:app", "--journal", str(journal), "--admin", "off"),
                *("--listen", FREE, "--services", FREE, "--clients", FREE, "--workers", FREE),
            ],
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=journal.parent,
            env={**os.environ, **SETTINGS},
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline().decode()
        if not line.startswith("ready "):
            raise RuntimeError(f"the gateway ended with {self._process.wait()}: {line!r}")
        self.url = dict(word.split("=", 1) for word in line.split()[1:])["mfp"]

    def end(self, *, by_kill: bool) -> int:
        """Kill it, or ask it to stop; what it ended with."""
        (self._process.kill if by_kill else self._process.terminate)()
        code = self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code


async def send(url: str, ledger: Ledger, name: str, dice: random.Random, began: asyncio.Event) -> None:
    """Send messages until the gateway is gone; note each that it acknowledges."""
    with suppress(FramehubError):
        async with framehub.connect(url) as peer:
            number = 0
            while True:
                number += 1
                data = {"op": f"{name}-{number}", "fill": "x" * dice.randrange(3_000)}
                note = Note(data["op"], digest(envelope.encode("ledger", data)))
                ledger.note("sent", note)
                await peer.send("ledger", data, ack=True)
                ledger.note("acknowledged", note)
                began.set()


async def ask(url: str, dice: random.Random) -> None:
    """Ask what nobody answers well, as fast as answers come: rows of both directions."""
    with suppress(FramehubError):
        async with framehub.connect(url) as peer:
            while True:
                await peer.request("nobody", "?" * dice.randrange(500), raise_on_error=False)


async def live_and_die(gateway: Gateway, ledger: Ledger, life: int, dice: random.Random) -> None:
    """Traffic, then the end at some moment."""
    began = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for number in range(SENDERS):
            group.create_task(send(gateway.url, ledger, f"{life}-{number}", random.Random(number), began))
        group.create_task(ask(gateway.url, dice))
        await asyncio.wait_for(began.wait(), 60)
        await asyncio.sleep(dice.random() * LONGEST)
        await asyncio.to_thread(gateway.end, by_kill=True)


def run(folder: Path, kills: int, *, seed: int) -> Verdict:
    """Kill so many gateways on one journal; then read it."""
    dice = random.Random(seed)
    began = time.monotonic()
    journal, ledger = folder / "journal", Ledger(folder / "ledger")
    with (folder / "log").open("wb") as log:
        for life in range(kills):
            asyncio.run(live_and_die(Gateway(journal, log), ledger, life, dice))
        ended = Gateway(journal, log).end(by_kill=False)
    ledger.close()
    rows = found(journal)
    problems = judge(ledger.acknowledged, ledger.sent, rows)
    if ended:
        problems.append(f"the last gateway, which was asked to stop, ended with {ended}")
    report = reader.check(journal)
    if not report.clean:
        problems.append(f"the journal is not clean: {report.damages}")
    logged = (folder / "log").read_text()
    if "Traceback" in logged:
        problems.append("a traceback is in the log")
    figures = {
        "kills": kills,
        "sent": len(ledger.sent),
        "acknowledged": len(ledger.acknowledged),
        "rows": len(rows),
        "seconds": round(time.monotonic() - began),
    }
    return Verdict(problems, figures)


def found(journal: Path) -> list[Found]:
    """All rows of a journal, as the judge wants them."""
    wanted = ["seq", "kind", "endpoint", "direction", "payload_at", "payload_bytes", "raw"]
    rows = []
    for batch in reader.read(journal, columns=wanted):
        for row in batch.to_pylist():
            if row["endpoint"] == "ledger" and (row["kind"], row["direction"]) == ("message", "in"):
                payload = row["raw"][row["payload_at"] :][: row["payload_bytes"]]
                opened = envelope.decode(payload, ())
                rows.append(Found(row["seq"], opened.data["op"], digest(payload)))
            else:
                rows.append(Found(row["seq"], None, ""))
    return rows
