"""The jobs through spark-submit on a standalone cluster of Spark, with executors of their own.

Executors are other processes here: what they need must come to them (the connector's jars, the code
of `replay`'s sending, confluent-kafka in their Python).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.spark_cluster import SparkCluster

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("spark") / "cluster") as cluster:
        yield cluster


def test_rows_of_a_file_through_executors_and_back(
    spark_cluster: SparkCluster, broker: str, tmp_path: Path
) -> None:
    file, table = tmp_path / "rows.csv", tmp_path / "table"
    with file.open("w", newline="") as out:
        csv.writer(out).writerows([("id", "n"), *((f"k{n % 7}", n) for n in range(500))])
    topic = f"submitted-{tmp_path.name.replace('_', '-')}"
    reach = ("--bootstrap-server", broker, "--topic", topic)
    rows = ("--files", str(file), "--format", "csv", "--key", "id")
    for job, arguments, said in (
        ("replay", (*reach, *rows), f"500 records into {topic}"),
        ("load", (*reach, "--table", str(table)), "run 1: 500 offsets of 6 partitions"),
    ):
        done = spark_cluster.submit(job, *arguments)
        assert done.returncode == 0, done.stderr[-4000:]
        assert said in done.stdout + done.stderr, done.stderr[-2000:]
    manifest = json.loads((table / "_load" / "000001.json").read_text())
    assert sum(manifest["ends"].values()) == 500
    assert any(table.glob("date=*/hour=*/*.parquet"))
