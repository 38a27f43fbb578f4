"""The job that docker-compose.yml starts: its query on a real broker, and the program around it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.tools.java_tools import PROJECT_DIR

if TYPE_CHECKING:
    from tests.compat.spark_session import Kafka

JOB = PROJECT_DIR / "pipeline" / "count_topics.py"


def last_counts(kafka: Kafka, topic: str) -> dict[str, int]:
    rows = kafka.read(topic).selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)", "offset")
    return {row.key: int(row.value) for row in sorted(rows.collect(), key=lambda row: row.offset)}


@pytest.mark.spark
@pytest.mark.timeout(240)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_it_counts_and_goes_on_counting(kafka: Kafka, tmp_path: Path) -> None:
    from pipeline.count_topics import start

    events, other, counts = (kafka.topic(n, prefix="counted") for n in (2, 1, 1))
    settings = {
        "BOOTSTRAP_SERVERS": kafka.bootstrap,
        "TOPICS": f"{events[:-1]}.*",
        "COUNTS_TOPIC": counts,
        "CHECKPOINT": str(tmp_path / "checkpoint"),
        "ONCE": "1",
    }
    for round_number in (1, 2):
        records = [{"value": b"x", "partition": one % 2} for one in range(7)]
        kafka.produce(events, records)
        kafka.produce(other, [{"value": b"x"}])
        start(kafka.spark, settings).awaitTermination()
        assert last_counts(kafka, counts) == {
            f"{events}-0": 4 * round_number,
            f"{events}-1": 3 * round_number,
        }


def test_a_missing_setting_is_one_line() -> None:
    done = subprocess.run(
        [sys.executable, str(JOB)],
        env={"PATH": os.environ["PATH"], "TOPICS": "t", "CHECKPOINT": "c"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr == ("count_topics: set BOOTSTRAP_SERVERS, COUNTS_TOPIC in the environment\n")
