"""How quick a folder is read beside Spark's stock source, in one run:

    python -m tests.compat.folder_speed --records 1000000 --bytes 100 1024

The same query over both, in turn, in one session of two cores; the stock source reads from a broker
of Ottla on this machine. Tells for each size, codec and source the wall time and the CPU of Spark
(its JVM and its Python workers, without the broker) a record.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.testing.broker_process import BrokerProcess

PARTITIONS = 2
_QUERY = ("count(*) AS records", "sum(length(value)) AS bytes", "sum(offset) AS offsets")


def fill(bootstrap: str, topic: str, records: int, size: int, codec: str) -> None:
    """Values that pack to about half."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(60)
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": codec,
            "linger.ms": 20,
            "batch.size": 65536,
            "queue.buffering.max.messages": 200_000,
        }
    )
    chance = random.Random(size)
    values = [chance.randbytes(size // 2) + b"." * (size - size // 2) for _ in range(100)]
    for number in range(records):
        producer.produce(
            topic, values[number % 100], str(number % 1000), partition=number % PARTITIONS
        )
        if number % 10_000 == 0:
            while len(producer) > 100_000:
                producer.poll(0.05)
    assert producer.flush(300) == 0


def cpu_s(mine: psutil.Process, broker: int) -> float:
    """Of this process and all below it, but the broker."""
    total = 0.0
    for one in [mine, *mine.children(recursive=True)]:
        try:
            if one.pid != broker:
                times = one.cpu_times()
                total += times.user + times.system
        except psutil.NoSuchProcess:
            continue
    return total


def measure(frame: Any, records: int, broker: int) -> tuple[float, float]:
    """Wall time in s and CPU in µs a record of one pass."""
    mine = psutil.Process(os.getpid())
    before, began = cpu_s(mine, broker), time.monotonic()
    [row] = frame.selectExpr(*_QUERY).collect()
    wall, spent = time.monotonic() - began, cpu_s(mine, broker) - before
    assert row["records"] == records, row
    return wall, spent / records * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--bytes", type=int, nargs="+", default=[100, 1024])
    parser.add_argument("--codecs", nargs="+", default=["none", "lz4"])
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    from ottla.spark import register_folder_source
    from tests.compat.spark_session import Kafka, spark_session

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        with (
            BrokerProcess(data_dir=data, start_timeout_s=120) as broker,
            spark_session("speed") as spark,
        ):
            register_folder_source(spark)
            kafka = Kafka(spark, broker.bootstrap_servers)
            for size in options.bytes:
                for codec in options.codecs:
                    topic = f"of-{size}-{codec}"
                    fill(broker.bootstrap_servers, topic, options.records, size, codec)
                    reader = spark.read.format("kafka-folder").option("subscribe", topic)
                    frames = {"stock": kafka.read(topic, includeHeaders="true")}
                    frames["folder"] = reader.load(str(data))
                    for turn in range(options.times):
                        for name, frame in frames.items():
                            wall, cpu = measure(frame, options.records, broker.pid)
                            print(
                                f"{size:5} bytes {codec:6} {name:6} turn {turn}: "
                                f"{wall:6.1f} s, {cpu:6.2f} µs CPU a record",
                                flush=True,
                            )


if __name__ == "__main__":
    main()
