"""Inputs to begin with, made from the vectors of spec/vectors: ``python -m fuzz.seeds`` stores them."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
CORPUS: Final = ROOT / "fuzz" / "corpus"
TARGETS: Final = ("codec", "connection", "envelope", "hub", "rpc")
MODES: Final = ("off", "flag", "always")


def cases(kind: str) -> Iterator[dict[str, Any]]:
    for file in sorted((ROOT / "spec" / "vectors" / "mfp").glob("*.json")):
        vectors = json.loads(file.read_text())
        if vectors["kind"] == kind:
            yield from vectors["cases"]


def codec() -> Iterator[bytes]:
    """Every frame and every no-frame."""
    for kind in ("frame", "malformed"):
        for case in cases(kind):
            yield bytes.fromhex(case["hex"])
    for case in cases("conversation"):
        for step in case["steps"]:
            if "sends" in step:
                yield bytes.fromhex(step["sends"])


def connection() -> Iterator[bytes]:
    """Every conversation, one side of it: its frames as raw input, and the time between them."""
    for case in cases("conversation"):
        checksum = case.get("checksum", {})
        begin = MODES.index(checksum.get("mode", "flag")) + 4 * (checksum.get("algorithm") == "xor8")
        begin += 16 * bool(case.get("verify_always"))
        for side, reader in ("AB", "BA"):
            settings = case.get("settings", {}).get(reader, {})
            delivers = settings.get("bad_files") == "deliver"
            watches = 64 * ("keepalive" in settings) + 128 * ("idle_timeout" in settings)
            script = bytes((begin + 32 * delivers + watches,))
            for step in case["steps"]:
                frame = bytes.fromhex(step.get("sends", ""))
                if "now" in step:
                    script += bytes((3, 3))
                elif step.get("side") == side and 0 < len(frame) < 48:
                    script += bytes((0, len(frame))) + frame
            yield script


def envelope() -> Iterator[bytes]:
    """Every payload, with as many files as it came with."""
    for case in cases("envelope"):
        payload = case.get("payload")
        data = payload.encode() if payload is not None else bytes.fromhex(case.get("payload_hex", ""))
        yield bytes((len(case.get("files", ())),)) + data


def hub() -> Iterator[bytes]:
    """Every frame and no-frame, and every conversation: what its peers say, raw, and the time between."""
    folder = ROOT / "spec" / "vectors" / "hub"
    for name in ("frames.json", "malformed.json"):
        for case in json.loads((folder / name).read_text())["cases"]:
            yield bytes.fromhex(case["hex"])
    for case in json.loads((folder / "conversations.json").read_text())["cases"]:
        versions = case.get("clients", {"c1": 2}).values()
        script = bytes((sum((version - 1) << at for at, version in enumerate(versions)),))
        for step in case["steps"]:
            peer = int((step.get("client") or step.get("service") or "c1")[1:]) - 1
            data = bytes.fromhex(step.get("says", ""))[:71]
            if "says" in step:
                kind = bytes((0, peer)) if "client" in step else bytes((1, peer, 0))
                script += kind + bytes((len(data),)) + data
            elif "now" in step:
                script += bytes((9, 3, 0))
            elif "does" in step:
                acts = {"leaves": 4, "vanishes": 5, "returns": 6}
                does = {"blocks": 0, "reads": 1} if "client" in step else {"blocks": 2, "reads": 3}
                script += bytes((10, (acts | does)[step["does"]], peer))
        yield script


def rpc() -> Iterator[bytes]:
    """Every dialog with a proxy: what its peers say, raw, and the time between."""
    for case in json.loads((ROOT / "spec" / "vectors" / "rpc" / "dialogs.json").read_text())["cases"]:
        silent = case.get("settings", {}).get("acknowledge") is False
        aged, missing = case.get("age", 60) != 0, bool(case.get("missing"))
        script = bytes((silent + 2 * aged + 4 * missing + 8 * bool(case.get("begun")),))
        for step in case["steps"]:
            if "says" in step:
                peer = step.get("client") or step["worker"]
                script += bytes(("worker" in step, int(peer[1:]) - 1, len(step["says"])))
                for part in step["says"]:
                    data = part.encode() if isinstance(part, str) else bytes.fromhex(part["hex"])
                    script += bytes((len(data[:71]),)) + data[:71]
            elif "now" in step:
                script += bytes((6, 3, 0))
            elif step.get("does") == "vanishes":
                script += bytes((6, 0, 1))
        yield script


MAKERS: Final = {"codec": codec, "connection": connection, "envelope": envelope, "hub": hub, "rpc": rpc}


def made(target: str) -> list[bytes]:
    """The seeds of one target, each once."""
    return list(dict.fromkeys(MAKERS[target]()))


def stored(target: str) -> list[bytes]:
    """What is in the corpus."""
    return [file.read_bytes() for file in sorted((CORPUS / target).iterdir())]


def main() -> None:
    for target in TARGETS:
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for data in made(target):
            if data not in stored(target):
                (folder / sha256(data).hexdigest()[:16]).write_bytes(data)
        sizes = [len(data) for data in stored(target)]
        print(f"{target}: {len(sizes)} inputs, {sum(sizes):,} bytes")


if __name__ == "__main__":
    main()
