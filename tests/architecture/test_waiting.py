"""Tests wait for events, never for a fixed time, and do not assert that an action was quick.

They wait by `tests/tools/waiting.py` or in virtual time; `bench/` measures time.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.architecture.sources import not_shipped, relative, tree

WORTH_A_LOOK = re.compile(r"\bsleep\b|\bselect\b|\bassert\b.*\b(monotonic|perf_counter|\w+_time)\(")
RECORDERS = re.compile(r"tests/golden/(?!test_)")
"""Programs that record Apache Kafka's answers, by hand: a person reads them before they are kept.
"""
EXCEPTIONS = {
    "tests/chaos/abandoned_transactions.py": "a coordinator is dead for a while beside a workload",
    "tests/chaos/nemesis.py": "a fault lasts for a while beside a workload",
    "tests/chaos/hostile_memory.py": "no test: it prints figures, by hand",
}
"""The files that may wait for a fixed time, each with the reason."""
SLEEPS = ("sleep", "time.sleep", "asyncio.sleep")
CLOCKS = tuple(
    f"{prefix}{name}"
    for prefix in ("", "time.")
    for name in ("monotonic", "perf_counter", "process_time", "thread_time")
)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def bets_on_time(node: ast.AST, in_loop: bool = False) -> Iterator[str]:
    """Yield each sleep of a fixed time and assertion of a short time, unless a loop repeats it.

    Yield each `select` too: it takes no descriptor above 1,023, which a long run has.
    """
    for child in ast.iter_child_nodes(node):
        within = isinstance(child, LOOPS) or (in_loop and not isinstance(child, FUNCTIONS))
        called = ast.unparse(child.func) if isinstance(child, ast.Call) else ""
        if called == "select.select" or (
            not within and (_is_quick(child) or (called in SLEEPS and _is_fixed(child)))
        ):
            yield f"{child.lineno}: {ast.unparse(child)}"  # type: ignore[attr-defined]
        yield from bets_on_time(child, within)


def _is_fixed(call: ast.AST) -> bool:
    """Return whether the time of a sleep is a positive number."""
    first = call.args[0] if isinstance(call, ast.Call) and call.args else None
    number = first.value if isinstance(first, ast.Constant) else None
    return isinstance(number, int | float) and number > 0


def _is_quick(statement: ast.AST) -> bool:
    """Return whether a statement asserts that less than some time has passed."""
    if not isinstance(statement, ast.Assert) or not isinstance(statement.test, ast.Compare):
        return False
    return any(isinstance(operator, ast.Lt | ast.LtE) for operator in statement.test.ops) and any(
        isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub) and _is_clock(part.left)
        for part in ast.walk(statement.test)
    )


def _is_clock(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in CLOCKS


def test_no_test_bets_on_time() -> None:
    seen = {
        relative(path): list(bets_on_time(tree(path)))
        for path in not_shipped()
        if relative(path).startswith("tests/") and WORTH_A_LOOK.search(path.read_text())
    }
    betting = {name for name, bets in seen.items() if bets and not RECORDERS.match(name)}
    assert {name: seen[name] for name in sorted(betting - EXCEPTIONS.keys())} == {}
    assert sorted(EXCEPTIONS.keys() - betting) == [], "these need no exception"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("def f():\n    time.sleep(0.5)", 1),
        ("async def f():\n    await asyncio.sleep(1)", 1),
        ("while wrong():\n    def f():\n        time.sleep(2)", 1),
        ("f(lambda: sleep(0.1))", 1),
        ("for _ in range(2):\n    select.select([], [], [], 0)", 1),
        ("assert time.monotonic() - began < 5", 1),
        ("assert 0.1 < time.process_time() - began <= 5", 1),
        ("while wrong():\n    time.sleep(0.1)", 0),
        ("while wrong():\n    if late():\n        await asyncio.sleep(0.1)", 0),
        ("while wrong():\n    assert time.monotonic() - began < 90", 0),
        ("assert time.monotonic() - began >= 0.1", 0),
        ("await asyncio.sleep(0)", 0),
        ("clock.sleep(1.0)", 0),
        ("time.sleep(seconds)", 0),
    ],
)
def test_each_form_is_seen(text: str, count: int) -> None:
    assert len(list(bets_on_time(ast.parse(text)))) == count
