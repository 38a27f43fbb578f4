"""Writing batches to the leaders of a topic's partitions: the loop behind `ottla produce`.

Several requests are in flight to each leader; all in-sync replicas have a batch before it is
acknowledged (acks=all). If a leader dies or moves, the new one gets the unacknowledged batches; the
producer's id and sequences prevent duplicates in the log. Owns the requests in flight.

Follows KIP-98 (idempotent producers) and KIP-679 (they are the default).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from broker.config.start_error import StartError
from client.cluster import ClusterClient
from client.core.producing import ACKS_OF_ALL, NAMES_VERSION_MAX, Producer, produce_request
from client.core.retries import MAYBE_DONE, NOT_WRITTEN, PAUSE_S
from client.refusals import Refused, why
from protocol.errors import ErrorCode, ProtocolError
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
)

ON_THE_WAY_MAX = 5
"""The most requests in flight to a leader, which detects duplicates among that many (KIP-98)."""
WITHIN_S = 60.0
"""The time after which a batch is no longer retried."""
_SEQUENCE_MASK = 0x7FFFFFFF

_IN_THE_LOG = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
_RETRIED = (
    *NOT_WRITTEN,
    *MAYBE_DONE,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,  # of a batch after one that was rejected
)

Build = Callable[[Producer], bytearray]
"""A function that builds the batch for a producer and its sequence number."""


@dataclass(frozen=True, slots=True)
class _Sent:
    partition: int
    batch: bytearray
    records: int


class Writer:
    """A writer to one topic: `writer.send(…)`, and at the end `writer.flush()`.

    The methods raise Refused and StartError.
    """

    def __init__(self, cluster: ClusterClient, topic: str) -> None:
        """Find the leaders, and ask the cluster for a producer id.

        Raises Refused if there is no such topic, or this login may not write to it.
        """
        self._cluster = cluster
        self._topic = topic
        self._leaders: dict[int, int] = {}
        self._find_leaders()
        identity = cluster.settled(InitProducerIdRequest(None), InitProducerIdResponse)
        if identity.error_code:
            raise Refused(why(identity.error_code, None, f"Write on topic {topic}"))
        self._producer = (identity.producer_id, identity.producer_epoch)
        self._sequences = dict.fromkeys(self._leaders, 0)
        self._on_the_way: dict[int, deque[_Sent]] = {}
        self.acknowledged = 0
        """The number of acknowledged records."""
        self.last_place: tuple[int, int] | None = None
        """The partition and first offset of the last acknowledged batch.

        The offset is -1 if the batch was in the log already.
        """

    @property
    def partitions(self) -> int:
        """The number of the topic's partitions."""
        return len(self._leaders)

    def send(self, partition: int, records: int, build: Build) -> None:
        """Build a batch of so many records and send it to the partition's leader; wait first if too
        many requests are in flight.

        If the connection fails, all unacknowledged batches are sent again before this returns.
        """
        sequence = self._sequences[partition]
        self._sequences[partition] = (sequence + records) & _SEQUENCE_MASK
        batch = build(Producer(*self._producer, sequence))
        node_id = self._leaders[partition]
        waiting = self._on_the_way.setdefault(node_id, deque())
        while len(waiting) >= ON_THE_WAY_MAX:
            self._receive(node_id)
            node_id = self._leaders[partition]
            waiting = self._on_the_way.setdefault(node_id, deque())
        waiting.append(_Sent(partition, batch, records))
        try:
            self._send_to(node_id, waiting[-1])
        except (OSError, ProtocolError, StartError) as error:
            self._send_again(str(error))

    def flush(self) -> None:
        """Wait until all batches are acknowledged; send batches again if needed."""
        for node_id in list(self._on_the_way):
            while self._on_the_way.get(node_id):
                self._receive(node_id)

    # --- internals --------------------------------------------------------------------------------

    def _find_leaders(self) -> None:
        """Ask the cluster for the leaders of all partitions, wait until each has one, and store
        them."""
        topic = self._cluster.led_topics([self._topic])[self._topic]
        self._leaders = {
            partition.partition_index: partition.leader_id for partition in topic.partitions
        }

    def _send_to(self, node_id: int, sent: _Sent) -> None:
        """Send a batch to this node without waiting for the response. The caller handles a failed
        connection."""
        place, timeout_ms = (self._topic, sent.partition), int(WITHIN_S * 1000 / 2)
        request = produce_request(place, sent.batch, ACKS_OF_ALL, timeout_ms)
        self._cluster.node(node_id).send(request, NAMES_VERSION_MAX)

    def _receive(self, node_id: int) -> None:
        """Receive the response to the oldest request in flight to a leader, and count its records
        as acknowledged.

        If the response does not come, or has an error that is retried, send all unacknowledged
        batches again.
        """
        try:
            answer = self._cluster.node(node_id).receive(ProduceResponse)
        except (OSError, ProtocolError, StartError) as error:
            self._send_again(str(error) or type(error).__name__)
            return
        result = answer.responses[0].partition_responses[0]
        if self._is_in_the_log(result):
            self._count_acknowledged(self._on_the_way[node_id].popleft())
        else:
            self._send_again(ErrorCode(result.error_code).name)

    def _count_acknowledged(self, sent: _Sent) -> None:
        self.acknowledged += sent.records

    def _is_in_the_log(self, answer: PartitionProduceResponse) -> bool:
        """Return whether a batch is in the log, and then set `last_place`; False if it has to be
        sent again.

        Raises Refused if the leader rejected it.
        """
        if answer.error_code in _IN_THE_LOG:
            self.last_place = (answer.index, answer.base_offset)
            return True
        if answer.error_code in _RETRIED:
            return False
        place = f"{self._topic}-{answer.index}"
        reasons = [error.batch_index_error_message for error in answer.record_errors]
        text = next(filter(None, reasons), None) or answer.error_message
        if answer.error_code == ErrorCode.MESSAGE_TOO_LARGE:
            text = "a batch is larger than the topic's max.message.bytes"
        reason = why(answer.error_code, text, f"Write on topic {self._topic}")
        raise Refused(f"{place}: {reason} ({self.acknowledged} records were written)")

    def _send_again(self, reason: str) -> None:
        """Close the connections in use. Send the unacknowledged batches again, one after the other,
        until all are acknowledged.

        Raises StartError after WITHIN_S.
        """
        unacknowledged = [sent for waiting in self._on_the_way.values() for sent in waiting]
        for node_id in self._on_the_way:
            self._cluster.drop(node_id)
        self._on_the_way.clear()
        deadline = time.monotonic() + WITHIN_S
        while unacknowledged:
            if time.monotonic() > deadline:
                raise StartError(
                    f"{self._topic}-{unacknowledged[0].partition} does not take records: {reason} "
                    f"({self.acknowledged} were written); ottla status shows what is wrong"
                )
            time.sleep(PAUSE_S)
            reason = self._try_again(unacknowledged) or reason

    def _try_again(self, unacknowledged: list[_Sent]) -> str | None:
        """Find the leaders, then send each batch and wait for its response, until a batch fails.
        Remove the acknowledged ones from the list.

        Returns the reason of the failure, None if all batches are acknowledged.
        """
        try:
            self._find_leaders()
        except (Refused, StartError) as error:
            return str(error)
        while unacknowledged:
            node_id = self._leaders[unacknowledged[0].partition]
            try:
                self._send_to(node_id, unacknowledged[0])
                answer = self._cluster.node(node_id).receive(ProduceResponse)
            except (OSError, ProtocolError, StartError) as error:
                self._cluster.drop(node_id)
                return str(error)
            result = answer.responses[0].partition_responses[0]
            if not self._is_in_the_log(result):
                return ErrorCode(result.error_code).name
            self._count_acknowledged(unacknowledged.pop(0))
        return None
