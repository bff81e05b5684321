"""Each fault of the recording breaks its rule as spec/audit.md says, and names the rows that show it."""

from typing import Any

import pytest

from framehub.errors import ChecksumFailed, MalformedFrame
from framehub.hub import headers
from framehub.journal.faults.recorded import FAULTS
from framehub.journal.rpc_rows import split
from framehub.mfp import codec
from framehub.mfp.checksum import Checksums
from framehub.rpc import messages
from tests.unit.journal.faults.alone import alone

SEEDS = range(12)


def decode(row: dict[str, Any]) -> Any:
    """What the row's bytes say, by the protocol's own decoder."""
    if row["protocol"] == "mfp":
        return codec.decode(row["raw"])
    if row["protocol"] == "hub":
        return headers.decode(row["raw"], 2, headers.Way.HUB_TO_CLIENT)
    parts = split(row["raw"])[1:]
    way = messages.Way.WORKER_TO_PROXY if row["kind"] == "heart_beat" else messages.Way.CLIENT_TO_PROXY
    assert messages.fault(way, parts) is None
    return parts


@pytest.mark.parametrize("seed", SEEDS)
def test_unlawful_bytes_are_refused_by_the_decoder(seed: int) -> None:
    (row,) = alone("raw-unlawful", seed).evidence()
    with pytest.raises(MalformedFrame) as caught:
        decode(row)
    assert not isinstance(caught.value, ChecksumFailed)
    assert (row["recorded"], row["refused"], row["bytes"]) == ("full", None, len(row["raw"]))


@pytest.mark.parametrize("seed", SEEDS)
def test_only_the_checksum_is_wrong(seed: int) -> None:
    (row,) = alone("raw-checksum", seed).evidence()
    with pytest.raises(ChecksumFailed):
        codec.decode(row["raw"])
    with pytest.raises(ChecksumFailed):
        codec.decode(row["raw"], Checksums(algorithm="xor8"))
    body = row["raw"][:-4]
    mended = codec.decode(body + Checksums().of(body))
    assert (mended.id, len(row["raw"])) == (row["id"], row["bytes"])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_columns_differ_from_lawful_bytes(seed: int) -> None:
    (row,) = alone("raw-differs", seed).evidence()
    said = decode(row)
    assert row["bytes"] == len(row["raw"])
    if row["protocol"] == "mfp":
        told = (said.id, 9, len(said.payload))
        assert (row["id"], row["payload_at"], row["payload_bytes"]) != told
    elif row["protocol"] == "hub":
        assert (row["id"], row["code"], row["key"]) == (said.stream, said.parameter, 9)
        assert row["key"] != said.parameter
    else:
        assert row["query"] != said[1]


@pytest.mark.parametrize("rule", ["raw-unlawful", "raw-differs"])
def test_every_protocol_has_its_turn(rule: str) -> None:
    assert {alone(rule, seed).evidence()[0]["protocol"] for seed in range(30)} == {"mfp", "rpc", "hub"}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_gap_lies_between_two_rows(seed: int) -> None:
    told = alone("journal-gap", seed)
    before, after = told.fault.evidence
    seqs = [row["seq"] for row in told.rows]
    assert seqs.index(after) == seqs.index(before) + 1
    assert after - before > 1


@pytest.mark.parametrize("rule", FAULTS)
def test_nothing_else_is_broken(rule: str) -> None:
    assert (alone(rule, 1).fault.rule, alone(rule, 1).fault.companions) == (rule, ())
