"""What two test files share lies in a file beside them: none imports from another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.sources import not_shipped, relative, tree


def imports_of_tests(module: ast.Module) -> Iterator[str]:
    """Each test file that a file imports from."""
    for node in ast.walk(module):
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
    found = [
        f"{relative(path)}: {name}"
        for path in not_shipped()
        for name in imports_of_tests(tree(path))
    ]
    assert found == []
