"""The admin port of a gateway in a process of its own."""

import asyncio
import json
import signal
import urllib.error
import urllib.request
from pathlib import Path

import framehub

from .conftest import FREE, Cli, Serve, serving_line

APP = ("--app", "framehub.gateway.sample:endpoints")


def fetch(url: str, token: str | None = None) -> tuple[int, str]:
    asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as exc:
        with exc:
            return exc.code, exc.read().decode()


async def test_a_gateway_tells_how_it_is_until_it_has_drained(serve: Serve) -> None:
    process, url = serve(*APP, "--admin", FREE)
    admin = serving_line(process).split("admin=")[1].split()[0]
    assert fetch(f"{admin}/healthz") == (200, "alive\n")
    assert fetch(f"{admin}/readyz") == (200, "ready\n")
    async with framehub.connect(url) as peer:
        asking = asyncio.create_task(peer.request("report.build", {"seconds": 2}))
        state = f"{admin}/api/state"
        while not json.loads((await asyncio.to_thread(fetch, state))[1])["pending"]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        assert "framehub_mfp_connections 1.0" in (await asyncio.to_thread(fetch, f"{admin}/metrics"))[1]
        process.send_signal(signal.SIGTERM)
        while (told := await asyncio.to_thread(fetch, f"{admin}/readyz"))[0] == 200:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        assert told == (503, "stopping\n")
        await asking
    assert process.wait(20) == 0


def test_beyond_this_machine_it_asks_for_tokens_of_its_own(serve: Serve, cli: Cli, tmp_path: Path) -> None:
    refused = cli("serve", "--admin", "0.0.0.0:0")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "--admin-tokens" in refused.stderr
    token = cli("token", "add", "--tokens", "admin", "--user", "1", "--name", "ops").stdout.split()[-1]
    process, _ = serve("--no-journal", "--admin", "0.0.0.0:0", "--admin-tokens", "admin")
    port = serving_line(process).split("admin=")[1].split()[0].rpartition(":")[2]
    admin = f"http://127.0.0.1:{port}"
    assert fetch(f"{admin}/readyz")[0] == 200
    assert fetch(f"{admin}/metrics")[0] == 401
    assert fetch(f"{admin}/metrics", token)[0] == 200
    assert token not in fetch(f"{admin}/api/connections", token)[1]
