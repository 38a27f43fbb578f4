"""Many sequences on both brokers: what they showed, counted, and each new difference made short.

Owns the report. A difference counts when it shows itself again in a second run of its sequence; one
that does not is told apart, as a race of the broker's own.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from tests.differential.pair import Pair, UnexplainedDifference
from tests.differential.sequence import Sequence
from tests.differential.shrink import RUNS_MAX, Shrinker

LONG_S = 10.0
"""After a sequence that took longer it is asked whether both brokers are well."""


@dataclass
class Finding:
    """One kind of unexplained difference, with the shortest sequence that shows it."""

    found: UnexplainedDifference
    sequence: Sequence
    times: int = 1

    def __str__(self) -> str:
        lines = [
            f"\nDIFFERS: {self.found.difference}",
            f"  in {self.found.step}",
            f"  by {self.sequence.name}:",
            *(f"    {step}" for step in self.sequence.steps),
        ]
        return "\n".join(lines)


@dataclass
class Report:
    """What a campaign showed."""

    sequences: int = 0
    seconds: float = 0.0
    asked: Counter[tuple[str, int]] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    findings: dict[tuple[str, ...], Finding] = field(default_factory=dict)
    not_again: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def add(self, other: Report) -> None:
        """Add what a campaign beside this one showed; it took as long as the longer of both."""
        self.sequences += other.sequences
        self.seconds = max(self.seconds, other.seconds)
        self.asked += other.asked
        self.rows += other.rows
        self.not_again += other.not_again
        self.skipped += other.skipped
        for signature, finding in other.findings.items():
            if signature in self.findings:
                self.findings[signature].times += finding.times
            else:
                self.findings[signature] = finding


class Campaign:
    """Runs sequences and keeps the report."""

    def __init__(
        self,
        pair: Pair,
        *,
        runs_max: int = RUNS_MAX,
        spoil: object = None,
        skip: str | None = None,
    ) -> None:
        """`runs_max`: of a sequence that is made short; 0 leaves it as it is."""
        self.report = Report()
        self._pair = pair
        self._runs_max = runs_max
        self._spoil = spoil
        self._skip = re.compile(skip) if skip else None

    def run(self, sequences: Iterable[Sequence]) -> Report:
        started = time.monotonic()
        for sequence in sequences:
            self.report.sequences += 1
            left: Sequence | None = sequence
            while left is not None:
                ended = self._one(left)
                left = None if ended is None else left.after_case(ended)
        self.report.seconds += time.monotonic() - started
        return self.report

    def _one(self, sequence: Sequence) -> int | None:
        """Run it; the step that ended it."""
        report = self.report
        started = time.monotonic()
        run = self._pair.run(sequence, self._spoil)
        if time.monotonic() - started > LONG_S:
            self._pair.check(sequence.name)
        report.asked += run.asked
        report.rows += run.rows
        seen: set[tuple[str, ...]] = set()
        for found in run.found:
            signature = found.signature
            if signature in seen:
                continue
            seen.add(signature)
            if self._skip is not None and self._skip.search(" ".join(signature)):
                report.skipped[" ".join(signature)] += 1
            elif signature in report.findings:
                report.findings[signature].times += 1
            elif not self._shows(sequence, signature):
                report.not_again.append(f"{sequence.name}: {found.step}\n    {found.difference}")
            else:
                short = self._short(sequence, found)
                report.findings[signature] = Finding(found, short)
                print(report.findings[signature], flush=True)
        return run.ended

    def _shows(self, sequence: Sequence, signature: tuple[str, ...]) -> bool:
        found = self._pair.run(sequence, self._spoil).found
        return any(one.signature == signature for one in found)

    def _short(self, sequence: Sequence, found: UnexplainedDifference) -> Sequence:
        if not self._runs_max:
            return sequence
        until = replace(sequence, steps=sequence.steps[: found.index + 1])
        if self._shows(until, found.signature):
            sequence = until
        still = partial(self._shows, signature=found.signature)
        return Shrinker(sequence, still, self._runs_max).shortest()
