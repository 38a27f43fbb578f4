"""Work for which Spark had too little memory is tried a second time, with smaller batches."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import PySparkException

from pipeline.spark.memory import with_memory

HEAP = PySparkException("Job aborted: java.lang.OutOfMemoryError: Java heap space")
ARROW = PySparkException("org.apache.arrow.memory.OutOfMemoryException: Failure allocating buffer.")
BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"


class Session:
    """A session that has settings and nothing else."""

    def __init__(self) -> None:
        self.conf = self
        self.settings: dict[str, str] = {}

    def get(self, key: str, default: str | None) -> str | None:
        return self.settings.get(key, default)

    def set(self, key: str, value: str) -> None:
        self.settings[key] = value


def tried(session: Any, *turns: Exception | int) -> tuple[int, int]:
    """The result of work whose tries end as `turns` says, and how often it was told of memory."""
    left, told = list(turns), []

    def work() -> int:
        turn = left.pop(0)
        if isinstance(turn, Exception):
            raise turn
        return turn

    return with_memory(session, work, lambda: told.append(1)), len(told)


@pytest.mark.parametrize("error", [HEAP, ARROW])
def test_a_second_try_has_smaller_batches(error: Exception) -> None:
    session = Session()
    assert tried(session, 5) == (5, 0) and not session.settings
    assert tried(session, error, 7) == (7, 1)
    assert session.settings == {BATCH_BYTES: str(4 * 1024 * 1024)}


def test_there_is_no_third_try_and_none_for_other_errors() -> None:
    session = Session()
    with pytest.raises(PySparkException, match="disk"):
        tried(session, PySparkException("a disk is full"), 7)
    with pytest.raises(PySparkException, match="Failure allocating"):
        tried(session, HEAP, ARROW, 7)
    with pytest.raises(PySparkException, match="heap space"):
        tried(session, HEAP, 7)
