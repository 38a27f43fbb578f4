"""The file `results.toml`: the last result of each case on Ottla, and on Kafka where that ran too.

A run writes a case's row at once, so that a later run continues where this one ended. `reason` is
written by a person: what a failure is due to. It stays until the case passes.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from tests.kafkatest.cases import Case

RESULTS = Path(__file__).parent / "results.toml"
HEADER = """\
# Written by `python -m tests.kafkatest` after each case; to be committed. Only `reason`, what a
# failure is due to, is written by a person. README.md says what the fields mean.

"""
PASS, FAIL = "pass", "fail"


@dataclass(frozen=True)
class Result:
    """The last results of a case."""

    ottla: str = ""
    """`pass`, `fail`, or empty if the case has not run on Ottla."""
    commit: str = ""
    """The commit of Ottla."""
    at: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    """The time at which the case ended on Ottla."""
    seconds: int = 0
    """The duration on Ottla."""
    error: str = ""
    """The first line of the failure on Ottla."""
    kafka: str = ""
    """`pass`, `fail`, or empty if the case has not run on Kafka."""
    version: str = ""
    """The release of Kafka that ran."""
    reason: str = ""
    """The cause of the failure, as a person wrote it."""

    @property
    def is_fault(self) -> bool:
        """True if the case fails on Ottla and passes on Kafka, and no reason explains it."""
        return self.ottla == FAIL and self.kafka == PASS and not self.reason

    def is_decided(self, version: str) -> bool:
        """Return True if this release of Kafka has run the case."""
        return bool(self.kafka) and self.version == version

    def after_ottla(
        self, *, passed: bool, commit: str, at: datetime, seconds: float, error: str
    ) -> Result:
        """Return the row after a run on Ottla. A pass deletes the reason for a failure."""
        return replace(
            self,
            ottla=PASS if passed else FAIL,
            commit=commit,
            at=at,
            seconds=round(seconds),
            error="" if passed else error,
            reason="" if passed else self.reason,
        )

    def after_kafka(self, *, passed: bool, version: str) -> Result:
        """Return the row after a run on Kafka."""
        return replace(self, kafka=PASS if passed else FAIL, version=version)

    def __str__(self) -> str:
        """Return the row as an inline table of TOML, without empty fields."""
        fields = []
        for name, value in vars(self).items():
            if isinstance(value, datetime):
                shown = value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if self.ottla else ""
            else:
                shown = json.dumps(value) if value else ""
            if shown:
                fields.append(f"{name} = {shown}")
        return f"{{ {', '.join(fields)} }}"


def read() -> dict[Case, Result]:
    """Return the rows of the file by case."""
    rows = tomllib.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return {Case.parse(name): Result(**row) for name, row in rows.items()}


def record(case: Case, result: Result) -> None:
    """Write a case's row, and the other rows as the file has them now."""
    rows = sorted({**read(), case: result}.items())
    # Names have double quotes, in JSON, but no single ones.
    RESULTS.write_text(HEADER + "".join(f"'{name}' = {row}\n" for name, row in rows))


def waiting(cases: Iterable[Case], results: Mapping[Case, Result]) -> list[Case]:
    """Return the cases in the order of a run: those never run on Ottla, then those of longest
    ago."""
    order = list(cases)
    never = [case for case in order if not results.get(case, Result()).ottla]
    others = [case for case in order if case not in set(never)]
    return never + sorted(others, key=lambda case: results[case].at)
