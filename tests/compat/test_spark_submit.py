"""The jobs through spark-submit on a standalone cluster of Spark, with executors of their own.

Executors are other processes here: what they need must come to them (the connector's jars, the code
of `replay`'s sending, confluent-kafka in their Python).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.spark_cluster import SparkCluster
from tests.tools.java_tools import PROJECT_DIR

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

EVENTS = "500"


@pytest.fixture(scope="module")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("spark") / "cluster") as cluster:
        yield cluster


def test_every_job_through_executors(
    spark_cluster: SparkCluster, broker: str, tmp_path: Path
) -> None:
    word = tmp_path.name.replace("_", "-")
    topic, again = f"cdr-{word}", f"again-{word}"
    table, sums = tmp_path / "table", str(tmp_path / "sums")
    reach = ("--bootstrap-server", broker, "--topic")
    subprocess.run(
        [
            *(sys.executable, "-m", "pipeline", "generate"),
            *(*reach, topic, "--events", EVENTS),
        ],
        cwd=PROJECT_DIR,
        check=True,
        timeout=120,
    )
    written = ("--results-topic", f"sums-{word}", "--dead-letters", f"dead-{word}")
    checkpoint = ("--checkpoint", str(tmp_path / "checkpoint"))
    everything = ("--table", str(table), "--aggregates", sums, *written)
    seed = ("--against-seed", "--events", EVENTS, "--report", str(tmp_path / "report.html"))
    for job, arguments, said in (
        ("stream", (topic, "--table", sums, *checkpoint, *written, "--once"), "done: all that"),
        ("load", (topic, "--table", str(table)), f"run 1: {EVENTS} offsets of 6 partitions"),
        ("audit", (topic, *everything, *seed), "nothing duplicated: 8 checks hold"),
        ("replay", (again, "--files", str(table)), f"{EVENTS} records into {again}"),
    ):
        done = spark_cluster.submit(job, *reach, *arguments)
        assert done.returncode == 0, done.stderr[-4000:]
        assert said in done.stdout + done.stderr, done.stderr[-2000:]
    manifest = json.loads((table / "_load" / "000001.json").read_text())
    assert sum(manifest["ends"].values()) == int(EVENTS)
    assert any(table.glob("date=*/hour=*/*.parquet"))
