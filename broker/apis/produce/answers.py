"""Answers to a Produce: for one partition, for the whole request, or none with acks=0.

With acks=0 the client reads no response. If all partitions were appended, nothing is sent. An error
of any partition closes the connection, as soon as it is known. The client then asks for the
metadata again. Follows `handleProduceRequest` of Kafka's `KafkaApis`.
"""

from __future__ import annotations

from broker.requests.context import Respond
from protocol.errors import ErrorCode, ProtocolError
from protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from storage.log.log_append_info import LogAppendInfo


def end_without_answer(respond: Respond, response: ProduceResponse) -> None:
    """End an acks=0 request: send nothing, or close the connection if `response` has an error."""
    for topic in response.responses:
        for partition in topic.partition_responses:
            if partition.error_code:
                respond(_closed_for(partition.error_code))
                return
    respond(None)


def refuse_produce(request: ProduceRequest, error: ErrorCode) -> ProduceResponse | ProtocolError:
    """Return a response with `error` for every partition, or with acks=0 the error that closes the
    connection.
    """
    return refused_whole(request, error) if request.acks else _closed_for(error)


def _closed_for(error: int) -> ProtocolError:
    """Return the exception that closes the connection of an acks=0 request with this error."""
    return ProtocolError(f"a Produce with acks=0 was refused: {ErrorCode(error).name}")


def refused_whole(request: ProduceRequest, error: ErrorCode) -> ProduceResponse:
    """Return a response with `error` for every partition of the request."""
    return ProduceResponse(
        [
            TopicProduceResponse(
                topic.name,
                topic.topic_id,
                [not_appended(data.index, error) for data in topic.partition_data],
            )
            for topic in request.topic_data
        ]
    )


def not_appended(
    index: int, error: ErrorCode, message: str | None = None
) -> PartitionProduceResponse:
    """Return the answer with `error` for a partition whose log was not asked to append."""
    return PartitionProduceResponse(index, int(error), -1, -1, -1, error_message=message)


def refused_by_log(index: int, info: LogAppendInfo) -> PartitionProduceResponse:
    """Return the answer for a partition whose log rejected a batch."""
    return PartitionProduceResponse(
        index,
        int(info.error),
        -1,
        -1,
        info.log_start_offset,
        [BatchIndexAndErrorMessage(i, message) for i, message in info.record_errors],
        info.error_message,
    )


def add_beside(refused: list[TopicProduceResponse], response: ProduceResponse) -> None:
    """Add the answers of rejected partitions to a response, below the topics that are in it
    already."""
    for answer in refused:
        for topic in response.responses:
            if (topic.name, topic.topic_id) == (answer.name, answer.topic_id):
                topic.partition_responses.extend(answer.partition_responses)
                break
        else:
            response.responses.append(answer)
