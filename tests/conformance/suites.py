"""Public test suites that were run against Ottla, each beside an Apache Kafka 4.3.0.

Data of `docs/compatibility.md`: what was run, with which command, and what did not pass. A test
that fails on Apache Kafka too says nothing of the broker; each other one has its reason.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """Tests that do not pass on Ottla, for one reason."""

    test: str
    on_kafka: str
    """"fails" or "passes": the same tests on Apache Kafka 4.3.0."""
    why: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite and its outcome."""

    name: str
    version: str
    source: str
    """The public repository or package."""
    command: str
    """Run in the suite's own folder, built as its authors say, beside a broker."""
    passed: int
    skipped: int
    when: str
    """The day, ISO 8601."""
    failures: tuple[Failure, ...] = ()
    note: str = ""


SUITES: tuple[Suite, ...] = ()
