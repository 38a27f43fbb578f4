"""Folders, clusters and Kafka's own system tests, as far as they were run: for the page."""

from __future__ import annotations

from collections import Counter

from tests.kafkatest.applicability import why_not
from tests.kafkatest.cases import read_suite
from tests.kafkatest.results import PASS, Result, read

FOLDERS = """## Folders and clusters of other releases

`python -m tests.compat.release_folders` formats a folder with each program at the levels of
`metadata.version` of both releases (30 is 4.3-IV0, 33 is 4.4-IV2) and fills it. Each program then
opens the folder, reads everything, writes more, and the first program opens it again:

| formatted by | level | Kafka 4.3.0 | Kafka 4.4.0 | Ottla |
| --- | --- | --- | --- | --- |
| Kafka 4.3.0 | 30 | opens, and back | opens, and back | opens, and back |
| Kafka 4.4.0 | 30 | opens, and back | opens, and back | opens, and back |
| Kafka 4.4.0 | 33 | does not know the level | opens, and back | opens, and back |
| Ottla | 30 | opens, and back | opens, and back | opens, and back |
| Ottla | 33 | does not know the level | opens, and back | opens, and back |

`python -m tests.chaos.rolling_release` rolls three nodes from one program to another, back, and to
the new one for good, while clients produce; then it raises the level. No acknowledged record was
lost from Kafka 4.3.0 to Ottla, from Kafka 4.4.0 to Ottla, from Ottla to Kafka 4.4.0, and from the
Ottla before to this one ([figures](../tests/chaos/results/2026-11-30-rolling-release.json)).
"""
SYSTEM_TESTS = """
## Kafka's own system tests

`python -m tests.kafkatest` runs Kafka's system tests unchanged, on hosts that are namespaces of one
machine ([how](../tests/kafkatest/README.md)). Its suite has a case for each test function and each
group protocol: {count} cases.

| result | cases |
| --- | --- |
{rows}
"""


def other_releases() -> str:
    """Return the two sections of the page."""
    results = read()
    counts = Counter(_outcome(results.get(case, Result()), why_not(case)) for case in read_suite())
    rows = "\n".join(f"| {outcome} | {count} |" for outcome, count in counts.most_common())
    return FOLDERS + SYSTEM_TESTS.format(count=counts.total(), rows=rows)


def _outcome(result: Result, why_not_run: str) -> str:
    if why_not_run:
        return f"not run: {why_not_run}"
    if not result.ottla:
        return "not run yet"
    if result.ottla == PASS:
        return "passed"
    on_kafka = "on Kafka, too" if result.kafka and result.kafka != PASS else "on Ottla only"
    return f"failed {on_kafka}: {result.reason or result.error}"
