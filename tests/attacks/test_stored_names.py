"""T21: names of files that a peer chose. They are data: nothing is stored under them."""

import asyncio
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

import framehub

from .arena import Arena

FRAMEHUB = str(Path(sys.executable).with_name("framehub"))
NAMES = [
    "../../etc/cron.d/x",
    "/etc/cron.d/x",
    "C:\\x",
    "a\0b",
    "CON",
    "n" * 300,
    "\u202egpj.exe",
    "file-0",
    "link",
    "",
]
CONTENT = b"written by somebody else"


def everything(folder: Path) -> dict[str, bytes | str]:
    """All that is in a folder, links as where they point to."""
    return {
        str(path.relative_to(folder)): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


async def test_attack_T21_a_request_that_saves_files_names_them_itself(tmp_path: Path) -> None:
    """`framehub request --out` to a listener whose files have such names, where links lie in wait."""
    app = framehub.Endpoints()

    @app.on("files")
    def give(_call: framehub.Call) -> framehub.Reply:
        return framehub.Reply(files={key: framehub.File(CONTENT, name) for key, name in enumerate(NAMES)})

    out = tmp_path / "work" / "out"
    out.mkdir(parents=True)
    (tmp_path / "precious").write_bytes(b"precious")
    (out / "file-0").symlink_to(tmp_path / "precious")
    (out / "file-1").symlink_to(tmp_path / "not there")
    before = everything(tmp_path)
    async with framehub.listen("ws://127.0.0.1:0/mfp", app) as listener:
        done = await asyncio.to_thread(
            subprocess.run,
            [FRAMEHUB, "request", "files", "--url", listener.url, "--out", "out"],
            capture_output=True,
            cwd=tmp_path / "work",
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert b"\x00" not in done.stderr
    assert "\u202e".encode() not in done.stderr  # nothing turns a terminal's text around
    made = {f"work/out/file-{key}": CONTENT for key in range(2, len(NAMES))}
    made |= {"work/out/file-0-1": CONTENT, "work/out/file-1-1": CONTENT}
    assert everything(tmp_path) == before | made


@pytest.mark.parametrize("taken", ["precious", "dangling", "file"])
async def test_attack_T21_saving_follows_no_link_and_overwrites_nothing(tmp_path: Path, taken: str) -> None:
    (tmp_path / "original").write_bytes(b"precious")
    target = tmp_path / "target"
    if taken == "file":
        target.write_bytes(b"precious")
    else:
        target.symlink_to(tmp_path / ("original" if taken == "precious" else "not there"))
    before = everything(tmp_path)
    file = framehub.File(CONTENT, "../../elsewhere")
    with pytest.raises(FileExistsError):
        await file.save(target)
    assert everything(tmp_path) == before
    await file.save(tmp_path / "new")
    assert everything(tmp_path) == before | {"new": CONTENT}


async def test_attack_T21_names_that_are_sent_to_the_gateway_stay_data(arena: Arena) -> None:
    files = {key: framehub.File(CONTENT, name) for key, name in enumerate(NAMES)}
    before = arena.folder()
    async with arena.besieged() as siege, framehub.connect(f"ws://127.0.0.1:{arena.port}/mfp") as peer:
        reply = await peer.request("sums", files=files)
    siege.check(0)
    digest = sha256(CONTENT).hexdigest()
    assert reply.data == [[name, digest] for name in NAMES]
    assert arena.folder() == before
