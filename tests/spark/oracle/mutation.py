"""Breaking a module on purpose, in one place: what a judge must notice.

A place is found by machine, not by eye: the n-th spot in a function where a kind of change can be made. So
nobody who writes the oracle has to read what it judges.
"""

import ast
import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import NamedTuple

import pytest

Change = Callable[[ast.AST], ast.AST | None]
"""The node as it shall be instead; None if this change cannot be made there."""

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
}
OPPOSITES = {
    "first": "last",
    "last": "first",
    "min": "max",
    "max": "min",
    "min_by": "max_by",
    "max_by": "min_by",
    "isNull": "isNotNull",
    "isNotNull": "isNull",
    "least": "greatest",
    "greatest": "least",
}
WORDS = {"in": "out", "out": "in", "client": "service", "worker": "client", "query": "result"}


def _comparison(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.Compare) or type(node.ops[0]) not in COMPARISONS:
        return None
    return ast.Compare(node.left, [COMPARISONS[type(node.ops[0])](), *node.ops[1:]], node.comparators)


def _both(node: ast.AST) -> ast.AST | None:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.BitAnd):
        return None
    return ast.BinOp(node.left, ast.BitOr(), node.right)


def _not(node: ast.AST) -> ast.AST | None:
    return node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert) else None


def _opposite(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Name) and node.id in OPPOSITES:
        return ast.Name(OPPOSITES[node.id], node.ctx)
    if isinstance(node, ast.Attribute) and node.attr in OPPOSITES:
        return ast.Attribute(node.value, OPPOSITES[node.attr], node.ctx)
    return None


def _word(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in WORDS:
        return ast.Constant(WORDS[node.value])
    return None


def _number(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return ast.Constant(node.value + 1)
    return None


CHANGES: dict[str, Change] = {
    "comparison": _comparison,
    "both": _both,
    "not": _not,
    "opposite": _opposite,
    "word": _word,
    "number": _number,
}


class Place(NamedTuple):
    """The n-th spot of a function where this change can be made, counted from 0."""

    function: str
    change: str
    number: int


class _Changing(ast.NodeTransformer):
    def __init__(self, change: Change, wanted: int) -> None:
        self._change, self._wanted, self.seen = change, wanted, 0

    def visit(self, node: ast.AST) -> ast.AST:
        made = self._change(node)
        if made is not None:
            self.seen += 1
            if self.seen == self._wanted + 1:
                return ast.copy_location(made, node)
        return self.generic_visit(node)


def places(module: ModuleType) -> Iterator[Place]:
    """Every place in a module's own functions."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.FunctionDef):
            for name, change in CHANGES.items():
                count = _Changing(change, -1)
                for statement in node.body:
                    count.visit(statement)
                yield from (Place(node.name, name, number) for number in range(count.seen))


def break_at(module: ModuleType, place: Place, patched: pytest.MonkeyPatch) -> None:
    """Change the module in this place, for all who have its functions already.

    Raises:
        LookupError: there is no such place (any more).
    """
    tree = ast.parse(inspect.getsource(module))
    changing = _Changing(CHANGES[place.change], place.number)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == place.function:
            node.body = [changing.visit(statement) for statement in node.body]  # type: ignore[misc]
    if changing.seen <= place.number:
        raise LookupError(f"{module.__name__}: no {place}")
    whole = compile(ast.fix_missing_locations(tree), str(module.__file__), "exec")
    (code,) = [
        part for part in whole.co_consts if isinstance(part, CodeType) and part.co_name == place.function
    ]
    function = getattr(module, place.function)
    assert isinstance(function, FunctionType)
    patched.setattr(function, "__code__", code)
