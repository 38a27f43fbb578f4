"""Rows a second of Spark's stock Kafka source, reading the same records from both brokers.

Both brokers run for the whole time and hold the same bytes, written by one librdkafka producer each
(100-byte values, keys, six partitions, no compression). One Spark, `local[2]`, reads them in turn:
the whole topic, count and sum of lengths, so that every row is touched and nothing is written. The
first reading of each is not counted: it warms Spark and the page cache.
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

from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from bench.peers import PEERS, Peer, cpu_seconds
from bench.wire import create_topic
from tests.java_tools import spark_jars

PARTITIONS = 6
VALUE_BYTES = 100
TOPIC = "rows"


def fill(peer: Peer, records: int) -> None:
    """The same records into either broker."""
    create_topic(peer.port, TOPIC, PARTITIONS)
    producer = Producer(
        {
            "bootstrap.servers": f"127.0.0.1:{peer.port}",
            "linger.ms": 20,
            "batch.size": 500_000,
            "queue.buffering.max.messages": 500_000,
        }
    )
    refused: list[object] = []

    def delivered(error: object, _: object) -> None:
        if error is not None:
            refused.append(error)

    for number in range(records):
        value = b"%0*d" % (VALUE_BYTES, number)
        while True:
            try:
                key, partition = b"k%d" % (number % 1000), number % PARTITIONS
                producer.produce(TOPIC, value, key, partition, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1000 == 0:
            producer.poll(0)
    producer.flush()
    assert not refused


def session() -> SparkSession:
    """One for all readings."""
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


def read(spark: SparkSession, peer: Peer, records: int) -> tuple[float, float]:
    """Rows a second, and the broker's CPU seconds for a million rows."""
    cpu, began = cpu_seconds(peer.pid), time.perf_counter()
    frame = spark.read.format("kafka").option("kafka.bootstrap.servers", f"127.0.0.1:{peer.port}")
    rows = frame.option("subscribe", TOPIC).load()
    looked = rows.agg(F.count(F.lit(1)).alias("n"), F.sum(F.length("value")).alias("b")).collect()
    spent = time.perf_counter() - began
    assert (looked[0].n, looked[0].b) == (records, records * VALUE_BYTES), looked
    return records / spent, (cpu_seconds(peer.pid) - cpu) * 1e6 / records


def run(records: int, rounds: int, output: Path | None) -> int:
    """Measure and print; the exit code."""
    peers: list[Peer] = []
    results: dict[str, list[tuple[float, float]]] = {name: [] for name in PEERS}
    try:
        for name, start in PEERS.items():
            print(f"filling {name} with {records:,} records", file=sys.stderr)
            peers.append(start())
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
    """Medians, and the ratio of neighbours with its spread."""
    (first, ours), (second, theirs) = results.items()
    lines = [f"{'':34}{first:>12}{second:>12}       ratio   (min–max)"]
    for index, (label, arrow) in enumerate(
        (("rows/s", "≥"), ("broker CPU, s a million rows", "≤"))
    ):
        values = [[one[index] for one in found] for found in (ours, theirs)]
        ratios = [a / b if b else 0.0 for a, b in zip(*values, strict=True)]
        middles = [statistics.median(one) for one in values]
        lines.append(
            f"{label:34}{middles[0]:12,.4g}{middles[1]:12,.4g}  {statistics.median(ratios):8.2f} ×"
            f"   ({min(ratios):.2f}–{max(ratios):.2f})  {arrow} is better"
        )
    return lines
