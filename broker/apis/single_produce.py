"""A Produce of one plain batch, from its bytes to its answer: the path that decides the rate.

What one record a request costs is the number of steps around its append. So where a request has one
partition, no transaction, and is answered at once, it goes from the frame to the log and back with
no messages in between: 0.6 of the CPU that it takes with them; and the next one of its kind goes
by `broker.apis.repeated_produce`. Everything else, and whatever is refused before it is appended,
is left to `broker.apis.produce`, which says how Produce behaves; tests hold all to the same
answers. Never does I/O itself.
"""

from __future__ import annotations

from collections.abc import Callable

from broker.apis.context import AtOnce, TheLongWay
from broker.apis.repeated_produce import RepeatedProduce
from broker.replication.replica_manager import ReplicaManager
from protocol.errors import ErrorCode, ProtocolError
from protocol.message_codec import ResponseParts
from protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.produce_codec import FLEXIBLE_FROM, OnePartition, encode, encode_one, read_one
from protocol.record_batch import HEADER_SIZE, TRANSACTIONAL_FLAG
from storage.log_append_info import LogAppendInfo

LOW_ATTRIBUTES = 22  # the byte of a batch header that holds the flags
LOOKED_AT = TRANSACTIONAL_FLAG | 4  # most batches have neither bit: 4 is in zstd's codec

_NOBODY = 0
_LEADER = 1
_ACKS = (-1, _NOBODY, _LEADER)


class SingleProduce:
    """See the module."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas
        self._wall_ms = replicas.scheduler.wall_ms
        self._repeated = RepeatedProduce(replicas)

    def handle(
        self,
        frame: memoryview,
        pos: int,
        version: int,
        correlation_id: int,
        reply: Callable[[ResponseParts | None], None],
        _the_long_way: TheLongWay,
        _listener_name: str,
    ) -> bool | AtOnce:
        """Append and answer the request whose body is at `pos`. False: nothing was done."""
        request = read_one(frame, pos, version)
        if request is None:
            return False
        acks, _, name, topic_id, index, records = request
        replicas = self._replicas
        if name:
            partition = replicas.partition(name, index)
        else:
            partition = replicas.partition_by_id(topic_id, index)
        if (
            partition is None
            or len(records) < HEADER_SIZE
            or records[LOW_ATTRIBUTES] & LOOKED_AT
            # Without followers, acks=all is as soon answered as acks=1.
            or (acks != _LEADER and (acks not in _ACKS or partition.followers is not None))
        ):
            return False
        info = partition.append_as_leader(records, acks, self._wall_ms())
        if isinstance(info, ErrorCode):
            return False
        if info.error:
            if acks == _NOBODY:
                raise refused_without_answer(info.error)
            topic = TopicProduceResponse(name, topic_id, [refused(index, info)])
            reply(encode(ProduceResponse([topic]), version, correlation_id))
            return True
        try:
            reply(_answer(request, version, correlation_id, info) if acks != _NOBODY else None)
        finally:
            replicas.partition_changed(partition)
        if partition.followers is not None:
            return True
        return self._repeated.remember(frame, version, request) or True


def _answer(
    request: OnePartition, version: int, correlation_id: int, info: LogAppendInfo
) -> ResponseParts:
    """What was appended."""
    _, _, name, topic_id, index, _ = request
    if version < FLEXIBLE_FROM:
        one = PartitionProduceResponse(
            index, 0, info.first_offset, info.log_append_time, info.log_start_offset
        )
        topic = TopicProduceResponse(name, topic_id, [one])
        return encode(ProduceResponse([topic]), version, correlation_id)
    return encode_one(
        version,
        correlation_id,
        name.encode(),
        topic_id,
        index,
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
