"""The results of a run: by candidate and measure its values, or why there are none."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.kept_json import write_json

GIVEN_UP_AFTER = 2

ByMeasure = dict[str, dict[str, list[float]]]


@dataclass(slots=True)
class Results:
    """The results of a run, by candidate and measure.

    `values` are in milliseconds, `failures` are lines, `lacking` has the reason why a measure is
    missing. `candidates` describes each candidate.
    """

    machine: dict[str, str]
    candidates: dict[str, str]
    rounds: int
    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    failures: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    lacking: dict[str, dict[str, str]] = field(default_factory=dict)

    def add(self, candidate: str, measure: str, milliseconds: float) -> None:
        """Add a value."""
        values = self.values.setdefault(candidate, {}).setdefault(measure, [])
        values.append(round(milliseconds, 3))

    def fails(self, candidate: str, measure: str, error: str) -> None:
        """Add a failed measurement."""
        self.failures.setdefault(candidate, {}).setdefault(measure, []).append(error)

    def lacks(self, candidate: str, measure: str, reason: str) -> None:
        """Record that a measure cannot be measured."""
        self.lacking.setdefault(candidate, {})[measure] = reason

    def of(self, candidate: str, measure: str) -> list[float]:
        """Return the values of a measure, none if there are none."""
        return self.values.get(candidate, {}).get(measure, [])

    def is_given_up(self, candidate: str, measure: str) -> bool:
        """Return whether it has no values and failed at least GIVEN_UP_AFTER times."""
        failed = self.failures.get(candidate, {}).get(measure, [])
        return len(failed) >= GIVEN_UP_AFTER and not self.of(candidate, measure)

    def missed(self, candidate: str, goals_ms: Mapping[str, float]) -> list[str]:
        """Return the measures whose median is over its goal, or that have no values."""
        return [
            measure
            for measure, goal in goals_ms.items()
            if not (values := self.of(candidate, measure)) or statistics.median(values) > goal
        ]

    def save(self, path: Path) -> None:
        """Write every value as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, asdict(self))

    @classmethod
    def load(cls, path: Path) -> Results:
        """Read the file that `save` wrote. Raises ValueError if it is another kind of file."""
        try:
            return cls(**json.loads(path.read_text()))
        except TypeError as error:
            raise ValueError(f"{path} is no result of bench.testing") from error
