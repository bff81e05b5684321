"""No check of the decoder can be taken out unnoticed: a vector fails for each."""

import ast
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from framehub.errors import MalformedFrame
from framehub.mfp import codec
from framehub.mfp.checksum import Checksums

SOURCE = Path(codec.__file__).read_text()
ERRORS = {"MalformedFrame", "ChecksumFailed"}


def is_check(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and isinstance(node.exc.func, ast.Name)
        and node.exc.func.id in ERRORS
    )


LINES = sorted(
    node.lineno for node in ast.walk(ast.parse(SOURCE)) if is_check(node) and hasattr(node, "lineno")
)


class TakeOut(ast.NodeTransformer):
    """Replace the check in one line by nothing."""

    def __init__(self, line: int) -> None:
        self.line = line

    def visit_Raise(self, node: ast.Raise) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node) if node.lineno == self.line else node


def without(line: int) -> ModuleType:
    """The codec without the check in ``line``."""
    tree = ast.fix_missing_locations(TakeOut(line).visit(ast.parse(SOURCE)))
    module = ModuleType("codec_without_a_check")
    exec(compile(tree, "codec_without_a_check", "exec"), module.__dict__)
    return module


def holds(decoder: ModuleType, case: Any) -> bool:
    most = {"verify_always": case.verify_always}
    if case.max_files is not None:
        most["max_files"] = case.max_files
    if case.max_payload is not None:
        most["max_payload"] = case.max_payload
    try:
        decoder.decode(
            bytes.fromhex(case.hex), Checksums(case.checksum.mode, case.checksum.algorithm), **most
        )
    except MalformedFrame as refusal:
        return (
            type(refusal).__name__ == case.error.type
            and case.error.reason in refusal.reason
            and case.error.offset == refusal.offset
        )
    except Exception:
        return False
    return False


def test_there_are_checks_to_take_out() -> None:
    assert len(LINES) > 20


@pytest.mark.parametrize("line", LINES)
def test_without_any_one_check_a_vector_fails(line: int, vector_files: dict[str, Any]) -> None:
    cases = vector_files["malformed.json"].cases
    decoder = without(line)
    assert not all(holds(decoder, case) for case in cases), f"no vector needs codec.py:{line}"
