"""`python -m bench.compaction_latency`: the produce latency while a log is compacted.

One broker has a filled compacted topic, whose cleaning is postponed. One connection sends single
100-byte records to another topic: while the cleaner is idle, while it works, and so on in turns.
Prints p50 and p99 of both, and their ratio. The machine should do nothing else.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from bench.wire import Wire, produce_frame
from ottla.testing.broker_process import BrokerProcess
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.batches import build_batch
from tests.clients.wire_client import WireClient

COMPACTED, OTHER = "compacted", "other"
PROPERTIES = {"log.cleaner.backoff.ms": "200", "message.max.bytes": "2000000"}
CONFIG = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "1.0",
    "segment.bytes": str(64 << 20),
    "file.delete.delay.ms": "1000",
}


def fill(port: int, megabytes: int) -> None:
    """Produce 1 KiB records, not compressed, with 100,000 keys, until the last segment rolls."""
    with WireClient(port) as client:
        for number in range(megabytes):
            values = os.urandom(1 << 20)
            records = [
                Record(
                    -1,
                    time.time_ns() // 1_000_000,
                    b"key-%06d" % (int.from_bytes(os.urandom(3), "big") % 100_000),
                    values[at : at + 1024],
                )
                for at in range(0, len(values), 1024)
            ]
            data = [PartitionProduceData(0, build_batch(records))]
            request = ProduceRequest(
                acks=1,
                timeout_ms=10_000,
                topic_data=[TopicProduceData(COMPACTED, partition_data=data)],
            )
            answer = client.call(request, 9).responses[0].partition_responses[0]
            assert not answer.error_code, (number, answer)


def set_ratio(admin: AdminClient, ratio: str) -> None:
    """Set the dirty ratio at which the topic is cleaned; at 1.0 it never is."""
    entry = ConfigEntry(
        "min.cleanable.dirty.ratio", ratio, incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(ResourceType.TOPIC, COMPACTED, incremental_configs=[entry])
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(10)


def trips(wire: Wire, frame: bytes, seconds: float) -> list[float]:
    """Return the sorted round trips, in seconds, of one request after the other."""
    round_trips = []
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        wire.socket.sendall(frame)
        wire.skip_response()
        round_trips.append(time.perf_counter() - began)
    return sorted(round_trips)


def is_cleaning(folder: Path) -> bool:
    return any(name.endswith(".cleaned") for name in os.listdir(folder))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.compaction_latency", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=512, help="filled in for each turn")
    parser.add_argument("--window", type=float, default=3.0, help="seconds of the idle part")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    with BrokerProcess(PROPERTIES) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        topics = [NewTopic(COMPACTED, 1, 1, config=CONFIG), NewTopic(OTHER, 1, 1)]
        for future in admin.create_topics(topics).values():
            future.result(10)
        wire, frame = Wire(broker.port), produce_frame(OTHER, 0, 100)
        trips(wire, frame, 1.0)
        folder = broker.data_dir / f"{COMPACTED}-0"
        for number in range(options.turns):
            fill(broker.port, options.megabytes)
            time.sleep(2)
            idle = trips(wire, frame, options.window)
            set_ratio(admin, "0.01")
            while not is_cleaning(folder):
                time.sleep(0.001)
            busy: list[float] = []
            while is_cleaning(folder):
                busy += trips(wire, frame, 0.05)
            set_ratio(admin, "1.0")
            busy.sort()
            ratio = percentile(busy, 99) / percentile(idle, 99)
            print(f"turn {number + 1}: idle {trip_text(idle)}; while it compacts {trip_text(busy)}")
            print(f"        p99 ratio {ratio:.2f}")
    return 0


def percentile(sorted_trips: list[float], which: int) -> float:
    return sorted_trips[len(sorted_trips) * which // 100]


def trip_text(sorted_trips: list[float]) -> str:
    p50, p99 = (percentile(sorted_trips, which) * 1e6 for which in (50, 99))
    return f"p50 {p50:.0f} µs, p99 {p99:.0f} µs ({len(sorted_trips)} requests)"


if __name__ == "__main__":
    raise SystemExit(main())
