"""What each client showed, as a table at the end of a test run.

A test whose id has a client's name in it counts for that client, its function's name is the
feature. "n/a" is what a client does not have: the test skipped with a reason that begins so.
"""

from __future__ import annotations

import re

import pytest

MODULES = ("test_clients.py", "test_admin.py", "test_groups.py", "test_transactions.py")
CLIENTS = (
    "confluent-kafka",
    "confluent-kafka/consumer",
    "kafka-python",
    "aiokafka",
    "java",
    "java/consumer",
)
"""`/consumer`: in groups of the consumer protocol."""
NOT_AVAILABLE = "n/a"

_TEST = re.compile(r"([^/]+\.py)::test_([a-z0-9_]+)\[(.*)\]$")
_RANK = (NOT_AVAILABLE, "yes", "skipped", "FAILED")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table, where any of its tests ran."""
    table: dict[tuple[str, str], dict[str, str]] = {}
    for outcome in ("passed", "skipped", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, []):
            found = _TEST.search(report.nodeid)
            client = _client_of(found[3]) if found else None
            if found is None or client is None or found[1] not in MODULES:
                continue
            row = table.setdefault((found[1], found[2]), {})
            row[client] = max(row.get(client, NOT_AVAILABLE), _shown(report), key=_RANK.index)
    if not table:
        return
    terminalreporter.section("features by client")
    terminalreporter.write_line(_line("", list(CLIENTS)))
    for (_, feature), row in sorted(table.items()):
        cells = [row.get(client, NOT_AVAILABLE) for client in CLIENTS]
        terminalreporter.write_line(_line(feature.replace("_", " "), cells))


def _client_of(parameters: str) -> str | None:
    """The client that a test's parameters name: the longest name that fits."""
    return max((one for one in CLIENTS if one in parameters), key=len, default=None)


def _shown(report: pytest.TestReport) -> str:
    if report.passed:
        return "yes"
    if report.skipped:
        return NOT_AVAILABLE if f"Skipped: {NOT_AVAILABLE}" in str(report.longrepr) else "skipped"
    return "FAILED"


def _line(feature: str, cells: list[str]) -> str:
    columns = zip(cells, CLIENTS, strict=True)
    return f"{feature:64}" + "".join(f"{cell:{len(one) + 2}}" for cell, one in columns).rstrip()
