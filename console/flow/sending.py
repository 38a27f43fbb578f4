"""One record that is sent to be followed, and a consumer that waits for it.

The consumer asks first: its Fetch waits in the leader's purgatory at the log's end, as that of a
consumer that has read everything does. Then the record is sent. Both call themselves what brokers
trace. Writes the one record that it was asked for, and commits nothing.
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
"""How long the consumer waits."""
PARKED_S = 0.05
"""Between its Fetch and the record: by then it waits in the purgatory."""
TIMEOUT_MS = 5_000
FETCH_BYTES = 1 << 20
VALUE_MAX_BYTES = 512 * 1024
KEY = b"ottla-trace"
"""A compacted topic takes no record without one, and keeps the last of these alone."""
_ACKS = {"0": 0, "1": 1, "all": -1}


class Asked(NamedTuple):
    """What is to be sent."""

    topic: str
    partition: int
    acks: int
    value: bytes


@dataclass(frozen=True, slots=True)
class SentRecord:
    """Where it lies, who leads there, and whether the consumer was given something."""

    topic: str
    partition: int
    offset: int
    leader: int
    consumed: bool


def asked(body: object) -> Asked:
    """Raises BadAsk."""
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
    return Asked(body["topic"], partition, acks, value)


def send(connect: Callable[[str], ClusterClient], what: Asked, now_ms: int) -> SentRecord:
    """Send it, and say where it lies, which node leads there, and what the consumer was given.
    `connect(client_id)` gives a cluster of one's own. Raises Refused and StartError."""
    with connect(CONSUMER_ID) as consumer, connect(PRODUCER_ID) as producer:
        leader = _leader(producer, what)
        _leader(consumer, what)
        offset = _end(consumer, leader, what)
        reader = consumer.node(leader)
        request = fetch_request(
            {(what.topic, what.partition): offset}, WAIT_MS, FETCH_BYTES, FETCH_BYTES
        )
        reader.send(request, fetching.NAMES_VERSION_MAX)
        time.sleep(PARKED_S)
        _produce(producer, leader, what, now_ms)
        answer = reader.receive(FetchResponse)
        given = [one.records for topic in answer.responses for one in topic.partitions]
    return SentRecord(what.topic, what.partition, offset, leader, consumed=any(given))


def _leader(cluster: ClusterClient, what: Asked) -> int:
    topic = cluster.led_topics([what.topic])[what.topic]
    for one in topic.partitions:
        if one.partition_index == what.partition:
            return one.leader_id
    raise Refused(
        f"topic {what.topic} has no partition {what.partition}: it has {len(topic.partitions)}"
    )


def _end(cluster: ClusterClient, leader: int, what: Asked) -> int:
    request = offsets_request({(what.topic, what.partition): LATEST})
    answer = cluster.call_at(leader, request, ListOffsetsResponse)
    (found,) = answer.topics[0].partitions
    if found.error_code:
        raise Refused(why(found.error_code, None, f"Describe on topic {what.topic}"))
    return found.offset


def _produce(cluster: ClusterClient, leader: int, what: Asked, now_ms: int) -> None:
    batch = build_batch(records_of([what.value], [KEY]), 1, now_ms, 0, Producer())
    place = (what.topic, what.partition)
    request = produce_request(place, memoryview(batch), what.acks, TIMEOUT_MS)
    cluster.node(leader).send(request, producing.NAMES_VERSION_MAX)
    if what.acks == 0:
        return
    answer = cluster.node(leader).receive(ProduceResponse)
    (told,) = answer.responses[0].partition_responses
    if told.error_code != ErrorCode.NONE:
        raise Refused(why(told.error_code, told.error_message, f"Write on topic {what.topic}"))
