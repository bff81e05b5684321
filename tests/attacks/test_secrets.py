"""What is packed stays packed (T69), and what is secret stays secret (T70), at a real ``framehub serve``."""

import ast
import asyncio
import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import framehub
from framehub.errors import ConfigError, FramehubError
from framehub.gateway.settings import GatewaySettings
from framehub.journal import reader
from framehub.runtime import tokens
from framehub.runtime.curve import CurveServer, new_keys, read_secret

FRAMEHUB = str(Path(sys.executable).with_name("framehub"))
SOURCE = Path(__file__).parents[2] / "src" / "framehub"
FREE = "127.0.0.1:0"
MIB = 1 << 20
HONEST = 20
UNPACKERS = {"gzip", "bz2", "lzma", "zipfile", "tarfile", "zstandard", "brotli", "shutil.unpack_archive"}
APP = """
import framehub

app = framehub.Endpoints()


@app.on("keep")
def keep(call):
    return framehub.Reply(files=call.files)
"""


@contextmanager
def gateway(folder: Path, *words: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    (folder / "keeping.py").write_text(APP)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [
                *(FRAMEHUB, "serve", "-v", "--app", "keeping:app", "--journal", "journal", "--admin", "off"),
                *("--listen", FREE, "--services", FREE, "--clients", FREE, "--workers", FREE, *words),
            ],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=folder,
        )
        try:
            assert process.stdout is not None
            told = dict(word.split("=", 1) for word in process.stdout.readline().split()[1:])
            yield process, told["mfp"]
            process.terminate()
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def peak(process: "subprocess.Popen[str]") -> int:
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def bomb() -> bytes:
    """A gzip file of 64 KiB that unpacks to 64 MiB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    one = packer.compress(bytes(64 * MIB)) + packer.flush()
    assert len(one) < 70_000
    return one


@pytest.mark.timeout(120)
def test_attack_T69_attachments_are_never_unpacked(tmp_path: Path) -> None:
    packed = bomb()
    name = "holiday.json.gz"

    async def send(url: str) -> None:
        async with framehub.connect(url) as peer:
            file = framehub.File(packed, name=name, type="application/gzip")
            reply = await peer.request("keep", {"encoding": "gzip"}, files={1: file})
            assert reply.files[1].data == packed

    async def attack(url: str) -> None:
        await asyncio.gather(*(send(url) for _ in range(HONEST)))

    with gateway(tmp_path) as (process, url):
        asyncio.run(attack(url))
        before = peak(process)
        for _ in range(3):
            asyncio.run(attack(url))
        assert peak(process) - before < 16 * MIB  # one of them, unpacked, is 64
    kept = [
        row["raw"]
        for batch in reader.read(tmp_path / "journal", columns=["kind", "raw"])
        for row in batch.to_pylist()
        if row["kind"] in ("request", "response")
    ]
    assert len(kept) == 2 * 4 * HONEST
    assert all(raw.endswith(packed) for raw in kept)


def test_attack_T69_nothing_in_the_package_unpacks_what_others_packed() -> None:
    found = []
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Attribute) and node.attr in ("decompress", "decompressobj"):
                names = ["gzip"]
            found += [f"{file.name}: {name}" for name in names if name.partition(".")[0] in UNPACKERS]
    assert [one for one in found if not one.startswith("ship")] == []


@pytest.mark.timeout(120)
def test_attack_T70_secrets_are_in_no_log_no_journal_and_no_list_of_processes(tmp_path: Path) -> None:
    public, secret = new_keys()
    (tmp_path / "key").write_text(secret)
    (tmp_path / "key").chmod(0o600)
    (tmp_path / "allowed").write_text(public)
    token, _ = tokens.add(tmp_path / "tokens", user=5, name="somebody")
    keys = ("--curve-key", "key", "--client-keys", "allowed", "--worker-keys", "allowed")
    words = ("--tokens", "tokens", *keys)

    async def use(url: str) -> None:
        async with framehub.connect(url, token=token) as peer:
            await peer.request("keep", "hello")
            with pytest.raises(FramehubError):
                await peer.request("nobody")
        with pytest.raises(FramehubError):
            async with framehub.connect(url, token=token[:-4] + "AAAA"):
                pass

    with gateway(tmp_path, *words) as (process, url):
        asyncio.run(use(url))
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        core = next(line for line in limits.splitlines() if line.startswith("Max core file size"))
        assert core.split()[4:6] == ["0", "0"]
        command = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        assert secret.encode() not in command
        assert token.encode() not in command
    secrets = [word.encode() for word in (secret, token)]
    for file in tmp_path.rglob("*"):
        if file.is_file() and file.name != "key":
            data = file.read_bytes()
            assert not any(word in data for word in secrets), file
    for batch in reader.read(tmp_path / "journal"):
        for row in batch.to_pylist():
            said = repr(row).encode() + (row["raw"] or b"")
            assert not any(word in said for word in secrets)


def test_attack_T70_what_holds_a_secret_does_not_show_it(tmp_path: Path) -> None:
    public, secret = new_keys()
    file = tmp_path / "key"
    file.write_text(secret)
    file.chmod(0o600)
    server = CurveServer(read_secret(file), [public])
    settings = GatewaySettings(curve_key=file, client_keys=file, worker_keys=file)
    for shown in (repr(server), str(server), repr(settings), str(settings)):
        assert secret not in shown
    file.chmod(0o640)
    with pytest.raises(ConfigError, match="chmod 600") as refused:
        read_secret(file)
    assert secret not in str(refused.value)
    file.chmod(0o600)
    file.write_text(secret[:-1])
    with pytest.raises(ConfigError) as refused:
        read_secret(file)
    assert secret[:-1] not in str(refused.value)
    assert os.fspath(file) in str(refused.value)
