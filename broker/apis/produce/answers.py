"""What a Produce is answered: partition by partition, whole, or not at all.

With acks=0 nobody reads a response. So there is one rule about it, here: nothing is sent where all
was appended, and an error of any partition closes the connection, whenever it is known. The client
then asks for the metadata again. Follows `handleProduceRequest` of Kafka's `KafkaApis` 4.3.
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
    """End an acks=0 request that has come to `response`."""
    for topic in response.responses:
        for partition in topic.partition_responses:
            if partition.error_code:
                respond(_closed_for(partition.error_code))
                return
    respond(None)


def refuse_produce(request: ProduceRequest, error: ErrorCode) -> ProduceResponse | ProtocolError:
    """Return what says `error` for every partition, which closes the connection with acks=0."""
    return refused_whole(request, error) if request.acks else _closed_for(error)


def _closed_for(error: int) -> ProtocolError:
    return ProtocolError(f"a Produce with acks=0 was refused: {ErrorCode(error).name}")


def refused_whole(request: ProduceRequest, error: ErrorCode) -> ProduceResponse:
    """Return the response that says `error` for every partition."""
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
    """Return the answer for a partition whose log was not asked."""
    return PartitionProduceResponse(index, int(error), -1, -1, -1, error_message=message)


def refused_by_log(index: int, info: LogAppendInfo) -> PartitionProduceResponse:
    """Return the answer for a partition whose log refused a batch."""
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
    """Add answers for partitions to a response, each beside the others of its topic."""
    for answer in refused:
        for topic in response.responses:
            if (topic.name, topic.topic_id) == (answer.name, answer.topic_id):
                topic.partition_responses.extend(answer.partition_responses)
                break
        else:
            response.responses.append(answer)
