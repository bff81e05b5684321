"""A journal without secrets: nothing of them on disk, and the audit finds nothing wrong with it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import framehub
from framehub.codes import ErrorCode
from framehub.gateway.gateway import Gateway
from framehub.gateway.recording import RecordingSettings
from framehub.gateway.settings import GatewaySettings
from framehub.journal.check import check
from framehub.mfp.settings import Settings
from framehub.pipeline import files, messages, read_journal
from framehub.pipeline.audit import audit

pytestmark = pytest.mark.spark

FREE = "127.0.0.1:0"
SECRET = "hunter2-and-more"
REDACT = {
    "login": ("password", "cards[].number", "$names"),
    "enter": ("password",),
    "echo": ("[0]",),
}
RECORDING = RecordingSettings(redact=REDACT)
APP = f"{__name__}:app"

app = framehub.Endpoints()
worker = framehub.Worker(threads=1)


@app.on("login")
def login(call: framehub.Call) -> Any:
    if call.data["fails"]:
        raise framehub.EndpointError(f"wrong password {call.data['password']}")
    return {"user": call.data["user"], "password": call.data["password"]}


@app.on("open")
def open_(call: framehub.Call) -> Any:
    return call.data


@worker.function
def enter(user: str, password: str) -> dict[str, str]:
    if user == "nobody":
        raise ValueError(f"not {password}")
    return {"user": user, "password": password}


def login_of(user: str, *, fails: bool = False) -> dict[str, Any]:
    cards = [{"number": SECRET, "name": "visa"}, {"number": SECRET}]
    return {"user": user, "password": SECRET, "fails": fails, "cards": cards}


async def talk(gateway: Gateway) -> None:
    assert gateway.functions is not None
    working = asyncio.create_task(worker.serve(gateway.functions.workers_address))
    for checksum in (None, "crc32", "xor8"):
        async with framehub.connect(gateway.url, checksum=checksum) as peer:
            picture = {0: framehub.File(b"pixels", name=f"{SECRET}.png", type="image/png")}
            reply = await peer.request("login", login_of("anna"), files=picture)
            assert reply.data == {"user": "anna", "password": SECRET}, "on the wire all is as it was"
            with pytest.raises(framehub.EndpointError, match=SECRET):
                await peer.request("login", login_of("anna", fails=True))
            await peer.request("open", {"password": "for all to see"})
            for data in (["anna", SECRET], {"user": "anna", "password": SECRET}):
                while True:
                    reply = await peer.request("enter", data, raise_on_error=False)
                    if not reply.is_error or reply.error["code"] != ErrorCode.UNKNOWN_ENDPOINT:
                        break
                    await asyncio.sleep(0.05)  # the worker is on its way
                assert reply.data == {"user": "anna", "password": SECRET}
            await peer.request("enter", ["nobody", SECRET], raise_on_error=False)
    async with framehub.Functions(gateway.functions.clients_address) as functions:
        assert (await functions.call("enter", "bob", password=SECRET))["password"] == SECRET
        with pytest.raises(framehub.RemoteFunctionError, match=SECRET):
            await functions.call("enter", "nobody", SECRET)
    worker.stop()
    await working


async def test_secrets_are_nowhere_and_the_audit_is_clean(spark: SparkSession, tmp_path: Path) -> None:
    settings = GatewaySettings(
        listen=FREE, services=None, clients=FREE, workers=FREE, app=APP, journal=tmp_path / "journal",
        recording=RECORDING, mfp=Settings(),
    )  # fmt: skip
    async with asyncio.timeout(120):
        async with Gateway(settings) as gateway:
            await talk(gateway)
    written = [file for file in (tmp_path / "journal").rglob("*") if file.is_file()]
    assert written
    journal = read_journal(spark, str(tmp_path / "journal"))
    raws = [bytes(row.raw) for row in journal.select("raw").collect() if row.raw is not None]
    assert any(b"for all to see" in raw for raw in raws)
    assert not any(SECRET.encode() in raw for raw in raws)
    assert not any(SECRET.encode() in file.read_bytes() for file in written)
    assert "redacted" in {row.recorded for row in journal.select("recorded").distinct().collect()}
    assert audit(tmp_path / "journal", spark=spark).violations == []
    found = messages(journal).where("endpoint = 'login'").selectExpr("to_json(data) AS data").collect()
    told = "\n".join(row.data or "" for row in found)
    assert '"password":"***"' in told
    assert '"user":"anna"' in told
    assert SECRET not in told
    assert {row.name for row in files(journal).select("name").collect()} == {"***"}
    report = check(tmp_path / "journal")
    assert (report.gaps, report.damages) == ([], [])
