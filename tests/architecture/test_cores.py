"""Cores do no I/O and keep their order (rule 2 of ARCHITECTURE.md)."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tests.architecture.sources import cores, nodes, relative

_CALLS = ("open", "print", "input", "exec", "eval", "__import__")
_SET_METHODS = ("union", "intersection", "difference", "symmetric_difference")


def is_a_set(node: ast.expr) -> bool:
    """Return whether an expression is a set, as far as the text alone shows."""
    if isinstance(node, ast.Set | ast.SetComp):
        return True
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            return node.func.id in ("set", "frozenset")
        return isinstance(node.func, ast.Attribute) and node.func.attr in _SET_METHODS
    return False


def iterated(module: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """Yield every expression that a loop, a comprehension or an ordering call iterates over."""
    for node in module:
        if isinstance(node, ast.For | ast.comprehension):
            yield node.iter
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("list", "tuple", "iter", "next", "enumerate")
        ):
            yield from node.args[:1]


def io_in(module: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each construct that only the shell may use."""
    for node in module:
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
            yield node.lineno, "async"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield from ((node.lineno, name) for name in _CALLS if name == node.func.id)


def test_a_core_opens_nothing_and_awaits_nothing() -> None:
    places = [(relative(path), *hit) for path in cores() for hit in io_in(nodes(path))]
    assert places == []


def test_a_core_never_walks_through_a_set() -> None:
    places = [
        f"{relative(path)}:{node.lineno}"
        for path in cores()
        for node in iterated(nodes(path))
        if is_a_set(node)
    ]
    assert places == []


def parsed(text: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(text)))


def test_the_checks_themselves_see_what_they_look_for() -> None:
    assert list(io_in(parsed("async def f(): pass\nopen('x')"))) == [(1, "async"), (2, "open")]
    module = parsed("for a in {1, 2}: pass\nlist(set(x))\n[a for a in x.union(y)]\nsorted(set(x))")
    assert [node.lineno for node in iterated(module) if is_a_set(node)] == [1, 2, 3]
