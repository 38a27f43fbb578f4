"""Produce: v3-13 (v0-2 are named in ApiVersions for old librdkafka only, and refused; KAFKA-18659).

Behaviour: each partition's batches are appended to its leader's log, and each partition has its
own error. acks=0 has no response: an error closes the connection, as in Kafka. acks=1 answers after
the append, acks=all (-1) when every in-sync replica has it, or after `timeout_ms`. To internal
topics only clients that call themselves `__admin_client` may write (INVALID_TOPIC_EXCEPTION). The
batches of a transaction are appended once its coordinator knows of their partitions: until v11 it
is asked, from v12 on they are added (`broker.apis.produce.transactional`).
TRANSACTIONAL_ID_AUTHORIZATION_FAILED for such a batch in a request without a transactional id.

Needs WRITE on the transactional id where records are transactional: else
TRANSACTIONAL_ID_AUTHORIZATION_FAILED for all; then WRITE on each topic: TOPIC_AUTHORIZATION_FAILED
per partition.

Versions: v5 log start offset, v7 zstd (KIP-110), v8 record errors with words (KIP-467), v9
flexible, v10 the new leader's address (KIP-951), v11 TRANSACTION_ABORTABLE and v12 implicit
partitions in transactions (KIP-890), v13 topic ids.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from broker.apis.current_leader import current_leader, leader_node
from broker.apis.produce.parts import each_once, in_parts
from broker.apis.produce.prepared import PreparedProduce, prepare_produce
from broker.apis.produce.record_looks import Looked, RecordLooks
from broker.apis.produce.rights import LOW_ATTRIBUTES, may_use_transaction, parted
from broker.apis.produce.transactional import TransactionalProduce, VerifiedTransaction
from broker.purgatory.delayed_operations import DelayedProduce, PendingAck, ReplicatedPartition
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from ground.sliced_work import Pace, Steps, in_one_go
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import encode_response
from protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol.record_batch import CODEC_MASK, HEADER_SIZE, TRANSACTIONAL_FLAG
from storage.log.log_append_info import AppendOrigin, LogAppendInfo
from storage.log.log_validator import split_batches
from storage.log.refusal import Refusal
from storage.log.verification_state import VerificationGuard

ADMIN_CLIENT_ID = "__admin_client"
"""Of those who may write to internal topics (Kafka's `AdminUtils`)."""
if TYPE_CHECKING:
    from broker.apis.produce.interception import ProduceInterception

_log = logging.getLogger(f"ottla.{__name__}")

LOOKED_AT = TRANSACTIONAL_FLAG | 4  # most batches have neither bit: 4 is in zstd's codec
ALL_REPLICAS = -1
CURRENT_LEADER_FROM = 10
TOPIC_IDS_FROM = 13
ZSTD_FROM = 7


class ProduceApi:
    """Appends clients' batches."""

    def __init__(
        self,
        replicas: ReplicaManager,
        transactions: TransactionalProduce,
        answers: SlicedAnswers,
        interception: ProduceInterception | None = None,
    ) -> None:
        """`answers` handles long requests; `interception`: who looks at the records first."""
        self._replicas = replicas
        self._answers = answers
        self._interception = interception
        self._transactions = transactions
        self._looks = RecordLooks(replicas)
        self._scheduler = replicas.scheduler

    def apis(self) -> list[Api]:
        return [Api(ApiKey.PRODUCE, 3, 13, self.handle, refuse_produce, self.prepare)]

    def handle(self, context: RequestContext, request: ProduceRequest, respond: Respond) -> None:
        if context.writer is None:
            request.topic_data = _each_once(request.topic_data)
            self._handle(context, request, respond)
        else:
            steps = self._handle_long(context, request, respond)
            self._answers.judge(context, request, steps, _is_handled, respond, refuse_produce)

    def _handle_long(
        self, context: RequestContext, request: ProduceRequest, respond: Respond
    ) -> Steps[None]:
        request.topic_data = yield from each_once(request.topic_data, Pace())
        if not may_use_transaction(context.rights, request):
            code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            respond(refuse_produce(request, code) if request.acks else None)
            return
        yield from in_parts(request, partial(self._handle, context), respond)

    def _handle(self, context: RequestContext, request: ProduceRequest, respond: Respond) -> None:
        if not may_use_transaction(context.rights, request):
            code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            self._answer(request, refuse_produce(request, code), respond)
            return
        allowed, denied = self._denied(context, request)

        def answer_all(response: ProduceResponse) -> None:
            response.responses += denied
            respond(response)

        answer = respond
        if denied:
            answer = answer_all if request.acks else _to_nobody
        if self._interception is None:
            self._go_on(context, allowed, answer)
        else:
            self._intercept(self._interception, context, allowed, answer)
        if denied and not request.acks:
            raise refused_without_answer(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    def _go_on(self, context: RequestContext, request: ProduceRequest, respond: Respond) -> None:
        if request.transactional_id is not None:
            self._verify(context, request, respond)
        else:
            self._append(context, request, respond)

    def _append(
        self,
        context: RequestContext,
        request: ProduceRequest,
        respond: Respond,
        verified: VerifiedTransaction | None = None,
        looked: Looked | None = None,
    ) -> None:
        """Do what may be done, once all that it needs is known."""
        if looked is None:
            looked = self._look(context, request, respond, verified)
            if looked is None:
                return
        append = _Append(self._replicas, request, context, verified, looked)
        response = append.run(self._scheduler.wall_ms())
        if append.failed:
            self._name_leaders(context.api_version, context.listener_name, response)
        if request.acks == ALL_REPLICAS and append.pending:
            waiting = DelayedProduce(
                append.pending, lambda: self._replicated(context, response, respond)
            )
            if self._replicas.wait_for_replicas(waiting, append.appended, request.timeout_ms):
                if context.trace is not None:
                    context.trace.waits("Produce", request.timeout_ms)
                return
        try:
            self._answer(request, response, respond)
        finally:
            for partition in append.appended:
                self._replicas.partition_changed(partition)

    def _denied(
        self, context: RequestContext, request: ProduceRequest
    ) -> tuple[ProduceRequest, list[TopicProduceResponse]]:
        """What is left of a request, and the answers for the topics that it may not write to. The
        request itself stays as its frame has it: by that, others would be prepared."""
        if context.rights.unlimited:
            return request, []

        def name_of(topic: TopicProduceData) -> str | None:
            if context.api_version < TOPIC_IDS_FROM:
                return topic.name
            known = self._replicas.image.topics.get_by_id(topic.topic_id)
            return None if known is None else known.name

        allowed, denied = parted(context.rights, request.topic_data, name_of)
        if denied:
            what = request.transactional_id, request.acks, request.timeout_ms
            request = ProduceRequest(*what, allowed)
        return request, denied

    def prepare(
        self, context: RequestContext, frame: memoryview, request: ProduceRequest
    ) -> PreparedProduce | None:
        """How requests are answered that are like this one but for their records."""
        if self._interception is not None:
            return None

        def refuse(correlation_id: int, one: PartitionProduceResponse) -> bytes:
            topic = TopicProduceResponse(name, topic_id, [one])
            response = ProduceResponse([topic])
            self._name_leaders(context.api_version, context.listener_name, response)
            return encode_response(response, context.api_version, correlation_id).joined()

        if len(request.topic_data) != 1 or len(request.topic_data[0].partition_data) != 1:
            return None
        name, topic_id = request.topic_data[0].name, request.topic_data[0].topic_id
        return prepare_produce(self._replicas, context.api_version, frame, request, refuse)

    def _intercept(
        self,
        interception: ProduceInterception,
        context: RequestContext,
        request: ProduceRequest,
        respond: Respond,
    ) -> None:
        """Go on with what the interceptor lets pass."""
        is_later = False

        def done(refused: list[TopicProduceResponse] | None, error: Exception | None) -> None:
            def answer(response: ProduceResponse | None) -> None:
                if response is None and refused:
                    raise refused_without_answer(ErrorCode.INVALID_RECORD)
                if response is not None:
                    interception.add(refused or [], response)
                respond(response)

            try:
                if refused is None:
                    _log.error("an interceptor's look at records failed", exc_info=error)
                    refusal = refuse_produce(request, ErrorCode.UNKNOWN_SERVER_ERROR)
                    self._answer(request, refusal, respond)
                else:
                    self._go_on(context, request, answer)
            except ProtocolError:  # as in _verify
                if not is_later:
                    raise
                respond(None)

        interception.look(request, context.api_version >= TOPIC_IDS_FROM, done)
        is_later = True

    def _verify(self, context: RequestContext, request: ProduceRequest, respond: Respond) -> None:
        """Go on when the coordinator of the transaction has answered."""
        is_later = False

        def done(found: VerifiedTransaction | ErrorCode) -> None:
            try:
                if isinstance(found, ErrorCode):
                    self._answer(request, refuse_produce(request, found), respond)
                else:
                    self._append(context, request, respond, found)
            except ProtocolError:  # acks=0 was refused, and nobody is there any more to close
                if not is_later:
                    raise
                respond(None)

        self._transactions.verify(request, context.api_version, done)
        is_later = True

    def _look(
        self,
        context: RequestContext,
        request: ProduceRequest,
        respond: Respond,
        verified: VerifiedTransaction | None,
    ) -> Looked | None:
        """What records are like where their topic asks for it; None: `_append` goes on later."""

        def done(looked: Looked | None, error: Exception | None) -> None:
            try:
                if looked is None:
                    _log.error("a look at records failed", exc_info=error)
                    refusal = refuse_produce(request, ErrorCode.UNKNOWN_SERVER_ERROR)
                    self._answer(request, refusal, respond)
                else:
                    self._append(context, request, respond, verified, looked)
            except ProtocolError:  # as in _verify
                respond(None)

        by_topic_id = context.api_version >= TOPIC_IDS_FROM
        internal_allowed = context.client_id == ADMIN_CLIENT_ID
        now_ms = self._scheduler.wall_ms()
        return self._looks.look(request, by_topic_id, internal_allowed, now_ms, done)

    def _replicated(
        self, context: RequestContext, response: ProduceResponse, respond: Respond
    ) -> None:
        if context.trace is not None:
            context.trace.woken(expired=_has_timed_out(response))
        self._name_leaders(context.api_version, context.listener_name, response)
        respond(response)

    def _name_leaders(self, version: int, listener_name: str, response: ProduceResponse) -> None:
        """Where the leader is of each partition that is not led here (KIP-951)."""
        if version < CURRENT_LEADER_FROM:
            return
        image = self._replicas.image
        told: dict[int, None] = {}
        response.node_endpoints.clear()
        for topic in response.responses:
            name: bytes | str = topic.name or topic.topic_id
            for answer in topic.partition_responses:
                if answer.error_code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
                    continue
                index = answer.index
                if isinstance(name, bytes):
                    partition = self._replicas.partition_by_id(name, index)
                else:
                    partition = self._replicas.partition(name, index)
                leader, epoch = current_leader(partition, image, name, index)
                answer.current_leader = LeaderIdAndEpoch(leader, epoch)
                node = leader_node(image, leader, listener_name)
                if node is not None and leader not in told:
                    told[leader] = None
                    response.node_endpoints.append(NodeEndpoint(*node))

    def _answer(self, request: ProduceRequest, response: ProduceResponse, respond: Respond) -> None:
        if request.acks != 0:
            respond(response)
            return
        for topic in response.responses:
            for partition in topic.partition_responses:
                if partition.error_code:
                    raise refused_without_answer(partition.error_code)
        respond(None)


class _Append:
    """One Produce request on its way into the logs."""

    def __init__(
        self,
        replicas: ReplicaManager,
        request: ProduceRequest,
        context: RequestContext,
        verified: VerifiedTransaction | None,
        looked: Looked,
    ) -> None:
        self.replicas = replicas
        self.request = request
        self.verified = verified
        self.looked = looked
        self.trace = context.trace
        self.by_topic_id = context.api_version >= TOPIC_IDS_FROM
        self.knows_zstd = context.api_version >= ZSTD_FROM
        self.internal_allowed = context.client_id == ADMIN_CLIENT_ID
        self.failed = False
        self.appended: list[Partition] = []
        self.pending: dict[ReplicatedPartition, PendingAck] = {}

    def run(self, now_ms: int) -> ProduceResponse:
        topics = []
        for topic in self.request.topic_data:
            answers = []
            for data in topic.partition_data:  # a comprehension is one more call
                answers.append(self.partition(topic, data, now_ms))
            topics.append(TopicProduceResponse(topic.name, topic.topic_id, answers))
        return ProduceResponse(topics)

    def partition(
        self, topic: TopicProduceData, data: PartitionProduceData, now_ms: int
    ) -> PartitionProduceResponse:
        partition: Partition | None
        if self.by_topic_id:
            partition = self.replicas.partition_by_id(topic.topic_id, data.index)
            if partition is None:
                self.failed = True
                error = self.replicas.why_absent_by_id(topic.topic_id, data.index)
                return _failed(data.index, error)
        else:
            partition = self.replicas.partition(topic.name, data.index)
            if partition is None:
                self.failed = True
                return _failed(data.index, self.replicas.why_absent(topic.name, data.index))
        records = data.records
        if not isinstance(records, memoryview) or not records:
            return _failed(data.index, ErrorCode.INVALID_RECORD)
        guard: VerificationGuard | None = None
        if len(records) >= HEADER_SIZE and records[LOW_ATTRIBUTES] & LOOKED_AT:
            refusal = self._refusal(partition, records[LOW_ATTRIBUTES])
            if refusal is not None:
                return _failed(data.index, *refusal)
            guard = self._guard(partition)
        info = self._append(partition, records, data, guard, now_ms)
        if isinstance(info, ErrorCode):
            self.failed = True
            return _not_tried(partition, data.index, records, info)
        if info.error:
            return refused(data.index, info)
        self.appended.append(partition)
        answer = PartitionProduceResponse(
            data.index, 0, info.first_offset, info.log_append_time, info.log_start_offset
        )
        if self.request.acks == ALL_REPLICAS:
            self.pending[partition] = PendingAck(
                info.last_offset + 1, lambda verdict: _settle(answer, verdict)
            )
        return answer

    def _append(
        self,
        partition: Partition,
        records: memoryview,
        data: PartitionProduceData,
        guard: VerificationGuard | None,
        now_ms: int,
    ) -> LogAppendInfo | ErrorCode:
        trace = self.trace
        if trace is not None:
            trace.begins()
        info = partition.append_as_leader(
            records,
            self.request.acks,
            now_ms,
            verification_guard=guard,
            internal_allowed=self.internal_allowed,
            looked_at=self.looked.get(id(data)),
            trace=trace,
        )
        if trace is not None and (error := _error_of(info)):
            trace.refused(partition, error.name)
        return info

    def _refusal(
        self, partition: Partition, attributes: int
    ) -> tuple[ErrorCode, str | None] | None:
        """What a batch with these flags is refused for, whatever its log thinks of it."""
        if attributes & CODEC_MASK == _ZSTD and not self.knows_zstd:
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, None
        if not attributes & TRANSACTIONAL_FLAG:
            return None
        if self.verified is None:
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, None
        refusal = self.verified.refusal(partition)
        if refusal is not None and refusal[0] is ErrorCode.NOT_LEADER_OR_FOLLOWER:
            self.failed = True
        return refusal

    def _guard(self, partition: Partition) -> VerificationGuard | None:
        return None if self.verified is None else self.verified.guard(partition)


_ZSTD = 4  # Codec.ZSTD; its module brings the codecs with it, which a start does not need


def _each_once(topics: list[TopicProduceData]) -> list[TopicProduceData]:
    """Each partition once, with the last batch that is sent for it; no topic without partitions.
    So Kafka reads a request, into a map."""
    for topic in topics:
        count = len(topic.partition_data)
        if count != 1 and (
            not count or count != len({data.index for data in topic.partition_data})
        ):
            break
    else:
        count = len(topics)
        if count == 1 or count == len({topic.name or topic.topic_id for topic in topics}):
            return topics
    return in_one_go(each_once(topics, Pace()))


def _is_handled(_nothing: None) -> None:
    """The parts of a long request have been handled, and their answers are gathered."""


def _to_nobody(response: object) -> None:
    """The connection is closed."""


def _not_tried(
    partition: Partition, index: int, records: memoryview, error: ErrorCode
) -> PartitionProduceResponse:
    """No log was asked to append; what is no batch is said to be none before all else."""
    batches = split_batches(records, AppendOrigin.CLIENT)
    if isinstance(batches, Refusal) and batches.is_no_batch:
        return _failed(index, batches.error, batches.message)
    answer = _failed(index, error)
    if error is ErrorCode.NOT_ENOUGH_REPLICAS:
        answer.log_start_offset = partition.log.log_start_offset
    return answer


def _settle(answer: PartitionProduceResponse, verdict: ErrorCode) -> None:
    """An append stays where it is: its offset is told also where it was not replicated in time."""
    answer.error_code = int(verdict)


def _has_timed_out(response: ProduceResponse) -> bool:
    """Whether some partition was not replicated in time."""
    timed_out = ErrorCode.REQUEST_TIMED_OUT
    return any(
        one.error_code == timed_out
        for topic in response.responses
        for one in topic.partition_responses
    )


def _error_of(info: LogAppendInfo | ErrorCode) -> ErrorCode:
    return info if isinstance(info, ErrorCode) else info.error


def _failed(index: int, error: ErrorCode, message: str | None = None) -> PartitionProduceResponse:
    return PartitionProduceResponse(index, int(error), -1, -1, -1, error_message=message)


def refuse_produce(request: ProduceRequest, error: ErrorCode) -> ProduceResponse:
    """The response that says `error` for every partition; ProtocolError where nobody wants one."""
    if request.acks == 0:
        raise refused_without_answer(error)
    return ProduceResponse(
        [
            TopicProduceResponse(
                topic.name,
                topic.topic_id,
                [_failed(data.index, error) for data in topic.partition_data],
            )
            for topic in request.topic_data
        ]
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
