"""A test record for the page "How a record flows", and a consumer that waits for it.

The consumer sends its Fetch first. This Fetch waits in the leader's purgatory at the end of the
log, like that of any consumer without lag. Then the producer sends the record. Both have a client
id that brokers trace. Writes this record only, and commits no offset.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from broker.requests.tracer import CLIENT_PREFIX
from client.cluster import ClusterClient
from client.core import fetching, producing
from client.core.fetching import fetch_request
from client.core.offsets import LATEST, offsets_request
from client.core.producing import Producer, produce_request
from client.records.encoding import build_batch, records_of
from client.refusals import Refused, why
from console.endpoints import BadAsk
from protocol.errors import ErrorCode
from protocol.messages.fetch import FetchResponse
from protocol.messages.list_offsets import ListOffsetsResponse
from protocol.messages.produce import ProduceResponse

PRODUCER_ID = f"{CLIENT_PREFIX}console-producer"
CONSUMER_ID = f"{CLIENT_PREFIX}console-consumer"
WAIT_MS = 5_000
"""The longest wait of the consumer's Fetch."""
PARKED_S = 0.05
"""The pause between the Fetch and the record, after which the Fetch is in the purgatory."""
TIMEOUT_MS = 5_000
FETCH_BYTES = 1 << 20
VALUE_MAX_BYTES = 512 * 1024
KEY = b"ottla-trace"
"""The key of test records. Compacted topics reject records without a key, and keep only the last
test record."""
_ACKS = {"0": 0, "1": 1, "all": -1}


class RecordToSend(NamedTuple):
    """The record of a request of the page; `acks` as in Produce."""

    topic: str
    partition: int
    acks: int
    value: bytes


@dataclass(frozen=True, slots=True)
class SentRecord:
    """The place of the record, the leader of its partition, and whether the consumer read it.

    `offset` is the end of the log before the write: another producer may have taken it meanwhile.
    """

    topic: str
    partition: int
    offset: int
    leader: int
    consumed: bool


def record_of(body: object) -> RecordToSend:
    """Return the record in the body of a request. Raises BadAsk."""
    if not isinstance(body, dict) or not isinstance(body.get("topic"), str) or not body["topic"]:
        raise BadAsk("choose a topic")
    partition, acks = body.get("partition", 0), _ACKS.get(str(body.get("acks", "all")))
    if type(partition) is not int or not 0 <= partition < 2**31:
        raise BadAsk("partition must be a whole number")
    if acks is None:
        raise BadAsk("acks must be 0, 1 or all")
    value = str(body.get("value", "")).encode("utf-8", "replace")
    if len(value) > VALUE_MAX_BYTES:
        raise BadAsk(f"the value has {len(value)} bytes, more than {VALUE_MAX_BYTES}")
    return RecordToSend(body["topic"], partition, acks, value)


def send(connect: Callable[[str], ClusterClient], record: RecordToSend, now_ms: int) -> SentRecord:
    """Send the record, and read it with a consumer that waits for it.

    `connect(client_id)` opens a connection to the cluster for this call alone. Raises Refused and
    StartError.
    """
    with connect(CONSUMER_ID) as consumer, connect(PRODUCER_ID) as producer:
        leader = _leader(producer, record)
        _leader(consumer, record)
        offset = _end(consumer, leader, record)
        reader = consumer.node(leader)
        request = fetch_request(
            {(record.topic, record.partition): offset}, WAIT_MS, FETCH_BYTES, FETCH_BYTES
        )
        reader.send(request, fetching.NAMES_VERSION_MAX)
        time.sleep(PARKED_S)
        _produce(producer, leader, record, now_ms)
        answer = reader.receive(FetchResponse)
        read = [part.records for topic in answer.responses for part in topic.partitions]
    return SentRecord(record.topic, record.partition, offset, leader, consumed=any(read))


def _leader(cluster: ClusterClient, record: RecordToSend) -> int:
    topic = cluster.led_topics([record.topic])[record.topic]
    for partition in topic.partitions:
        if partition.partition_index == record.partition:
            return partition.leader_id
    raise Refused(
        f"topic {record.topic} has no partition {record.partition}: it has {len(topic.partitions)}"
    )


def _end(cluster: ClusterClient, leader: int, record: RecordToSend) -> int:
    request = offsets_request({(record.topic, record.partition): LATEST})
    answer = cluster.call_at(leader, request, ListOffsetsResponse)
    (partition,) = answer.topics[0].partitions
    if partition.error_code:
        raise Refused(why(partition.error_code, None, f"Describe on topic {record.topic}"))
    return partition.offset


def _produce(cluster: ClusterClient, leader: int, record: RecordToSend, now_ms: int) -> None:
    batch = build_batch(records_of([record.value], [KEY]), 1, now_ms, 0, Producer())
    place = (record.topic, record.partition)
    request = produce_request(place, memoryview(batch), record.acks, TIMEOUT_MS)
    cluster.node(leader).send(request, producing.NAMES_VERSION_MAX)
    if record.acks == 0:
        return
    answer = cluster.node(leader).receive(ProduceResponse)
    (partition,) = answer.responses[0].partition_responses
    if partition.error_code != ErrorCode.NONE:
        raise Refused(
            why(partition.error_code, partition.error_message, f"Write on topic {record.topic}")
        )
