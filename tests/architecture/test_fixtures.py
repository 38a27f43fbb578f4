"""No test file imports from another: shared parts are in a file beside them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

import pytest

from tests.architecture.sources import nodes, not_shipped, relative

WORTH_A_LOOK = re.compile(r"\btests\b.*\btest_|\btests\b[^\n]*\bimport\s*\([^)]*\btest_")
"""The pattern of an import of a test file, or of a text that resembles one."""


def imports_of_tests(module: Iterable[ast.AST]) -> Iterator[str]:
    """Yield each test file that a file imports from."""
    for node in module:
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "tests" and parts[-1].startswith("test_"):
                yield name


def test_no_test_file_is_imported() -> None:
    candidates = [path for path in not_shipped() if WORTH_A_LOOK.search(path.read_text())]
    imports = [
        f"{relative(path)}: {name}" for path in candidates for name in imports_of_tests(nodes(path))
    ]
    assert imports == []


@pytest.mark.parametrize(
    "text",
    [
        "from tests.unit.test_a import b",
        "from tests.unit import a, test_a",
        "def f() -> None:\n    import tests.unit.test_a as a",
        "from tests.unit import (\n    a,\n    test_a,\n)",
    ],
)
def test_each_form_is_seen(text: str) -> None:
    assert WORTH_A_LOOK.search(text)
    assert len(list(imports_of_tests(ast.walk(ast.parse(text))))) == 1
