"""What members of a share group are delivered, as an Apache Kafka did.

`python -m tests.golden.share_delivery_cases` records `share_deliveries_kafka.json` anew: for each
script the answers as lines (`tests.clients.share_talk`).
`tests/unit/broker/apis/share_fetch/test_deliveries_kafka.py` plays the same scripts.
"""

from __future__ import annotations

import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from protocol.records import Record
from tests.batches import build_batch
from tests.clients.share_talk import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Acks,
    Batch,
    acknowledge_request,
    fetch_request,
    shown,
)
from tests.clients.wire_client import WireClient
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "share_deliveries_kafka.json"
VERSION = 2
RENEWS = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0}
NOW = {"max_wait_ms": 0}


class Talk(Protocol):
    """A broker with an empty topic of three partitions, and a share group that begins at its
    start."""

    def fetch(
        self,
        member: str,
        epoch: int,
        partitions: Iterable[int] = (),
        acks: Acks | None = None,
        **options: Any,
    ) -> None:
        """Send a ShareFetch, and note the answer."""

    def acknowledge(
        self, member: str, epoch: int, *batches: Batch, index: int = 0, **options: Any
    ) -> None:
        """Send a ShareAcknowledge, and note the answer."""

    def append(self, *batches: int, index: int = 0) -> None:
        """Append batches of so many records each."""

    def configure(self, **configs: str) -> None:
        """Set configs of the group."""

    def transaction(self, records: int, *, commit: bool) -> None:
        """Append a transaction to partition 0: a batch and its marker."""

    def delete_before(self, offset: int) -> None:
        """Delete the records of partition 0 before an offset."""

    def settle(self) -> None:
        """Wait until what follows an answer is done."""


# --- scripts ----------------------------------------------------------------------------------


def named_partitions(talk: Talk) -> None:
    """Which partitions an answer names."""
    talk.fetch("m", 0, [0, 1, 2])
    talk.append(1, index=1)
    talk.fetch("m", 1)
    talk.fetch("m", 2, acks={1: [(0, 0, ACCEPT)]}, **NOW)
    talk.fetch("m", 3, forgotten=[1], **NOW)
    talk.append(1, index=1)
    talk.fetch("m", 4, **NOW)
    talk.fetch("m", 5, [1, 2])
    talk.fetch("m", 6, [0], acks={1: [(1, 1, ACCEPT)]}, **NOW)
    talk.fetch("m", 7, [5], **NOW)
    talk.fetch("m", 8, **NOW)
    talk.fetch("m", 9, forgotten=[5], **NOW)
    talk.fetch("m", 10, **NOW)


def sessions(talk: Talk) -> None:
    """Epochs, and ends of sessions."""
    talk.fetch("m", 1, [0])
    talk.fetch("m", -1)
    talk.acknowledge("m", -1, (0, 0, ACCEPT))
    talk.append(4, 4)
    talk.fetch("m", 0)
    talk.fetch("m", -2)
    talk.fetch("m", 0, **NOW)
    talk.acknowledge("m", 1, (0, 1, ACCEPT))
    talk.fetch("m", 2, **NOW)
    talk.fetch("m", -1, [1], acks={0: [(2, 2, ACCEPT), (9, 9, ACCEPT)]})
    talk.settle()
    talk.fetch("n", 0)
    talk.acknowledge("n", -1)
    talk.settle()
    talk.fetch("n", 0)


def who_may_ask(talk: Talk) -> None:
    """Groups and members of requests."""
    for member in ("", "m" * 36, "m" * 37):
        talk.fetch(member, 0)
        talk.acknowledge(member, 1, (0, 0, ACCEPT))
    talk.fetch("m", 0, group=None)
    talk.acknowledge("m", 0, (0, 0, ACCEPT), group=None)


