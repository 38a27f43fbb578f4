"""`python -m tests.compat.table_kills.staged_job ROWS ARGUMENTS`: the job, which tells its stages.

The command itself: it starts Spark, then waits for a line on its standard input, so that the next
job can start while one is at work. Each stage that it comes to is a line `stage: …` of its standard
error. Where ROWS is `rows`, it writes the rows of its table (0) and of its dead letters (1) to its
standard output in the end, as the session reads them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import Any
from unittest.mock import patch

from pyspark.sql import SparkSession

from pipeline.command import main as run_command
from pipeline.jobs import table
from pipeline.jobs.table import Filling, Target
from pipeline.tables.progress import DEAD_LETTERS
from pipeline.tables.table import open_table

READY, LOOKS, READS, LETTERS, BETWEEN, ROWS, BEHIND, MERGE = STAGES = (
    "Spark has started",
    "looks at the topic",
    "reads and checks",
    "dead letters' commit",
    "rows' commit behind the dead letters'",
    "rows' commit, no dead letters",
    "behind a commit",
    "merge",
)


def main() -> int:
    wants_rows, *arguments = sys.argv[1:]
    run = table.run

    def waits(spark: SparkSession, options: argparse.Namespace) -> int:
        tell(READY)
        if not sys.stdin.readline():
            return 1
        code = run(spark, options)
        if wants_rows == "rows":
            write_rows(spark, options)
        return code

    with ExitStack() as told:
        for where, name, stage in (
            (Filling, "catch_up", lambda *_: LOOKS),
            (Filling, "_load", lambda *_: READS),
            (Target, "append", Appends()),
            (Target, "look_after", lambda *_: BEHIND),
        ):
            told.enter_context(patch.object(where, name, tells(getattr(where, name), stage)))
        told.enter_context(patch.object(table, "open_table", merging))
        told.enter_context(patch.object(table, "run", waits))
        return run_command(arguments)


class Appends:
    """Which of both commits one is."""

    def __init__(self) -> None:
        self._letters = False

    def __call__(self, target: Target, *_: Any) -> str:
        if target.reached.of == DEAD_LETTERS:
            self._letters = True
            return LETTERS
        stage = BETWEEN if self._letters else ROWS
        self._letters = False
        return stage


def merging(spark: SparkSession, form: str, path: str, say: Callable[[str], None]) -> Any:
    """Return the table, which tells when it merges."""
    there: Any = open_table(spark, form, path, say)
    there.merge = tells(there.merge, lambda *_: MERGE)
    return there


def tells(work: Callable[..., Any], stage: Callable[..., str]) -> Callable[..., Any]:
    """The same, told first."""

    @wraps(work)
    def told(*given: Any, **named: Any) -> Any:
        tell(stage(*given))
        return work(*given, **named)

    return told


def tell(stage: str) -> None:
    print(f"stage: {stage}", file=sys.stderr, flush=True)


def write_rows(spark: SparkSession, options: argparse.Namespace) -> None:
    """`0 PARTITION OFFSET HEX` each."""
    columns = ("partition", "offset", "hex(CAST(value AS BINARY)) AS value")
    for number, path in enumerate((options.table, f"{options.table}-dead-letters")):
        for row in open_table(spark, options.to, path).read().selectExpr(*columns).collect():
            print(number, row.partition, row.offset, row.value)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
