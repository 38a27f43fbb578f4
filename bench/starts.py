"""`python -m bench.starts`: the time of Ottla's start on a folder with data.

`clean-start` stops a broker with many partitions by a controlled shutdown and starts it again.
`clean-stop` measures from SIGTERM until the process has ended, with one unflushed record in each
partition, and then the following start: `--scenarios clean-stop --partitions 10000`. `recovery`
kills a broker without a recovery point, so that the next start scans the whole log. A start lasts
from the command until the broker accepts connections. Recovery is in seconds per GB of segments.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from bench.scenario import SMALLER, Figure
from ottla.testing.broker_process import BrokerProcess

START_TIMEOUT_S = 600
VALUE = bytes(range(256)) * 4
DAY_MS = "86400000"
CREATED_AT_ONCE = 5000  # more than 10,000 records in a request are rejected


def clean_start(partitions: int, _gigabytes: float) -> list[Figure]:
    """Measure a start after a clean stop, with this many partitions of ten records each."""
    properties = {"group.initial.rebalance.delay.ms": "0"}
    with BrokerProcess(properties, start_timeout_s=START_TIMEOUT_S) as broker:
        create(broker, "many", partitions)
        fill(broker, "many", partitions, 10 * partitions, b"a value")
        broker.stop()
        seconds = timed(broker)
    return [Figure(f"clean start, {partitions} partitions", "s", seconds, SMALLER)]


def clean_stop(partitions: int, _gigabytes: float) -> list[Figure]:
    """Measure a clean stop with one unflushed record in each partition, and the next start."""
    properties = {"log.flush.offset.checkpoint.interval.ms": DAY_MS}
    with BrokerProcess(properties, start_timeout_s=START_TIMEOUT_S) as broker:
        create(broker, "many", partitions)
        fill(broker, "many", partitions, partitions, b"a value")
        began = time.monotonic()
        broker.stop(timeout_s=START_TIMEOUT_S)
        stopped = time.monotonic() - began
        started = timed(broker)
    return [
        Figure(f"clean stop, {partitions} written partitions", "s", stopped, SMALLER),
        Figure(f"start after it, {partitions} partitions", "s", started, SMALLER),
    ]


def recovery(_partitions: int, gigabytes: float) -> list[Figure]:
    """Measure a start after `kill -9`, with so many GB to scan in four partitions."""
    properties = {
        "log.flush.offset.checkpoint.interval.ms": DAY_MS,
        "log.initial.task.delay.ms": DAY_MS,
    }
    with BrokerProcess(properties, start_timeout_s=START_TIMEOUT_S) as broker:
        create(broker, "large", 4)
        fill(broker, "large", 4, int(gigabytes * 10**9 / len(VALUE)), VALUE)
        broker.kill()
        size = sum(path.stat().st_size for path in broker.data_dir.glob("large-*/*.log"))
        seconds = timed(broker)
        scanned = [line for line in broker.output().splitlines() if "Recovered" in line]
    print("\n".join(scanned), file=sys.stderr)
    rate = seconds / (size / 10**9)
    return [Figure(f"recovery after kill -9, {size / 10**9:.1f} GB", "s per GB", rate, SMALLER)]


SCENARIOS: dict[str, Callable[[int, float], list[Figure]]] = {
    "clean-start": clean_start,
    "clean-stop": clean_stop,
    "recovery": recovery,
}


def create(broker: BrokerProcess, topic: str, partitions: int) -> None:
    """Create a topic; more than CREATED_AT_ONCE partitions are added step by step."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    first = min(partitions, CREATED_AT_ONCE)
    for future in admin.create_topics([NewTopic(topic, first, 1)]).values():
        future.result(120)
    for total in range(first + CREATED_AT_ONCE, partitions + CREATED_AT_ONCE, CREATED_AT_ONCE):
        more = NewPartitions(topic, min(total, partitions))
        for future in admin.create_partitions([more]).values():
            future.result(120)


def fill(broker: BrokerProcess, topic: str, partitions: int, count: int, value: bytes) -> None:
    """Produce `count` records, spread evenly over the partitions."""
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "linger.ms": 50,
            "batch.size": 1_000_000,
            "acks": 1,
        }
    )
    for number in range(count):
        while True:
            try:
                producer.produce(topic, value, partition=number % partitions)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(120) == 0


def timed(broker: BrokerProcess) -> float:
    """Return the seconds of a start."""
    began = time.monotonic()
    broker.start()
    return time.monotonic() - began


def main() -> int:
    """Measure the starts, and print each figure's median and range.

    With --json all values are written too.
    """
    parser = argparse.ArgumentParser(prog="python -m bench.starts", description=__doc__)
    parser.add_argument("--scenarios", default=",".join(SCENARIOS), help="which")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--partitions", type=int, default=1000, help="of clean-start")
    parser.add_argument("--gigabytes", type=float, default=2.0, help="of recovery")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    measured: dict[str, list[float]] = {}
    for _ in range(options.rounds):
        for name in options.scenarios.split(","):
            print(name, file=sys.stderr)
            for figure in SCENARIOS[name](options.partitions, options.gigabytes):
                measured.setdefault(f"{figure.name}, {figure.unit}", []).append(figure.value)
    for label, values in measured.items():
        middle = statistics.median(values)
        print(f"{label:60}{middle:10.3g}   ({min(values):.3g}–{max(values):.3g})")
    if options.json:
        options.json.write_text(json.dumps(measured, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