def acknowledgements(talk: Talk) -> None:
    """Types, and wrong acknowledgements."""
    talk.append(16)
    talk.fetch("m", 0)
    batches: list[list[Batch]] = [
        [(0, 3, ACCEPT)],
        [(0, 3, ACCEPT)],
        [(5, 7, ACCEPT, RELEASE, REJECT)],
        [(8, 9, ACCEPT, RELEASE, REJECT)],
        [(8, 8)],
        [(9, 8, ACCEPT)],
        [(8, 8, 9)],
        [(8, 8, -1)],
        [(90, 91, ACCEPT)],
        [(8, 8, RENEW)],
        [(8, 9, ACCEPT), (9, 10, ACCEPT)],
        [(8, 9, ACCEPT), (8, 10, ACCEPT)],
        [(-5, 8, ACCEPT)],
        [(9, 9, GAP)],
        [(5, 5, ACCEPT)],
        [(8, 8, ACCEPT), (10, 10, RELEASE)],
        [(12, 13, ACCEPT), (11, 11, ACCEPT)],
        [],
    ]
    for epoch, of_request in enumerate(batches, 1):
        talk.acknowledge("m", epoch, *of_request)
        talk.settle()
    talk.acknowledge("m", 19, (0, 0, ACCEPT), index=7)
    talk.acknowledge("m", 20, (0, 0, ACCEPT), index=2)
    talk.acknowledge("m", 21, (12, 12, RENEW), is_renew_ack=True)
    talk.fetch("m", 22, acks={0: [(12, 12, RENEW)]}, is_renew_ack=True)
    talk.fetch("m", 22, acks={0: [(12, 12, RENEW), (13, 13, ACCEPT)]}, is_renew_ack=True, **RENEWS)
    talk.fetch("m", 23, acks={0: [(12, 12, RENEW)]}, **NOW)
    talk.configure(**{"share.renew.acknowledge.enable": "false"})
    talk.acknowledge("m", 24, (12, 12, RENEW), is_renew_ack=True)
    talk.fetch("n", 0)


def limits(talk: Talk) -> None:
    """Records, bytes and sizes of batches."""
    talk.append(*[5] * 8)
    talk.fetch("m", 0, max_records=3)
    talk.fetch("m", 1, max_records=7)
    talk.fetch("m", 2, batch_size=7, max_records=12)
    talk.fetch("m", 3, max_bytes=1)
    talk.fetch("n", 0, max_records=3, share_acquire_mode=1)
    talk.fetch("n", 1, max_records=0)
    talk.fetch("n", 2, max_bytes=0)
    talk.fetch("n", 3, min_bytes=0, **NOW)
    talk.fetch("n", 4, min_bytes=100_000)
    talk.fetch("n", 5, share_acquire_mode=7)
    talk.fetch("n", 6, max_records=2, share_acquire_mode=1, batch_size=1)


def deliveries(talk: Talk) -> None:
    """Delivery counts, and records that are delivered too often."""
    talk.configure(**{"share.delivery.count.limit": "3"})
    talk.append(4, 2)
    talk.fetch("m", 0)
    talk.acknowledge("m", 1, (0, 5, RELEASE))
    talk.settle()
    talk.fetch("m", 2)
    talk.acknowledge("m", 3, (0, 5, RELEASE))
    talk.settle()
    for epoch in range(4, 12, 2):
        talk.fetch("m", epoch)
        talk.acknowledge("m", epoch + 1, (0, 3, ACCEPT))
        talk.settle()


def a_full_window(talk: Talk) -> None:
    """Fill the window of `share.partition.max.record.locks`."""
    talk.configure(**{"share.partition.max.record.locks": "100"})
    talk.append(*[40] * 5)
    talk.fetch("m", 0, max_records=1_000)
    talk.fetch("m", 1, **NOW)
    talk.acknowledge("m", 2, (0, 39, ACCEPT))
    talk.settle()
    talk.fetch("m", 3)
    talk.acknowledge("m", 4, (41, 79, ACCEPT), (80, 85, RELEASE))
    talk.settle()
    talk.fetch("m", 5)
    talk.fetch("m", 6, **NOW)


