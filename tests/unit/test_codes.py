"""Numbers and words of the wire."""

import re
from pathlib import Path

from framehub.codes import BinaryKind, CloseCode, ErrorCode, Kind, Protocol, Service

SPEC = (Path(__file__).parents[2] / "spec" / "mfp.md").read_text()


def test_every_number_fits_its_bits() -> None:
    assert all(0 < protocol < 6 for protocol in Protocol)
    assert all(0 < code < 8 for code in Service)
    assert sorted(BinaryKind) == [0, 1, 2, 3]


def test_the_spec_lists_exactly_the_error_codes() -> None:
    table = SPEC[SPEC.index("## 7.") : SPEC.index("## 8.")]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [code.value for code in ErrorCode]


def test_every_close_code_of_the_spec_has_a_name() -> None:
    """[MFP-9.2.1] 1007 for a checksum, 1002 for any other refused frame."""
    assert {int(code) for code in re.findall(r"close (1\d{3})", SPEC)} <= set(CloseCode)
    assert (CloseCode.BAD_CHECKSUM, CloseCode.PROTOCOL_ERROR) == (1007, 1002)


def test_every_type_of_frame_has_a_name_in_the_journal() -> None:
    assert {protocol.name.lower() for protocol in Protocol} < {kind.value for kind in Kind}
