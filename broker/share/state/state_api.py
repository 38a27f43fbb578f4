"""The messages of the share coordinator's five APIs, which all have the same form.

A request has one group, its topics, and the partitions of each; the response has a result for each
partition. Owns the conversion between these messages and the values of the share coordinator, for
the coordinator that answers and for the brokers that ask it. Never sends anything. Follows KIP-932.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from broker.share.record_state import RecordState
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import StateAnswer, WriteRequest
from broker.share.state_batches import StateBatch
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages import delete_share_group_state as deletion
from protocol.messages import initialize_share_group_state as initialization
from protocol.messages import read_share_group_state as reading
from protocol.messages import read_share_group_state_summary as summary
from protocol.messages import write_share_group_state as writing

TopicPartitionKey = tuple[bytes, int]
"""A topic id and a partition."""

StateRequest = (
    initialization.InitializeShareGroupStateRequest
    | reading.ReadShareGroupStateRequest
    | writing.WriteShareGroupStateRequest
    | deletion.DeleteShareGroupStateRequest
    | summary.ReadShareGroupStateSummaryRequest
)
StateResponse = (
    initialization.InitializeShareGroupStateResponse
    | reading.ReadShareGroupStateResponse
    | writing.WriteShareGroupStateResponse
    | deletion.DeleteShareGroupStateResponse
    | summary.ReadShareGroupStateSummaryResponse
)
StateEntry = (
    initialization.PartitionData
    | reading.PartitionData
    | writing.PartitionData
    | deletion.PartitionData
    | summary.PartitionData
)
"""A partition of a request."""
PlainResult = initialization.PartitionResult | writing.PartitionResult | deletion.PartitionResult
StateResult = PlainResult | reading.PartitionResult | summary.PartitionResult
"""A partition of a response."""


class StateApi(NamedTuple):
    """An API: its key and version, and the classes of its messages."""

    key: ApiKey
    latest: int
    decide: Callable[..., None]
    """Asks a share coordinator: takes the coordinator, the key of a share-partition, the arguments
    of the decision, and a `StateReply`."""
    entry: Callable[..., StateEntry]
    """Returns a partition of the request: takes the key and the arguments of the decision."""
    arguments: Callable[[Any], tuple[object, ...]]
    """Returns the arguments of the decision in a partition of the request. Raises ValueError if a
    batch cannot be."""
    request: Callable[[str, list[Any]], StateRequest]
    """Returns the request for a group, with its topics."""
    asked_topic: Callable[[bytes, list[Any]], Any]
    """Returns a topic of the request, with its partitions."""
    response: Callable[[list[Any]], StateResponse]
    topic: Callable[[bytes, list[Any]], Any]
    """Returns a topic of the response, with its partitions."""
    partition: Callable[[int, int, str | None, StateAnswer], StateResult]
    """Returns a partition of the response, with its error, message and state."""
    answer: Callable[[Any], StateAnswer]
    """Returns the state in a partition of the response. Raises ValueError if a record's state is
    unknown."""


def _plain_answer(partition: PlainResult) -> StateAnswer:
    """Return the answer of an API without a state in its response."""
    return StateAnswer(message=partition.error_message)


def _read_partition(
    partition: int, error: int, message: str | None, answer: StateAnswer
) -> reading.PartitionResult:
    batches = [reading.StateBatch(*batch) for batch in answer.batches]
    return reading.PartitionResult(
        partition, error, message, answer.state_epoch, answer.start_offset, batches
    )


def _read_answer(partition: reading.PartitionResult) -> StateAnswer:
    return StateAnswer(
        state_epoch=partition.state_epoch,
        start_offset=partition.start_offset,
        batches=batches_of(partition.state_batches),
        message=partition.error_message,
    )


def _summary_partition(
    partition: int, error: int, message: str | None, answer: StateAnswer
) -> summary.PartitionResult:
    state_epoch, leader_epoch, start_offset, final_count, *_ = answer
    return summary.PartitionResult(
        partition, error, message, state_epoch, leader_epoch, start_offset, final_count
    )


def _summary_answer(partition: summary.PartitionResult) -> StateAnswer:
    return StateAnswer(
        partition.state_epoch,
        partition.leader_epoch,
        partition.start_offset,
        partition.delivery_complete_count,
        message=partition.error_message,
    )


# --- partitions of a request ---------------------------------------------------------------------


def initialize_entry(
    key: SharePartitionKey, state_epoch: int, start_offset: int
) -> initialization.PartitionData:
    """Return the entry of a partition in an InitializeShareGroupState."""
    return initialization.PartitionData(key.partition, state_epoch, start_offset)


def read_entry(key: SharePartitionKey, leader_epoch: int) -> reading.PartitionData:
    """Return the entry of a partition in a ReadShareGroupState."""
    return reading.PartitionData(key.partition, leader_epoch)


def write_entry(key: SharePartitionKey, request: WriteRequest) -> writing.PartitionData:
    """Return the entry of a partition in a WriteShareGroupState."""
    return writing.PartitionData(
        key.partition,
        request.state_epoch,
        request.leader_epoch,
        request.start_offset,
        request.final_count,
        [writing.StateBatch(*batch) for batch in request.batches],
    )


def write_of(partition: writing.PartitionData) -> WriteRequest:
    """Return the write of a partition's entry. Raises ValueError if a batch cannot be."""
    return WriteRequest(
        partition.state_epoch,
        partition.leader_epoch,
        partition.start_offset,
        partition.delivery_complete_count,
        batches_of(partition.state_batches),
    )