def transactions(talk: Talk) -> None:
    """Read an aborted and a committed transaction with each `share.isolation.level`."""
    talk.append(2)
    talk.transaction(2, commit=False)
    talk.transaction(2, commit=True)
    talk.append(1)
    talk.fetch("m", 0)
    talk.fetch("m", -1)
    talk.settle()
    talk.configure(**{"share.isolation.level": "read_committed"})
    talk.fetch("n", 0)
    talk.acknowledge("n", 1, (0, 1, ACCEPT), (4, 8, ACCEPT))
    talk.settle()
    talk.transaction(3, commit=False)
    talk.append(1)
    talk.fetch("n", 2)
    talk.acknowledge("n", 3, (12, 13, ACCEPT))
    talk.settle()
    talk.fetch("n", 4, **NOW)


def the_log_start(talk: Talk) -> None:
    """Records that are deleted before and while they are acquired."""
    talk.append(4, 4, 4)
    talk.fetch("m", 0, max_records=1)
    talk.acknowledge("m", 1, (0, 3, RELEASE))
    talk.settle()
    talk.delete_before(4)
    talk.fetch("m", 2)
    talk.fetch("m", 3)
    talk.delete_before(8)
    talk.acknowledge("m", 4, (4, 7, ACCEPT), (8, 9, RELEASE))
    talk.settle()
    talk.fetch("m", 5)


def a_start_by_time(talk: Talk) -> None:
    """Begin at a time, by `share.auto.offset.reset`."""
    talk.configure(**{"share.auto.offset.reset": "by_duration:PT1H"})
    talk.fetch("m", 0)
    talk.fetch("m", 1)
    talk.append(2)
    talk.fetch("m", 2)
    talk.configure(**{"share.auto.offset.reset": "latest"})
    talk.append(3, index=1)
    talk.fetch("m", 3, [1])
    talk.append(3, index=1)
    talk.fetch("m", 4)


SCRIPTS: tuple[Callable[[Talk], None], ...] = (
    named_partitions,
    sessions,
    who_may_ask,
    acknowledgements,
    limits,
    deliveries,
    a_full_window,
    transactions,
    the_log_start,
    a_start_by_time,
)


# --- a real broker ----------------------------------------------------------------------------


