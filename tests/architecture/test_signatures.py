"""What a function takes and gives has a type: a ratchet that only goes down.

`Any` switches the type checker off for all that comes from it. Whoever takes one away lowers the
number.
"""

from __future__ import annotations

import ast
from pathlib import Path

from tests.architecture.sources import functions, sources

ANY_IN_SIGNATURES_MAX = 124


def any_in(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How often `Any` stands among the types of a function's arguments and of its result."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    types = [one.annotation for one in every] + [function.returns]
    return sum(
        isinstance(node, ast.Name) and node.id == "Any"
        for one in types
        if one is not None
        for node in ast.walk(one)
    )


def any_by_file() -> dict[Path, int]:
    return {path: sum(map(any_in, functions(path))) for path in sources()}


def test_no_more_any_in_signatures_than_there_are() -> None:
    assert sum(any_by_file().values()) <= ANY_IN_SIGNATURES_MAX


def test_the_count_sees_what_it_looks_for() -> None:
    (one,) = ast.parse("def f(a: Any, *b: int, **c: list[Any]) -> dict[str, Any]: ...").body
    assert isinstance(one, ast.FunctionDef)
    assert any_in(one) == 3
