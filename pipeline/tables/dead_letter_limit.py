"""The limit of `--max-dead-letters`: the number of dead letters at which the job ends.

The job counts after each commit, so the limit reverts nothing: rows, dead letters and offsets of
the run that exceeds the limit are in the tables, and the next start reads behind them. Owns the
option's text and the exit code. Pure: knows no Spark.
"""

from __future__ import annotations

import math
from argparse import ArgumentTypeError
from collections import deque
from dataclasses import dataclass

from pipeline.errors import PipelineError

EXIT_DEAD_LETTERS = 3
JUDGED_RECORDS_MIN = 1_000
"""The least number of records, in the newest runs together, to which a share applies."""


class TooManyDeadLetters(PipelineError):
    """The error for more dead letters than `--max-dead-letters` permits."""

    exit_code = EXIT_DEAD_LETTERS


@dataclass(frozen=True, slots=True)
class Limit:
    """A number of dead letters, or a share of the records in percent; the other value is None."""

    count: int | None = None
    percent: float | None = None

    def __str__(self) -> str:
        return f"{self.count}" if self.percent is None else f"{self.percent:g}%"


def limit(text: str) -> Limit:
    """Return the limit that a text such as `100` or `0.5%` gives. Raises ArgumentTypeError for
    another text."""
    try:
        if text.endswith("%"):
            percent = float(text[:-1])
            if math.isfinite(percent) and 0 <= percent < 100:
                return Limit(percent=percent)
        elif (count := int(text)) >= 0:
            return Limit(count)
    except ValueError:
        pass
    raise ArgumentTypeError(
        f"{text!r}: a number of records from 0, or a share of them below 100% such as 0.5%, is "
        "wanted"
    )


def counted(count: int, noun: str) -> str:
    """Return a count in words, such as `1 row` and `2,000 rows`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


class DeadLetterLimit:
    """The numbers of rows and dead letters since a job began, with the limit of the job, if any."""

    def __init__(self, of: Limit | None, goes_on: bool, path: str) -> None:
        """Begin at zero. `of` is the limit; `goes_on` is true if the job runs until it is stopped;
        `path` is the table of dead letters."""
        self._limit = of
        self._goes_on = goes_on
        self._path = path
        self._dead_letters = 0
        self._runs: deque[tuple[int, int]] = deque()

    def check(self, rows: int, dead_letters: int) -> None:
        """Count a committed run. Raises TooManyDeadLetters if it exceeds the limit.

        A number applies to all dead letters since the job began. A share applies to the newest runs
        with `JUDGED_RECORDS_MIN` records together; a job that goes on does not apply it to fewer.
        """
        if self._limit is None:
            return
        self._dead_letters += dead_letters
        self._runs.append((rows + dead_letters, dead_letters))
        while self._records() - self._runs[0][0] >= JUDGED_RECORDS_MIN:
            self._runs.popleft()
        records = self._records()
        if self._limit.count is not None:
            if self._dead_letters > self._limit.count:
                raise self._exceeded(
                    f"{counted(self._dead_letters, 'dead letter')} since the job began"
                )
        elif self._limit.percent is not None:
            recent = sum(letters for _, letters in self._runs)
            is_judged = records >= (JUDGED_RECORDS_MIN if self._goes_on else 1)
            if is_judged and recent * 100 > self._limit.percent * records:
                shown = f"{recent:,} of {records:,} records are dead letters"
                raise self._exceeded(f"{shown} ({100 * recent / records:.3g}%)")

    def _records(self) -> int:
        return sum(records for records, _ in self._runs)

    def _exceeded(self, counted: str) -> TooManyDeadLetters:
        return TooManyDeadLetters(
            f"{counted}, more than --max-dead-letters {self._limit}: all of them are committed, "
            f"with the reasons, to {self._path}, and the next start reads on behind them; mend "
            "the schema or the producer, and send them again with replay"
        )
