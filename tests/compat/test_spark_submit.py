"""The jobs through spark-submit on a standalone cluster of two workers, with their own executors.

Executors are other processes here: what they need must come to them (the connector's jars and
Delta's, the code of `replay`'s sending and of the reader of folders, confluent-kafka in their
Python). Every job, also behind Spark Connect: `python -m tests.compat.spark_places`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.tools.java_tools import PROJECT_DIR

if TYPE_CHECKING:
    from tests.compat.spark_cluster import SparkCluster

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]

EVENTS = "500"


@pytest.fixture(scope="module")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    from tests.compat.spark_cluster import SparkCluster

    with SparkCluster(tmp_path_factory.mktemp("spark") / "cluster") as cluster:
        yield cluster


def test_every_job_through_executors(
    spark_cluster: SparkCluster, broker: str, broker_log_dir: Path, tmp_path: Path
) -> None:
    from deltalake import DeltaTable

    word = tmp_path.name.replace("_", "-")
    topic, again = f"cdr-{word}", f"again-{word}"
    table, sums = tmp_path / "table", str(tmp_path / "sums")
    delta, of_folder = tmp_path / "delta", tmp_path / "of-folder"
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
    copied = tmp_path / "copied"
    for one in broker_log_dir.glob(f"{topic}-*"):
        shutil.copytree(one, copied / one.name)
    written = ("--results-topic", f"sums-{word}", "--dead-letters", f"dead-{word}")
    checkpoint = ("--checkpoint", str(tmp_path / "checkpoint"))
    everything = ("--table", str(table), "--aggregates", sums, *written)
    seed = ("--against-seed", "--events", EVENTS, "--report", str(tmp_path / "report.html"))
    done = spark_cluster.submit(
        ("stream", *reach, topic, "--table", sums, *checkpoint, *written, "--once"),
        ("load", *reach, topic, "--table", str(table)),
        ("table", *reach, topic, "--to", "delta", "--table", str(delta)),
        ("load", "--from-folder", str(copied), "--topic", topic, "--table", str(of_folder)),
        ("audit", *reach, topic, *everything, *seed),
        ("replay", *reach, again, "--files", str(table)),
    )
    assert done.returncode == 0, done.stderr[-4000:]
    for said in (
        "stream: done: all that was there",
        f"load: run 1: {EVENTS} offsets of 6 partitions into {table}",
        f"table: run 1: {EVENTS} offsets of 6 partitions into {delta}",
        f"load: run 1: {EVENTS} offsets of 6 partitions into {of_folder}",
        "nothing duplicated: 9 checks hold",
        f"{EVENTS} records into {again}",
    ):
        assert said in done.stdout + done.stderr, done.stderr[-4000:]
    assert spark_cluster.workers_that_ran() == 2
    for one in (table, of_folder):
        manifest = json.loads((one / "_load" / "000001.json").read_text())
        assert sum(manifest["ends"].values()) == int(EVENTS)
        assert any(one.glob("date=*/hour=*/*.parquet"))
    assert DeltaTable(str(delta)).to_pyarrow_table().num_rows == int(EVENTS)
