"""`python -m tests.compat.table_figures`: what a table of typed columns costs, and merging it.

`sum` sends JSON events to a topic, fills a table from it, and adds up one field of all of them in
Spark: by the stock Kafka source with `from_json`, and of the table. It tells the CPU time of Spark
a row, the least of some runs of each in turn. `merge` fills a table in many small commits and tells
how many files there are before and after they are merged. Each is one Spark session.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ottla.testing.broker_process import BrokerProcess
from pipeline.command import parser_for
from pipeline.jobs import table
from pipeline.spark import kafka_source
from pipeline.spark.connection import Connection
from pipeline.spark.session import make_session
from pipeline.tables.table import open_table
from pipeline.topics import Cluster

PARTITIONS = 6
SCHEMA = "id BIGINT, name STRING, at TIMESTAMP, amount DOUBLE, ok BOOLEAN, tags ARRAY<STRING>"
TOPIC = "figures"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("sum", "merge"))
    parser.add_argument("--to", choices=("delta", "iceberg"), default="delta")
    parser.add_argument("--events", type=int, default=1_000_000, help="of sum")
    parser.add_argument("--runs", type=int, default=4, help="of each query of sum")
    parser.add_argument("--batches", type=int, default=1_000, help="of merge")
    parser.add_argument("--conf", action="append", default=[], help="of Spark, as the jobs have it")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="table-figures-") as scratch, BrokerProcess() as broker:
        settings = [word for one in asked.conf for word in ("--conf", one)]
        figures = Figures(Path(scratch) / "table", broker.bootstrap_servers, asked.to, settings)
        if asked.what == "sum":
            return figures.sum(asked.events, asked.runs)
        return figures.merge(asked.batches)


class Figures:
    """A session, a topic and a table."""

    def __init__(self, path: Path, servers: str, to: str, settings: list[str]) -> None:
        self._to, self._path, self._servers = to, str(path), servers
        self._settings = settings
        self.spark = make_session("figures", self._options(), table.needs(self._options()))

    def sum(self, events: int, runs: int) -> int:
        """What a sum costs on both."""
        send(self._servers, events)
        cpu, took, _ = spent(lambda: self._fill("--value-format", "json", "--schema", SCHEMA))
        print(f"filled: {cpu / events * 1e6:.2f} µs of CPU a row, {took:.0f} s", flush=True)
        queries: dict[str, Callable[[], DataFrame]] = {
            "stock source, from_json": self._stock,
            f"{self._to} table": open_table(self.spark, self._to, self._path).read,
        }
        least: dict[str, float] = {}
        results = set()
        for _ in range(runs):
            for name, rows in queries.items():
                cpu, _, found = spent(lambda rows=rows: rows().agg(F.sum("amount")).collect())
                least[name] = min(cpu, least.get(name, cpu))
                results.add(found[0][0])
        assert len(results) == 1, results
        for name, cpu in least.items():
            print(f"sum, {name}: {cpu / events * 1e6:.2f} µs of CPU a row", flush=True)
        stock, of_table = least.values()
        print(f"the table is {stock / of_table:.1f} times cheaper", flush=True)
        return 0 if stock >= 5 * of_table else 1

    def merge(self, batches: int) -> int:
        """Files before and after."""
        send(self._servers, batches * PARTITIONS)
        never = ("--merge-above", "0", "--batch-max", str(PARTITIONS))
        _, took, _ = spent(lambda: self._fill(*never))
        there = open_table(self.spark, self._to, self._path)
        before, rows = there.size(), there.read().count()
        print(f"{batches:,} commits in {took:.0f} s: {before.files:,} files, {rows:,} rows")
        cpu, took, _ = spent(lambda: there.merge(table.FILE_MIB * 1024 * 1024, False))
        after = there.size()
        print(f"merged in {took:.1f} s, {cpu:.1f} s of CPU: {after.files:,} files", flush=True)
        assert there.read().count() == rows
        return 0 if after.files == 1 else 1

    def _stock(self) -> DataFrame:
        there = Connection(self._servers)
        ends = Cluster(there).ends(TOPIC)
        records = kafka_source.batch(self.spark, there, TOPIC, dict.fromkeys(ends, 0), ends)
        return records.select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("v")).select(
            "v.*"
        )

    def _fill(self, *more: str) -> int:
        return table.run(self.spark, self._options(*more))

    def _options(self, *more: str) -> argparse.Namespace:
        reach = ("--bootstrap-server", self._servers, "--topic", TOPIC, "--to", self._to)
        return parser_for("table").parse_args(
            ["table", *reach, "--table", self._path, *self._settings, *more]
        )


def spent(work: Callable[[], object]) -> tuple[float, float, object]:
    """CPU seconds of Spark's process and seconds that `work` took, and what it gave."""
    cpu, began = _cpu_s(), time.monotonic()
    found = work()
    return _cpu_s() - cpu, time.monotonic() - began, found


def _cpu_s() -> float:
    found = 0.0
    for child in psutil.Process(os.getpid()).children(recursive=True):
        if child.name() == "java":
            used = child.cpu_times()
            found += used.user + used.system
    return found


def send(servers: str, events: int) -> None:
    """JSON events of some 150 bytes, in six partitions."""
    admin = AdminClient({"bootstrap.servers": servers})
    (made,) = admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values()
    made.result(60)
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20})
    for number in range(events):
        event = {
            "id": number,
            "name": f"customer {number % 5_000}",
            "at": f"2026-03-02T12:{number // 60 % 60:02}:{number % 60:02}Z",
            "amount": number % 1_000 / 4,
            "ok": number % 7 > 0,
            "tags": ["a", f"b{number % 10}"],
        }
        while True:
            try:
                producer.produce(TOPIC, json.dumps(event), str(number % 5_000), number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(120) == 0


if __name__ == "__main__":
    sys.exit(main())
