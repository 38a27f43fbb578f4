"""Produce: v3-13 (v0-2 are named in ApiVersions for old librdkafka only, and refused; KAFKA-18659).

A request passes a line of stations, each a file beside this one: rights, interceptor, transaction,
looks at records, appends, replicas, answer (`ProduceApi`).

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

from functools import partial
from typing import TYPE_CHECKING

from broker.apis.produce.answers import end_without_answer, refuse_produce, refused_whole
from broker.apis.produce.appends import Appends
from broker.apis.produce.new_leaders import name_leaders
from broker.apis.produce.parts import Answer, each_once, each_once_in_one_go, in_parts
from broker.apis.produce.passage import Passage, Station
from broker.apis.produce.prepared import PreparedProduce, prepare_produce
from broker.apis.produce.record_looks import RecordLooks
from broker.apis.produce.replica_wait import ReplicaWait
from broker.apis.produce.rights import WriteRights, may_use_transaction
from broker.apis.produce.transactional import TransactionalProduce
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from ground.sliced_work import Pace, Steps
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import encode_response
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from broker.apis.produce.interception import ProduceInterception


class ProduceApi:
    """The line of stations, and what goes along it."""

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
        self._prepares = interception is None
        self._scheduler = replicas.scheduler
        looked_at_first: list[Station] = [] if interception is None else [interception.look]
        self._stations: list[Station] = [
            WriteRights(replicas).judge,
            *looked_at_first,
            transactions.verify,
            RecordLooks(replicas).look,
            Appends(replicas).append,
            ReplicaWait(replicas).wait,
            self._answer,
        ]

    def apis(self) -> list[Api]:
        return [Api(ApiKey.PRODUCE, 3, 13, self.handle, refuse_produce, self.prepare)]

    def handle(self, context: RequestContext, request: ProduceRequest, respond: Respond) -> None:
        answer = respond if request.acks else partial(end_without_answer, respond)
        if context.writer is None:
            request.topic_data = each_once_in_one_go(request.topic_data)
            self._pass(context, request, answer)
        else:
            steps = self._pass_in_parts(context, request, answer)
            self._answers.judge(context, request, steps, _is_passed, respond, refuse_produce)

    def _pass(self, context: RequestContext, request: ProduceRequest, answer: Answer) -> None:
        Passage(self._stations, context, request, answer).go_on()

    def _pass_in_parts(
        self, context: RequestContext, request: ProduceRequest, answer: Answer
    ) -> Steps[None]:
        request.topic_data = yield from each_once(request.topic_data, Pace())
        if not may_use_transaction(context.rights, request):  # all of it, for a part that may not
            answer(refused_whole(request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
            return
        yield from in_parts(request, partial(self._pass, context), answer)

    def _answer(self, passage: Passage) -> bool:
        """The last station: the answer leaves, and then who waits for the appends is told."""
        if passage.names_leaders:
            self._name_leaders(passage.context, passage.response)
        passage.end(passage.response)
        for partition in passage.appended:
            self._replicas.partition_changed(partition)
        return True

    def _name_leaders(self, context: RequestContext, response: ProduceResponse) -> None:
        name_leaders(self._replicas, context.api_version, context.listener_name, response)

    def prepare(
        self, context: RequestContext, frame: memoryview, request: ProduceRequest
    ) -> PreparedProduce | None:
        """How requests are answered that are like this one but for their records."""
        if not self._prepares:
            return None

        def refuse(correlation_id: int, refused: PartitionProduceResponse) -> bytes:
            response = ProduceResponse([TopicProduceResponse(name, topic_id, [refused])])
            self._name_leaders(context, response)
            return encode_response(response, context.api_version, correlation_id).joined()

        if len(request.topic_data) != 1 or len(request.topic_data[0].partition_data) != 1:
            return None
        name, topic_id = request.topic_data[0].name, request.topic_data[0].topic_id
        return prepare_produce(self._replicas, context.api_version, frame, request, refuse)


def _is_passed(_nothing: None) -> None:
    """The parts of a long request have gone their way, and their answers are gathered."""