def delete_entry(key: SharePartitionKey) -> deletion.PartitionData:
    """Return the entry of a partition in a DeleteShareGroupState."""
    return deletion.PartitionData(key.partition)


def summary_entry(key: SharePartitionKey) -> summary.PartitionData:
    """Return the entry of a partition in a ReadShareGroupStateSummary."""
    return summary.PartitionData(key.partition)


def batches_of(
    batches: Sequence[reading.StateBatch | writing.StateBatch],
) -> tuple[StateBatch, ...]:
    """Return a message's batches. Raises ValueError if a record's state is unknown, a batch ends
    before it begins, or a count is negative."""
    return tuple(map(_batch, batches))


def _batch(batch: reading.StateBatch | writing.StateBatch) -> StateBatch:
    if batch.last_offset < batch.first_offset:
        raise ValueError(f"a batch ends at {batch.last_offset}, before {batch.first_offset}")
    if batch.delivery_count < 0:
        raise ValueError(f"a batch has {batch.delivery_count} deliveries")
    state = RecordState(batch.delivery_state)
    return StateBatch(batch.first_offset, batch.last_offset, state, batch.delivery_count)


# --- the APIs ------------------------------------------------------------------------------------

INITIALIZE = StateApi(
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    initialization.REQUEST.MAX_VERSION,
    lambda coordinator, *arguments: coordinator.initialize(*arguments),
    initialize_entry,
    lambda entry: (entry.state_epoch, entry.start_offset),
    initialization.REQUEST,
    initialization.InitializeStateData,
    initialization.RESPONSE,
    initialization.InitializeStateResult,
    lambda partition, error, message, _: initialization.PartitionResult(partition, error, message),
    _plain_answer,
)
READ = StateApi(
    ApiKey.READ_SHARE_GROUP_STATE,
    reading.REQUEST.MAX_VERSION,
    lambda coordinator, *arguments: coordinator.read(*arguments),
    read_entry,
    lambda entry: (entry.leader_epoch,),
    reading.REQUEST,
    reading.ReadStateData,
    reading.RESPONSE,
    reading.ReadStateResult,
    _read_partition,
    _read_answer,
)
WRITE = StateApi(
    ApiKey.WRITE_SHARE_GROUP_STATE,
    writing.REQUEST.MAX_VERSION,
    lambda coordinator, *arguments: coordinator.write(*arguments),
    write_entry,
    lambda entry: (write_of(entry),),
    writing.REQUEST,
    writing.WriteStateData,
    writing.RESPONSE,
    writing.WriteStateResult,
    lambda partition, error, message, _: writing.PartitionResult(partition, error, message),
    _plain_answer,
)
DELETE = StateApi(
    ApiKey.DELETE_SHARE_GROUP_STATE,
    deletion.REQUEST.MAX_VERSION,
    lambda coordinator, *arguments: coordinator.delete(*arguments),
    delete_entry,
    lambda _: (),
    deletion.REQUEST,
    deletion.DeleteStateData,
    deletion.RESPONSE,
    deletion.DeleteStateResult,
    lambda partition, error, message, _: deletion.PartitionResult(partition, error, message),
    _plain_answer,
)
SUMMARY = StateApi(
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    summary.REQUEST.MAX_VERSION,
    lambda coordinator, *arguments: coordinator.summary(*arguments),
    summary_entry,
    lambda _: (),
    summary.REQUEST,
    summary.ReadStateSummaryData,
    summary.RESPONSE,
    summary.ReadStateSummaryResult,
    _summary_partition,
    _summary_answer,
)


APIS = (INITIALIZE, READ, WRITE, DELETE, SUMMARY)


# --- requests and responses ----------------------------------------------------------------------


def request_of(
    api: StateApi, group_id: str, entries: Mapping[TopicPartitionKey, StateEntry]
) -> StateRequest:
    """Return the request with these partitions of a group."""
    topics: dict[bytes, list[StateEntry]] = {}
    for (topic_id, _), entry in entries.items():
        topics.setdefault(topic_id, []).append(entry)
    return api.request(group_id, [api.asked_topic(*topic) for topic in topics.items()])


def answers_in(
    api: StateApi, response: StateResponse
) -> Iterator[tuple[TopicPartitionKey, ErrorCode, StateAnswer]]:
    """Yield the partitions of a response, with the error and the state of each. An error or a state
    that this broker does not know is an UNKNOWN_SERVER_ERROR."""
    for topic in response.results:
        for partition in topic.partitions:
            try:
                error, answer = ErrorCode(partition.error_code), api.answer(partition)
            except ValueError as fault:
                error, answer = ErrorCode.UNKNOWN_SERVER_ERROR, StateAnswer(message=str(fault))
            yield (topic.topic_id, partition.partition), error, answer
