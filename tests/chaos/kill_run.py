"""`kill -9` of a broker in mid-load, again and again: `python -m tests.chaos.kill_run --kills 200`.

librdkafka's idempotent producer, raw producers with acks=1 and all, and a group with its offsets
go on through all of it, and through some starts that are killed. Afterwards every partition is read
from its start: every acknowledged value is at the offset that its producer was told, no idempotent
value is there twice, and each idempotent producer's values stand in their order. Each start says
what it recovered; how long the longest start took is told.

Prints one line of JSON. An AssertionError says what was lost, and the exit code is then 1.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import signal
import sys
import threading
import time
from dataclasses import asdict, dataclass

from ottla.testing.broker_process import BrokerProcess
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.record_batch import iterate_batches
from protocol.records import iterate_records
from tests.chaos.kill_load import (
    GROUP,
    PARTITIONS,
    TOPIC,
    ConfluentProducer,
    Member,
    Place,
    RawProducer,
    Worker,
)
from tests.clients.wire_client import WireClient
from tests.tools.waiting import wait_until

RECOVERED = re.compile(r"Recovered (\d+) log\(s\) in \S+: scanned (\d+) segment\(s\), (\d+) bytes")
LATEST = -1
SEGMENT_BYTES = 1 << 20
START_S = 120
"""How long a start may take at most."""


@dataclass(slots=True)
class KillReport:
    """What a run saw."""

    kills: int = 0
    killed_starts: int = 0
    acknowledged: int = 0
    commits: int = 0
    segments: int = 0
    scanned_bytes: int = 0
    longest_start_s: float = 0.0


def create_topic(port: int) -> None:
    with WireClient(port) as client:
        configs = [CreatableTopicConfig("segment.bytes", str(SEGMENT_BYTES))]
        topic = CreatableTopic(TOPIC, PARTITIONS, 1, configs=configs)
        answer = client.call(CreateTopicsRequest([topic], 10_000), 5)
        assert answer.topics[0].error_code == 0, answer


def wait_for_progress(workers: list[Worker]) -> None:
    """Until each worker has got something done since now."""
    before = [worker.progress for worker in workers]

    def all_go_on() -> bool:
        broken = [worker for worker in workers if not worker.is_alive()]
        assert not broken, [(worker.name, worker.failure) for worker in broken]
        return all(worker.progress > old for worker, old in zip(workers, before, strict=True))

    wait_until(all_go_on, "progress of each worker", pause_s=0.005)


def start_and_die(broker: BrokerProcess, delay_s: float) -> None:
    """Start it, and kill it while it recovers or has just begun to serve."""
    killer = threading.Timer(delay_s, lambda: os.kill(broker.pid, signal.SIGKILL))
    killer.start()
    with contextlib.suppress(RuntimeError):  # it did not come up
        broker.restart()
    killer.join()
    broker.kill()


def read_partition(port: int, partition: int) -> dict[int, str]:
    """Every offset and its value."""
    found: dict[int, str] = {}
    with WireClient(port) as client:
        latest = ListOffsetsTopic(TOPIC, [ListOffsetsPartition(partition, timestamp=LATEST)])
        answer = client.call(ListOffsetsRequest(-1, topics=[latest]), 5)
        end = answer.topics[0].partitions[0].offset
        position = 0
        while position < end:
            part = FetchPartition(partition, -1, position, partition_max_bytes=1 << 20)
            request = FetchRequest(
                replica_id=-1,
                max_wait_ms=500,
                min_bytes=1,
                topics=[FetchTopic(TOPIC, partitions=[part])],
            )
            data = client.call(request, 11).responses[0].partitions[0]
            assert data.error_code == 0, data
            view = memoryview(data.records)
            for place, _ in iterate_batches(view, allow_partial_tail=True):
                for record in iterate_records(view, place):
                    found[record.offset] = (record.value or b"").decode()
            assert position in found, f"nothing at {position} of {partition}, which ends at {end}"
            position = max(found) + 1
    return found


def check_records(workers: list[Worker], found: dict[Place, str]) -> None:
    for worker in workers:
        for value, place in worker.acknowledged.items():
            assert found.get(place) == value, f"{value} was acknowledged at {place}"
    last: dict[tuple[str, int], int] = {}
    for (partition, _), value in sorted(found.items()):
        sender, _, number = value.partition("/")
        if not sender.startswith("idempotent"):
            continue
        key = (sender, partition)
        assert int(number) > last.get(key, -1), f"{value} comes after {last[key]} in {partition}"
        last[key] = int(number)


def restart(broker: BrokerProcess, report: KillReport) -> None:
    """Start it again; it says what it recovered."""
    logged = broker.log_file.stat().st_size
    began = time.monotonic()
    broker.restart()
    took_s = time.monotonic() - began
    with open(broker.log_file, errors="replace") as log:
        log.seek(logged)
        said = log.read()
    found = RECOVERED.search(said)
    assert found, f"start {report.kills + 1} does not say what it recovered: {said}"
    assert "Traceback" not in said, said
    scanned = int(found[3])
    report.scanned_bytes += scanned
    report.longest_start_s = max(report.longest_start_s, round(took_s, 2))


def run(broker: BrokerProcess, kills: int, seed: int) -> KillReport:
    """Kill a running broker so many times and judge what is left. AssertionError where a promise
    was broken."""
    report = KillReport()
    create_topic(broker.port)
    member = Member("member", broker.port)
    producers: list[Worker] = [
        ConfluentProducer("idempotent-confluent", broker.port),
        RawProducer("idempotent-raw", broker.port, acks=-1, idempotent=True),
        RawProducer("plain-1", broker.port, acks=1, idempotent=False),
        RawProducer("plain-all", broker.port, acks=-1, idempotent=False),
    ]
    workers = [member, *producers]
    for worker in workers:
        worker.start()
    chance = random.Random(seed)
    for kill in range(kills):
        wait_for_progress(workers)
        time.sleep(chance.random() * 0.3)
        broker.kill()
        report.kills += 1
        if kill % 5 == 4:
            start_and_die(broker, 0.1 + chance.random() * 0.3)
            report.killed_starts += 1
        restart(broker, report)
    wait_for_progress(workers)
    for worker in workers:
        worker.stop()
    check_group(member, broker.port)
    assert member.committed > kills
    found = {
        (partition, offset): value
        for partition in range(PARTITIONS)
        for offset, value in read_partition(broker.port, partition).items()
    }
    assert all(len(worker.acknowledged) > kills for worker in producers)
    check_records(producers, found)
    report.acknowledged = sum(len(worker.acknowledged) for worker in producers)
    report.commits = member.committed
    report.segments = len(list(broker.data_dir.glob(f"{TOPIC}-*/*.log")))
    return report


def check_group(member: Member, port: int) -> None:
    """Its offset is the one that it committed last, and it is still the one member."""
    assert member.look_up() == (member.committed, f"at {member.committed}")
    member.hang_up()
    with WireClient(port) as client:
        described = client.call(DescribeGroupsRequest([GROUP]), 3).groups[0]
    assert described.group_state == "Stable"
    assert [one.member_id for one in described.members] == [member.member_id]
    assert described.members[0].member_assignment == b"everything"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.kill_run", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="how many (default 200)")
    parser.add_argument("--seed", type=int, default=None, help="of their moments")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(10**6)
    print(f"seed {seed}", flush=True)
    with BrokerProcess(start_timeout_s=START_S) as broker:
        report = run(broker, options.kills, seed)
        code = broker.stop()
    print(json.dumps(asdict(report)))
    return code


if __name__ == "__main__":
    sys.exit(main())
