"""Produce: v3-13 (ApiVersions names v0-2 only for old librdkafka; they are rejected; KAFKA-18659).

A request passes a fixed sequence of stations, each in its own file of this folder: rights,
interceptor, transaction, validation of records, appends, replicas, answer (`ProduceApi`).

Behaviour: each partition's batches are appended to its leader's log, and each partition has its
own error. acks=0 has no response: an error closes the connection, as in Kafka. acks=1 answers after
the append, acks=all (-1) when every in-sync replica has it, or after `timeout_ms`. Only a client
whose client id is `__admin_client` may write to internal topics; for others the error is
INVALID_TOPIC_EXCEPTION. A transaction's batches are appended after its coordinator has confirmed
that their partitions belong to it. Up to v11 the coordinator verifies them, from v12 on it adds
them (`broker.apis.produce.transactional`). A transactional batch in a request without a
transactional id fails with TRANSACTIONAL_ID_AUTHORIZATION_FAILED.

Rights: transactional records need WRITE on the transactional id, otherwise the whole request fails
with TRANSACTIONAL_ID_AUTHORIZATION_FAILED. Each topic needs WRITE, otherwise its partitions fail
with TOPIC_AUTHORIZATION_FAILED.

Versions: v5 log start offset, v7 zstd (KIP-110), v8 record errors with messages (KIP-467), v9
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
from broker.apis.produce.record_checks import RecordChecks
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
    """The handler of Produce: it sends each request through the stations in order."""

    def __init__(
        self,
        replicas: ReplicaManager,
        transactions: TransactionalProduce,
        answers: SlicedAnswers,
        interception: ProduceInterception | None = None,
    ) -> None:
        """`answers` runs long requests in slices. `interception`, if set, checks the records before
        any other station reads them.
        """
        self._replicas = replicas
        self._answers = answers
        self._prepares = interception is None
        self._scheduler = replicas.scheduler
        interceptor_station: list[Station] = [] if interception is None else [interception.check]
        self._stations: list[Station] = [
            WriteRights(replicas).judge,
            *interceptor_station,
            transactions.verify,
            RecordChecks(replicas).check,
            Appends(replicas).append,
            ReplicaWait(replicas).wait,
            self._answer,
        ]

    def apis(self) -> list[Api]:
        return [Api(ApiKey.PRODUCE, 3, 13, self.handle, refuse_produce, self.prepare)]

    def handle(self, context: RequestContext, request: ProduceRequest, respond: Respond) -> None:
        """Append the batches, and respond as `acks` says; acks=0 gets no response.

        A request without a writer is handled whole, others in parts, between which other clients
        are served.
        """
        answer = respond if request.acks else partial(end_without_answer, respond)
        if context.writer is None:
            request.topic_data = each_once_in_one_go(request.topic_data)
            self._start_passage(context, request, answer)
        else:
            steps = self._start_passages(context, request, answer)
            self._answers.judge(context, request, steps, _ignore_end, respond, refuse_produce)

    def _start_passage(
        self, context: RequestContext, request: ProduceRequest, answer: Answer
    ) -> None:
        """Send the request, or a part of one, through the stations until it has to wait. `answer`
        gets its response."""
        Passage(self._stations, context, request, answer).resume()

    def _start_passages(
        self, context: RequestContext, request: ProduceRequest, answer: Answer
    ) -> Steps[None]:
        """Start one passage for each part of the request, a part in a slice.

        If the client may not use its transactional id, reject the whole request instead.
        """
        request.topic_data = yield from each_once(request.topic_data, Pace())
        if not may_use_transaction(context.rights, request):  # one part without rights: all fails
            answer(refused_whole(request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
            return
        yield from in_parts(request, partial(self._start_passage, context), answer)

    def _answer(self, passage: Passage) -> bool:
        """Send the answer, then wake the requests that wait for these appends. The last station; it
        returns True."""
        if passage.names_leaders:
            self._name_leaders(passage.context, passage.response)
        passage.end(passage.response)
        for partition in passage.appended:
            self._replicas.partition_changed(partition)
        return True

    def _name_leaders(self, context: RequestContext, response: ProduceResponse) -> None:
        """Add the current leaders to the partitions that another broker leads (KIP-951)."""
        name_leaders(self._replicas, context.api_version, context.listener_name, response)

    def prepare(
        self, context: RequestContext, frame: memoryview, request: ProduceRequest
    ) -> PreparedProduce | None:
        """Return a shortcut for requests that differ from this one in their records only.

        None if the request has several partitions, is transactional or has an unusual frame, or if
        an interceptor must see the records.
        """
        if not self._prepares:
            return None

        def refuse(correlation_id: int, refused: PartitionProduceResponse) -> bytes:
            """Return the encoded response with this partition's answer, and its leader if another
            broker leads it."""
            response = ProduceResponse([TopicProduceResponse(name, topic_id, [refused])])
            self._name_leaders(context, response)
            return encode_response(response, context.api_version, correlation_id).joined()

        if len(request.topic_data) != 1 or len(request.topic_data[0].partition_data) != 1:
            return None
        name, topic_id = request.topic_data[0].name, request.topic_data[0].topic_id
        return prepare_produce(self._replicas, context.api_version, frame, request, refuse)


def _ignore_end(_nothing: None) -> None:
    """Ignore the end of a long request: its answer was sent after its last part was answered."""
