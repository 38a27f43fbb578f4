"""Rows a second of Spark's stock Kafka source, reading the same records from both brokers.

Both brokers run for the whole time and hold the same records: 100-byte values with keys in six
partitions, uncompressed, in batches of 4,000 (half a megabyte) that are encoded beforehand. One
Spark, `local[2]`, reads the whole topic from each in turn, and computes count and sum of lengths:
so it reads every row and writes nothing. The first reading of each broker does not count, because
it warms Spark and the page cache.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from bench.peers import BenchPeer, cpu_seconds, start_peer
from bench.wire import PRODUCE_VERSION, Wire, create_topic
from protocol.errors import ErrorCode
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.batches import build_batch
from tests.tools.java_tools import spark_jars

PARTITIONS = 6
VALUE_BYTES = 100
BATCH_RECORDS = 4_000
TOPIC = "rows"


def fill(peer: BenchPeer, records: int) -> None:
    """Produce the same records to either broker, in batches that are encoded beforehand."""
    create_topic(peer.port, TOPIC, PARTITIONS)
    wire = Wire(peer.port)
    for partition in range(PARTITIONS):
        left = records // PARTITIONS + (partition < records % PARTITIONS)
        whole, rest = divmod(left, BATCH_RECORDS)
        for number, count in ((BATCH_RECORDS, whole), (rest, 1 if rest else 0)):
            request = _produce(partition, number)
            for _ in range(count):
                _send(wire, request)
    wire.close()


def _send(wire: Wire, request: ProduceRequest) -> None:
    """Send the request until it is stored: the leader may not have opened its log yet."""
    while True:
        (answer,) = wire.ask(request, PRODUCE_VERSION).responses[0].partition_responses
        error = ErrorCode(answer.error_code)
        if not error:
            return
        if error != ErrorCode.NOT_LEADER_OR_FOLLOWER:
            raise RuntimeError(f"produce is refused: {error.name}")
        time.sleep(0.05)


def _produce(partition: int, records: int) -> ProduceRequest:
    """Return a Produce of one batch, whose records differ in key and value."""
    now_ms = int(time.time() * 1000)
    batch = build_batch(
        Record(-1, now_ms, b"k%d" % (number % 1000), b"%0*d" % (VALUE_BYTES, number))
        for number in range(records)
    )
    data = [TopicProduceData(TOPIC, partition_data=[PartitionProduceData(partition, batch)])]
    return ProduceRequest(None, 1, 30_000, data)


def session() -> SparkSession:
    """Return the Spark session of all readings."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.jars": ",".join(spark_jars()),
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("ottla-bench")
    spark = builder.config(map=dict[str, Any](settings)).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def read(spark: SparkSession, peer: BenchPeer, records: int) -> tuple[float, float]:
    """Return the rows a second, and the broker's CPU seconds for a million rows."""
    cpu, began = cpu_seconds(peer.pid), time.perf_counter()
    frame = spark.read.format("kafka").option("kafka.bootstrap.servers", f"127.0.0.1:{peer.port}")
    rows = frame.option("subscribe", TOPIC).load()
    totals = rows.agg(F.count(F.lit(1)).alias("n"), F.sum(F.length("value")).alias("b")).collect()
    spent = time.perf_counter() - began
    assert (totals[0].n, totals[0].b) == (records, records * VALUE_BYTES), totals
    return records / spent, (cpu_seconds(peer.pid) - cpu) * 1e6 / records


def run(records: int, rounds: int, output: Path | None) -> int:
    """Measure, print, and return the exit code."""
    peers: list[BenchPeer] = []
    results: dict[str, list[tuple[float, float]]] = {name: [] for name in ("ottla", "kafka")}
    try:
        for name in results:
            print(f"filling {name} with {records:,} records", file=sys.stderr)
            peers.append(start_peer(name))
            fill(peers[-1], records)
        with session() as spark:
            for number in range(rounds + 1):
                for peer in peers if number % 2 else reversed(peers):
                    measured = read(spark, peer, records)
                    print(f"  {peer.name}: {measured[0]:,.0f} rows/s", file=sys.stderr)
                    if number:
                        results[peer.name].append(measured)
    finally:
        for peer in peers:
            peer.stop()
    print(
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"{records:,} records, {rounds} rounds"
    )
    print("\n".join(table(results)))
    if output is not None:
        output.write_text(json.dumps({"records": records, **results}, indent=1) + "\n")
    return 0


def table(results: dict[str, list[tuple[float, float]]]) -> list[str]:
    """Return the lines of medians, and of the ratio of neighbours with its spread."""
    (first, ours), (second, theirs) = results.items()
    lines = [f"{'':34}{first:>12}{second:>12}       ratio   (min–max)"]
    for index, (label, arrow) in enumerate(
        (("rows/s", "≥"), ("broker CPU, s a million rows", "≤"))
    ):
        values = [[reading[index] for reading in readings] for readings in (ours, theirs)]
        ratios = [a / b if b else 0.0 for a, b in zip(*values, strict=True)]
        middles = [statistics.median(peer_values) for peer_values in values]
        lines.append(
            f"{label:34}{middles[0]:12,.4g}{middles[1]:12,.4g}  {statistics.median(ratios):8.2f} ×"
            f"   ({min(ratios):.2f}–{max(ratios):.2f})  {arrow} is better"
        )
    return lines
