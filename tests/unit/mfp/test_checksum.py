"""Sums over bytes, and what two peers can agree on."""

import importlib
import sys
import zlib

import pytest

from framehub.errors import ConfigError
from framehub.mfp import checksum
from framehub.mfp.checksum import BY_FLAG, OFF, Algorithm, Checksums


def test_crc32_is_the_one_of_zlib_in_network_order() -> None:
    assert checksum.crc32_number(b"123456789") == 0xCBF43926
    assert Checksums("flag", "crc32").of(b"123456789") == bytes.fromhex("cbf43926")


@pytest.mark.parametrize(
    ("data", "want"), [(b"", 0), (b"\x0f", 0x0F), (b"\x0f\xf0\x01", 0xFE), (b"ab" * 999, 0x03)]
)
def test_xor8_is_the_xor_of_all_bytes(data: bytes, want: int) -> None:
    assert checksum.xor8_number(data) == want


@pytest.mark.parametrize("algorithm", ["crc32", "xor8"])
def test_the_sum_of_pieces_is_that_of_the_whole(algorithm: Algorithm) -> None:
    checksums = Checksums("flag", algorithm)
    assert checksums.of_all([b"12", b"", b"3456789"]) == checksums.of(b"123456789")
    assert checksums.of_all([]) == checksums.of(b"")


@pytest.mark.parametrize(("algorithm", "size"), [("crc32", 4), ("xor8", 1)])
def test_the_sum_is_as_long_as_it_says(algorithm: checksum.Algorithm, size: int) -> None:
    agreed = Checksums("always", algorithm)
    assert agreed.size == size == len(agreed.of(memoryview(b"abc")))


def test_by_default_frames_say_whether_they_have_a_crc32() -> None:
    assert Checksums("flag", "crc32") == BY_FLAG
    assert OFF.mode == "off"


@pytest.mark.parametrize(("mode", "algorithm"), [("sometimes", "crc32"), ("flag", "md5")])
def test_what_nobody_can_agree_on_is_refused(mode: str, algorithm: str) -> None:
    with pytest.raises(ConfigError, match="is none of"):
        Checksums(mode, algorithm)  # type: ignore[arg-type]


def test_without_isal_the_sums_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    spec = importlib.util.find_spec("framehub.mfp.checksum")
    assert spec is not None
    assert spec.loader is not None
    slower = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(slower)
    assert slower._crc32 is zlib.crc32
    assert slower.crc32_number(b"123456789") == checksum.crc32_number(b"123456789")
