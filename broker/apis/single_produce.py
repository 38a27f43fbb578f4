"""A Produce of one plain batch, from its bytes to its answer: the path that decides the rate.

What one record a request costs is the number of steps around its append. So where a request has one
partition and no transaction, it goes from the frame to the log and back with no messages in
between: 0.6 of the CPU that it takes with them; and where it is answered at once, the next one of
its kind goes by `broker.apis.repeated_produce`. Everything else, and whatever is refused before it
is appended, is left to `broker.apis.produce`, which says how Produce behaves; tests hold all to the
same answers. Never does I/O itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from broker.apis.repeated_produce import Appended, Place, RepeatedProduce
from broker.apis.replicated_produce import ReplicatedProduce
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Repeating, TheLongWay
from protocol.errors import ErrorCode, ProtocolError
from protocol.message_codec import ResponseParts
from protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.produce_codec import FLEXIBLE_FROM, encode, encode_one, read_one
from protocol.record_batch import HEADER_SIZE, TRANSACTIONAL_FLAG
from storage.log.log_append_info import LogAppendInfo
from storage.log.log_validator import LookedAt
from storage.log.sliced_work import first_slice

LOW_ATTRIBUTES = 22  # the byte of a batch header that holds the flags
LOOKED_AT = TRANSACTIONAL_FLAG | 4  # most batches have neither bit: 4 is in zstd's codec

_ALL_REPLICAS = -1
_NOBODY = 0


class SingleProduce:
    """See the module."""

    def __init__(
        self, replicas: ReplicaManager, name_leaders: Callable[[int, str, ProduceResponse], None]
    ) -> None:
        """`name_leaders(version, listener, response)` completes one with an error."""
        self._replicas = replicas
        self._name_leaders = name_leaders
        self._wall_ms = replicas.scheduler.wall_ms
        self._repeated = RepeatedProduce(replicas, self._refuse)

    def handle(
        self,
        frame: memoryview,
        pos: int,
        version: int,
        correlation_id: int,
        reply: Callable[[ResponseParts | None], None],
        _the_long_way: TheLongWay,
        listener_name: str,
    ) -> bool | Repeating:
        """Append and answer the request whose body is at `pos`. False: nothing was done."""
        request = read_one(frame, pos, version)
        if request is None:
            return False
        acks, timeout_ms, name, topic_id, index, records = request
        replicas = self._replicas
        if name:
            partition = replicas.partition(name, index)
        else:
            partition = replicas.partition_by_id(topic_id, index)
        if partition is None or len(records) < HEADER_SIZE or records[LOW_ATTRIBUTES] & LOOKED_AT:
            return False
        info = (
            self._look_and_append(partition, records, acks)
            if partition.log.looks_at_records
            else partition.append_as_leader(records, acks, self._wall_ms())
        )
        if info is None or isinstance(info, ErrorCode):
            return False
        if info.error:
            if acks == _NOBODY:
                raise refused_without_answer(info.error)
            topic = TopicProduceResponse(name, topic_id, [refused(index, info)])
            reply(encode(ProduceResponse([topic]), version, correlation_id))
            return True
        one = _Answer(version, correlation_id, name, topic_id, index, info)
        # Without followers, acks=all is as soon answered as acks=1.
        if acks == _ALL_REPLICAS and partition.followers is not None:
            give = partial(self._frame, one, listener_name)
            produce = ReplicatedProduce(partition, info.last_offset + 1, give)
            answer = produce.wait(replicas, timeout_ms, lambda: reply)
            if answer:
                reply(answer)
        else:
            try:
                reply(one.parts() if acks != _NOBODY else None)
            finally:
                replicas.partition_changed(partition)
        return self._repeated.remember(frame, version, request, listener_name) or True

    def _look_and_append(
        self, partition: Partition, records: memoryview, acks: int
    ) -> LogAppendInfo | ErrorCode | None:
        """As the partition does; None, and nothing done, where the records need a long look."""
        now_ms = self._wall_ms()
        look = partition.look_before_append(records, now_ms)
        if look is None:
            return partition.append_as_leader(records, acks, now_ms)
        outcome = first_slice(look.steps)
        if not outcome:
            return None
        looked_at = LookedAt(look.config, outcome[0])
        return partition.append_as_leader(records, acks, now_ms, looked_at=looked_at)

    def _frame(self, one: _Answer, listener_name: str, error: ErrorCode) -> ResponseParts:
        """What is said of an append with this verdict."""
        if not error:
            return one.parts()
        info, place = one.info, (one.name, one.topic_id, one.index)
        appended = info.first_offset, info.log_append_time, info.log_start_offset
        return self._refuse(one.version, listener_name, place, one.correlation_id, appended, error)

    def _refuse(
        self,
        version: int,
        listener_name: str,
        place: Place,
        correlation_id: int,
        appended: Appended,
        error: ErrorCode,
    ) -> ResponseParts:
        """What is said of an append that was not replicated."""
        name, topic_id, index = place
        one = PartitionProduceResponse(index, int(error), *appended)
        response = ProduceResponse([TopicProduceResponse(name, topic_id, [one])])
        self._name_leaders(version, listener_name, response)
        return encode(response, version, correlation_id)


class _Answer:
    """What was appended, and how to say so."""

    __slots__ = ("correlation_id", "index", "info", "name", "topic_id", "version")

    def __init__(
        self,
        version: int,
        correlation_id: int,
        name: str,
        topic_id: bytes,
        index: int,
        info: LogAppendInfo,
    ) -> None:
        self.version = version
        self.correlation_id = correlation_id
        self.name = name
        self.topic_id = topic_id
        self.index = index
        self.info = info

    def parts(self) -> ResponseParts:
        """The whole frame, where there is no error."""
        info = self.info
        if self.version < FLEXIBLE_FROM:
            one = PartitionProduceResponse(
                self.index, 0, info.first_offset, info.log_append_time, info.log_start_offset
            )
            response = ProduceResponse([TopicProduceResponse(self.name, self.topic_id, [one])])
            return encode(response, self.version, self.correlation_id)
        return encode_one(
            self.version,
            self.correlation_id,
            self.name.encode(),
            self.topic_id,
            self.index,
            info.first_offset,
            info.log_append_time,
            info.log_start_offset,
        )


def refused_without_answer(error: int) -> ProtocolError:
    """What closes the connection where a producer that wants no answer is refused, as in Kafka."""
    return ProtocolError(f"a Produce with acks=0 was refused: {ErrorCode(error).name}")


def refused(index: int, info: LogAppendInfo) -> PartitionProduceResponse:
    """The answer for a partition whose log refused a batch."""
    return PartitionProduceResponse(
        index,
        int(info.error),
        -1,
        -1,
        info.log_start_offset,
        [BatchIndexAndErrorMessage(i, message) for i, message in info.record_errors],
        info.error_message,
    )
