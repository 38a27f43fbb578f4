"""A share group while brokers and members die: `python -m tests.chaos.share_groups --seconds 240`.

Three nodes, several producers with acks=all, and several members of a share group
(`share_worker`) in processes of their own. By a seed, a node or a member is killed (`kill -9`) and
started again, again and again. The members accept, release and reject records, or let their locks
end. At last new members accept all that is left. `share_audit` then says whether a record was lost,
delivered after its accept, held by two members, or delivered too often, and whether each rejected
record is in the dead letter topic; how many are there twice is counted.

Prints JSON. The exit code is 0 if no promise was broken, 1 if one was, 2 if the run proves nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from protocol.errors import ErrorCode
from protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.chaos.cluster_view import ClusterView
from tests.chaos.raw_client import key_of
from tests.chaos.share_audit import OK, REJECT, Audit, History, Place, Settings, audit
from tests.chaos.share_worker import WorkerOptions
from tests.clients.wire_client import WireClient
from tests.tools.cluster_processes import KAFKA, OTTLA, ROOT, ClusterProcesses, named_nodes
from tests.tools.waiting import wait_until

TOPIC, LETTERS, GROUP = "shared", "dlq.shared", "workers"
PARTITIONS = 6
NODES = 3
PRODUCERS = 3
PAUSE_S = 0.015
"""Between two records of a producer."""
LOCK_S = 2.0
LIMIT = 4
PATIENCE_S = 120.0
GROUP_RESOURCE = 32
PROPERTIES = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "1000",
    "replica.lag.time.max.ms": "3000",
    "min.insync.replicas": "2",
    "default.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "3",
    "share.coordinator.state.topic.num.partitions": "3",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    "group.share.assignment.interval.ms": "0",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.session.timeout.ms": "3000",
    "group.share.session.timeout.ms": "3000",
    "group.share.min.record.lock.duration.ms": "1000",
    "auto.create.topics.enable": "false",
}
GROUP_CONFIGS = {
    "share.auto.offset.reset": "earliest",
    "share.record.lock.duration.ms": str(int(LOCK_S * 1000)),
    "share.delivery.count.limit": str(LIMIT),
    "errors.deadletterqueue.topic.name": LETTERS,
}
PLACE_HEADERS = ("__dlq.errors.partition", "__dlq.errors.offset")
"""The headers of a dead letter that say which record it is about."""
ENOUGH = {"written": 500, "accept ok": 300, "release ok": 20, "reject ok": 10}
"""What a run has to have at least, so that it proves something."""


class ShareProducer(threading.Thread):
    """A producer. `written` has the values that were acknowledged, by partition and offset."""

    def __init__(self, name: str, servers: str) -> None:
        super().__init__(name=name, daemon=True)
        self.written: dict[Place, str] = {}
        self._over = threading.Event()
        self._producer = Producer({
            "bootstrap.servers": servers,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 20,
            "reconnect.backoff.max.ms": 500,
            "log_level": 0,
        })  # fmt: skip

    def run(self) -> None:
        """Produce until `stop`."""
        number = 0
        while not self._over.wait(PAUSE_S):
            number += 1
            self._producer.produce(TOPIC, f"{self.name}/{number}", on_delivery=self._delivered)
            self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        # librdkafka has no offset for some records that it sent twice: their place is not known.
        if error is None and (offset := message.offset()) is not None:
            partition, value = message.partition(), message.value()
            assert partition is not None and value is not None
            self.written[partition, offset] = value.decode()

    def stop(self) -> None:
        """End, with every record acknowledged."""
        self._over.set()
        self.join()
        left = self._producer.flush(PATIENCE_S)
        assert left == 0, f"{left} records of {self.name} were not acknowledged"


class ShareRun:
    """A run on a cluster that serves."""

    def __init__(
        self, cluster: ClusterProcesses, folder: Path, rng: random.Random, workers: int
    ) -> None:
        self._cluster = cluster
        self._folder = folder
        self._rng = rng
        self._view = ClusterView(cluster)
        self._workers: list[subprocess.Popen[bytes] | None] = [None] * workers
        self._lives = 0
        self.kills: Counter[str] = Counter()

    def run(self, seconds: float) -> Audit:
        """All of it. The processes that it started are over at the end."""
        self._view.create_topic(TOPIC, PARTITIONS)
        self._view.create_topic(LETTERS, 2, **{"errors.deadletterqueue.group.enable": "true"})
        self._configure()
        producers = [ShareProducer(f"p{n}", self._cluster.bootstrap) for n in range(PRODUCERS)]
        try:
            for number in range(len(self._workers)):
                self._start_worker(number)
            for producer in producers:
                producer.start()
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                self._strike()
            for producer in producers:
                producer.stop()
            self._drain()
        finally:
            for number in range(len(self._workers)):
                self._kill_worker(number)
        history = self._history()
        rejected = {
            place
            for place, verdicts in history.verdicts.items()
            if any((one.kind, one.result) == (REJECT, OK) for one in verdicts)
        }
        letters = self._letters(rejected)
        written = {place: value for one in producers for place, value in one.written.items()}
        return audit(history, written, letters, Settings(LIMIT, LOCK_S))

    # -- faults ----------------------------------------------------------------------------------

    def _strike(self) -> None:
        """Kill a member or a node, and start it again."""
        time.sleep(self._rng.uniform(0.5, 4))
        if self._rng.random() < 0.6:
            number = self._rng.randrange(len(self._workers))
            self._kill_worker(number)
            self.kills["member"] += 1
            time.sleep(self._rng.uniform(0, 1))
            self._start_worker(number)
            return
        node = self._rng.randint(1, NODES)
        self._cluster.kill(node)
        self.kills["node"] += 1
        time.sleep(self._rng.uniform(0, 6))
        self._cluster.start_node(node)
        self._view.full_isr(self._keys())

    def _keys(self) -> dict[str, int]:
        """The partitions that wait for all their replicas before the next node dies."""
        counts = {TOPIC: PARTITIONS, LETTERS: 2, "__share_group_state": 3, "__consumer_offsets": 3}
        return {key_of(name, part): NODES for name, n in counts.items() for part in range(n)}

    def _start_worker(self, number: int, *, drains: bool = False) -> None:
        self._lives += 1
        options = WorkerOptions(
            self._cluster.bootstrap,
            TOPIC,
            GROUP,
            self._rng.getrandbits(32),
            str(self._folder / f"member-{self._lives}.log"),
            LOCK_S,
            drains,
        )
        command = [sys.executable, "-m", "tests.chaos.share_worker", json.dumps(asdict(options))]
        with open(self._folder / f"member-{self._lives}.err", "wb") as errors:
            self._workers[number] = subprocess.Popen(command, cwd=ROOT, stderr=errors)

    def _kill_worker(self, number: int) -> None:
        worker = self._workers[number]
        if worker is None:
            return
        assert worker.poll() is None, f"a member ended by itself, see {self._folder}"
        worker.kill()
        worker.wait()
        self._workers[number] = None

    # -- the group -------------------------------------------------------------------------------

    def _configure(self) -> None:
        configs = [AlterableConfig(name, 0, value) for name, value in GROUP_CONFIGS.items()]
        resource = AlterConfigsResource(GROUP_RESOURCE, GROUP, configs)
        with WireClient(self._cluster.brokers[0].client_door) as client:
            answer = client.call(IncrementalAlterConfigsRequest([resource]), 1)
        assert answer.responses[0].error_code == ErrorCode.NONE, answer

    def _drain(self) -> None:
        """Let new members accept what is left, until the group has finished every record."""
        for number in range(len(self._workers)):
            self._kill_worker(number)
            self._start_worker(number, drains=True)
        wait_until(lambda: self._lag() == 0, "a group without lag", limit_s=PATIENCE_S, pause_s=0.5)

    def _lag(self) -> int | None:
        """The records that are not finished; None while the coordinator does not know."""
        coordinator = self._cluster.nodes[self._view.coordinator(GROUP)]
        with WireClient(coordinator.client_door) as client:
            asked = DescribeShareGroupOffsetsRequestGroup(GROUP, None)
            (group,) = client.call(DescribeShareGroupOffsetsRequest([asked]), 1).groups
        lags = [part.lag for topic in group.topics for part in topic.partitions]
        return sum(lags) if len(lags) == PARTITIONS and min(lags) >= 0 else None

    # -- what is left ----------------------------------------------------------------------------

    def _history(self) -> History:
        history = History()
        for log in sorted(self._folder.glob("member-*.log")):
            with open(log, encoding="utf-8") as lines:
                history.add(log.stem, lines)
        return history

    def _letters(self, rejected: set[Place]) -> Counter[Place]:
        """The dead letters of each record; those of `rejected` are waited for, a while."""
        letters: Counter[Place] = Counter()
        consumer = Consumer({
            "bootstrap.servers": self._cluster.bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
        })  # fmt: skip
        consumer.assign([TopicPartition(LETTERS, part, 0) for part in range(2)])
        quiet_since = began = time.monotonic()
        try:
            while time.monotonic() - quiet_since < 5 or (
                rejected - letters.keys() and time.monotonic() - began < PATIENCE_S
            ):
                message = consumer.poll(0.5)
                if message is not None and message.error() is None:
                    quiet_since = time.monotonic()
                    headers = dict(message.headers() or ())
                    partition, offset = (int(headers[name] or b"") for name in PLACE_HEADERS)
                    letters[partition, offset] += 1
        finally:
            consumer.close()
        return letters


def main() -> int:
    """Run with the arguments of the command line; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.share_groups", description=__doc__)
    parser.add_argument("--seconds", type=float, default=240, help="of faults")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--workers", type=int, default=4, help="members of the group")
    parser.add_argument("--peer", choices=(OTTLA, KAFKA), default=OTTLA)
    parser.add_argument(
        "--others", type=named_nodes, default={}, help="other nodes, as 2=kafka,3=kafka@RELEASE"
    )
    parser.add_argument("--keep", type=Path, default=None, help="logs and data stay there")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    folder = Path(tempfile.mkdtemp(prefix="share-groups-"))
    if options.keep is not None:
        folder = options.keep
        folder.mkdir(parents=True)
    print(f"seed {seed}, logs of the members in {folder}", file=sys.stderr, flush=True)
    with ClusterProcesses(
        NODES,
        peer=options.peer,
        others=options.others,
        properties=PROPERTIES,
        folder=options.keep,
    ) as cluster:
        run = ShareRun(cluster, folder, random.Random(seed), options.workers)
        found = run.run(options.seconds)
        deaths = cluster.unexpected_deaths()
    peers = {"peer": options.peer, "others": options.others}
    told = {**peers, "seed": seed, "seconds": options.seconds, "kills": run.kills}
    print(json.dumps({**told, "unexpected deaths": deaths, **found.as_dict()}, indent=1))
    if not found.clean or deaths:
        return 1
    return 0 if all(found.counts.get(name, 0) >= least for name, least in ENOUGH.items()) else 2


if __name__ == "__main__":
    sys.exit(main())
