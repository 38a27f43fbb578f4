"""Files and functions stay small: the number of long ones only falls.

Refused: every file over 600 lines and every function over 70. Between the aim of 60 lines and that,
there are no more functions than today; a change that shortens one lowers the number. Files have no
aim: a file ends where its concept ends, and `test_owners.py` refuses a class cut in two.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.architecture.sources import functions, not_shipped, relative, scripts, sources

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
FUNCTION_LINES_WISHED = 60
FUNCTIONS_OVER_THE_WISH = 0
SCRIPT_LINES_MAX = 300
SCRIPT_COLUMNS_MAX = 100


def lines_of(path: Path) -> int:
    return len(path.read_text().splitlines())


def function_lengths(path: Path) -> list[tuple[str, int]]:
    return [
        (
            f"{relative(path)}:{function.lineno} {function.name}",
            (function.end_lineno or function.lineno) - function.lineno + 1,
        )
        for function in functions(path)
    ]


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(sources, id="shipped"),
        pytest.param(not_shipped, id="not shipped", marks=pytest.mark.slow),
    ],
)
def test_no_file_and_no_function_is_over_the_limit(files: Callable[[], list[Path]]) -> None:
    assert [relative(path) for path in files() if lines_of(path) > FILE_LINES_MAX] == []
    lengths = [length for path in files() for length in function_lengths(path)]
    assert [length for length in lengths if length[1] > FUNCTION_LINES_MAX] == []


def test_no_more_long_functions_than_there_are() -> None:
    long = [
        name
        for path in sources()
        for name, length in function_lengths(path)
        if length > FUNCTION_LINES_WISHED
    ]
    assert len(long) <= FUNCTIONS_OVER_THE_WISH, long


def test_javascript_is_no_longer_and_no_wider_than_the_rest() -> None:
    """Measure columns too, because the formatter does not break sentences within a template."""
    assert [relative(path) for path in scripts() if lines_of(path) > SCRIPT_LINES_MAX] == []
    wide = [
        f"{relative(path)}:{number}"
        for path in scripts()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > SCRIPT_COLUMNS_MAX
    ]
    assert wide == []
