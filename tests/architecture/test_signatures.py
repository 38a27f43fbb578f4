"""The types of parameters and results: the number of `Any` only falls.

`Any` switches the type checker off for every value that comes from it. A change that removes one
lowers the number.
"""

from __future__ import annotations

import ast
from pathlib import Path

from tests.architecture.sources import functions, sources

ANY_IN_SIGNATURES_MAX = 124


def any_in(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how often `Any` occurs in the types of a function's parameters and result."""
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    parameters += [
        parameter for parameter in (arguments.vararg, arguments.kwarg) if parameter is not None
    ]
    types = [parameter.annotation for parameter in parameters] + [function.returns]
    return sum(
        isinstance(node, ast.Name) and node.id == "Any"
        for annotation in types
        if annotation is not None
        for node in ast.walk(annotation)
    )


def any_by_file() -> dict[Path, int]:
    return {path: sum(map(any_in, functions(path))) for path in sources()}


def test_no_more_any_in_signatures_than_there_are() -> None:
    assert sum(any_by_file().values()) <= ANY_IN_SIGNATURES_MAX


def test_the_count_sees_what_it_looks_for() -> None:
    (function,) = ast.parse("def f(a: Any, *b: int, **c: list[Any]) -> dict[str, Any]: ...").body
    assert isinstance(function, ast.FunctionDef)
    assert any_in(function) == 3