class KafkaTalk:
    """A conversation with an Apache Kafka, about a topic and a group of its own."""

    def __init__(self, port: int, name: str) -> None:
        self.topic, self.group, self.seen = f"topic-{name}", f"group-{name}", list[str]()
        self._port = port
        self._admin = WireClient(port)
        self._clients: dict[str, WireClient] = {}
        created = self._admin.call(
            CreateTopicsRequest([CreatableTopic(self.topic, 3, 1)], 10_000), 7
        )
        self._topic_id: bytes = created.topics[0].topic_id
        self.configure(
            **{"share.auto.offset.reset": "earliest", "share.assignment.interval.ms": "0"}
        )
        self._join()

    def _join(self) -> None:
        """Wait until a member of the group has all partitions: then they are initialized."""
        topic_id = urlsafe_b64encode(self._topic_id).decode().rstrip("=")
        self._find(0, self.group)
        self._find(2, f"{self.group}:{topic_id}:0")
        epoch, assigned = 0, 0
        for _ in range(100):
            beat = ShareGroupHeartbeatRequest(
                self.group, "joins", epoch, subscribed_topic_names=None if epoch else [self.topic]
            )
            answer = self._admin.call(beat, 1)
            if not answer.error_code:
                epoch = answer.member_epoch
                if answer.assignment is not None:
                    assigned = sum(len(t.partitions) for t in answer.assignment.topic_partitions)
            if assigned == 3:
                return
            time.sleep(0.1)
        raise TimeoutError(f"the last answer: {answer.error_code}, {answer.error_message}")

    def _find(self, key_type: int, key: str) -> None:
        """Wait until there is a coordinator, whose topic the broker may have to create."""
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
        while self._admin.call(request, 6).coordinators[0].error_code:
            time.sleep(0.1)

    def fetch(
        self,
        member: str,
        epoch: int,
        partitions: Iterable[int] = (),
        acks: Acks | None = None,
        **options: Any,
    ) -> None:
        """Send a ShareFetch on the member's connection."""
        group = options.pop("group", self.group)
        request = fetch_request(self._topic_id, group, member, epoch, partitions, acks, **options)
        self._send(member, request)

    def acknowledge(
        self, member: str, epoch: int, *batches: Batch, index: int = 0, **options: Any
    ) -> None:
        """Send a ShareAcknowledge on the member's connection."""
        group = options.pop("group", self.group)
        request = acknowledge_request(
            self._topic_id, group, member, epoch, batches, index, **options
        )
        self._send(member, request)

    def _send(self, member: str, request: Any) -> None:
        client = self._clients.get(member)
        if client is None:
            client = self._clients[member] = WireClient(self._port)
        self.seen.append(f"{member}: {shown(client.call(request, VERSION))}")

    def append(self, *batches: int, index: int = 0) -> None:
        """Append batches of so many records each."""
        for records in batches:
            now_ms = int(time.time() * 1000)
            batch = build_batch([Record(-1, now_ms, None, b"v")] * records)
            self._produce(batch, index, None)

    def _produce(self, batch: bytearray, index: int, transactional_id: str | None) -> None:
        partition = PartitionProduceData(index, bytes(batch))
        topics = [TopicProduceData(self.topic, partition_data=[partition])]
        answer = self._admin.call(ProduceRequest(transactional_id, -1, 10_000, topics), 12)
        assert answer.responses[0].partition_responses[0].error_code == 0

    def configure(self, **configs: str) -> None:
        """Set configs of the group."""
        altered = [AlterableConfig(name, 0, value) for name, value in configs.items()]
        resources = [AlterConfigsResource(32, self.group, altered)]
        answer = self._admin.call(IncrementalAlterConfigsRequest(resources), 1)
        assert answer.responses[0].error_code == 0
        time.sleep(0.5)

    def transaction(self, records: int, *, commit: bool) -> None:
        """Append a transaction to partition 0."""
        name = f"transaction-of-{self.topic}"
        while (
            self._admin.call(FindCoordinatorRequest(key_type=1, coordinator_keys=[name]), 4)
            .coordinators[0]
            .error_code
        ):
            time.sleep(0.1)
        while (producer := self._admin.call(InitProducerIdRequest(name, 60_000), 5)).error_code:
            time.sleep(0.1)
        now_ms = int(time.time() * 1000)
        batch = build_batch(
            [Record(-1, now_ms, None, b"v")] * records,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            base_sequence=0,
            is_transactional=True,
        )
        self._produce(batch, 0, name)
        end = EndTxnRequest(name, producer.producer_id, producer.producer_epoch, commit)
        while self._admin.call(end, 5).error_code:
            time.sleep(0.1)
        time.sleep(0.5)

    def delete_before(self, offset: int) -> None:
        """Delete the records of partition 0 before an offset."""
        topics = [DeleteRecordsTopic(self.topic, [DeleteRecordsPartition(0, offset)])]
        answer = self._admin.call(DeleteRecordsRequest(topics, 10_000), 2)
        assert answer.topics[0].partitions[0].error_code == 0

    def settle(self) -> None:
        """Wait until a write or a release is done."""
        time.sleep(0.4)


def record() -> None:
    """Play all scripts with a real broker."""
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START

    answers: dict[str, list[str]] = {}
    with ApacheKafka(jvm_options=FAST_START, heap="512m") as kafka:
        for script in SCRIPTS:
            talk = KafkaTalk(kafka.port, script.__name__)
            script(talk)
            answers[script.__name__] = talk.seen
    write_json(RECORDED, answers, line_max=100)


if __name__ == "__main__":
    record()
