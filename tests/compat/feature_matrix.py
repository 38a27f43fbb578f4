"""What each client showed, as a table at the end of a test run.

A test whose id has a client's name in it counts for that client, its function's name is the
feature. "n/a" is what a client does not have: the test skipped with a reason that begins so.
"""

from __future__ import annotations

import re

import pytest

MODULES = ("test_clients.py", "test_admin.py", "test_groups.py", "test_transactions.py")
CLIENTS = ("confluent-kafka", "kafka-python", "aiokafka")
NOT_AVAILABLE = "n/a"

_TEST = re.compile(r"([^/]+\.py)::test_([a-z0-9_]+)\[(.*)\]$")
_RANK = (NOT_AVAILABLE, "yes", "skipped", "FAILED")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table, where any of its tests ran."""
    table: dict[tuple[str, str], dict[str, str]] = {}
    for outcome in ("passed", "skipped", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, []):
            found = _TEST.search(report.nodeid)
            client = next((one for one in CLIENTS if found and one in found[3]), None)
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


def _shown(report: pytest.TestReport) -> str:
    if report.passed:
        return "yes"
    if report.skipped:
        return NOT_AVAILABLE if f"Skipped: {NOT_AVAILABLE}" in str(report.longrepr) else "skipped"
    return "FAILED"


def _line(feature: str, cells: list[str]) -> str:
    return f"{feature:64}" + "".join(f"{cell:17}" for cell in cells).rstrip()
