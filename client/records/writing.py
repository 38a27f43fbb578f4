"""Writing batches to the leaders of a topic's partitions: the loop behind `ottla produce`.

Some requests are on their way to each leader at a time, and all replicas in sync have what is
acknowledged. A leader that dies or moves is found anew and gets what was not acknowledged again;
the producer's id and sequences keep the log from having it twice. Owns what is on its way.

Follows KIP-98 (idempotent producers) and KIP-679 (they are the default).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from broker.config.start_error import StartError
from client.cluster import Cluster
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
"""Requests to a leader: of so many batches it remembers that it has them (KIP-98)."""
WITHIN_S = 60.0
"""How long a batch is tried."""
_SEQUENCE_MASK = 0x7FFFFFFF

_THERE = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
_AGAIN = (
    *NOT_WRITTEN,
    *MAYBE_DONE,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,  # of a batch behind one that was not taken
)

Build = Callable[[Producer], bytearray]
"""Makes a batch of whom it is told."""


@dataclass(frozen=True, slots=True)
class _Sent:
    partition: int
    batch: bytearray
    records: int


class Writer:
    """`writer.send(…)`, and at the end `writer.flush()`. Calls raise Refused and StartError."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        """Raises Refused where there is no such topic, or it may not be written."""
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
        """Records that are in the log."""
        self.last_place: tuple[int, int] | None = None
        """Partition and first offset of the batch acknowledged last; the offset is -1 where it was
        there already."""

    @property
    def partitions(self) -> int:
        """How many the topic has."""
        return len(self._leaders)

    def send(self, partition: int, records: int, build: Build) -> None:
        """Send a batch of so many records; the answer is waited for later."""
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
            self._put(node_id, waiting[-1])
        except (OSError, ProtocolError, StartError) as error:
            self._send_again(str(error))

    def flush(self) -> None:
        """Wait until all is acknowledged."""
        for node_id in list(self._on_the_way):
            while self._on_the_way.get(node_id):
                self._receive(node_id)

    # --- within -----------------------------------------------------------------------------------

    def _find_leaders(self) -> None:
        topic = self._cluster.led_topics([self._topic])[self._topic]
        self._leaders = {one.partition_index: one.leader_id for one in topic.partitions}

    def _put(self, node_id: int, sent: _Sent) -> None:
        place, timeout_ms = (self._topic, sent.partition), int(WITHIN_S * 1000 / 2)
        request = produce_request(place, sent.batch, ACKS_OF_ALL, timeout_ms)
        self._cluster.node(node_id).send(request, NAMES_VERSION_MAX)

    def _receive(self, node_id: int) -> None:
        """Take the oldest answer that a leader owes."""
        try:
            answer = self._cluster.node(node_id).receive(ProduceResponse)
        except (OSError, ProtocolError, StartError) as error:
            self._send_again(str(error) or type(error).__name__)
            return
        one = answer.responses[0].partition_responses[0]
        if self._is_there(one):
            self._note(self._on_the_way[node_id].popleft())
        else:
            self._send_again(ErrorCode(one.error_code).name)

    def _note(self, sent: _Sent) -> None:
        self.acknowledged += sent.records

    def _is_there(self, answer: PartitionProduceResponse) -> bool:
        """Whether a batch is in the log; False: it is to be sent again. Raises Refused."""
        if answer.error_code in _THERE:
            self.last_place = (answer.index, answer.base_offset)
            return True
        if answer.error_code in _AGAIN:
            return False
        place = f"{self._topic}-{answer.index}"
        reasons = [one.batch_index_error_message for one in answer.record_errors]
        text = next(filter(None, reasons), None) or answer.error_message
        if answer.error_code == ErrorCode.MESSAGE_TOO_LARGE:
            text = "a batch is larger than the topic's max.message.bytes"
        reason = why(answer.error_code, text, f"Write on topic {self._topic}")
        raise Refused(f"{place}: {reason} ({self.acknowledged} records were written)")

    def _send_again(self, reason: str) -> None:
        """Send what is not acknowledged once more, one after the other, until all of it is."""
        left = [sent for waiting in self._on_the_way.values() for sent in waiting]
        for node_id in self._on_the_way:
            self._cluster.drop(node_id)
        self._on_the_way.clear()
        deadline = time.monotonic() + WITHIN_S
        while left:
            if time.monotonic() > deadline:
                raise StartError(
                    f"{self._topic}-{left[0].partition} does not take records: {reason} "
                    f"({self.acknowledged} were written); ottla status shows what is wrong"
                )
            time.sleep(PAUSE_S)
            reason = self._try_again(left) or reason

    def _try_again(self, left: list[_Sent]) -> str | None:
        """Send the first ones until one fails, and why it did."""
        try:
            self._find_leaders()
        except (Refused, StartError) as error:
            return str(error)
        while left:
            node_id = self._leaders[left[0].partition]
            try:
                self._put(node_id, left[0])
                answer = self._cluster.node(node_id).receive(ProduceResponse)
            except (OSError, ProtocolError, StartError) as error:
                self._cluster.drop(node_id)
                return str(error)
            one = answer.responses[0].partition_responses[0]
            if not self._is_there(one):
                return ErrorCode(one.error_code).name
            self._note(left.pop(0))
        return None
