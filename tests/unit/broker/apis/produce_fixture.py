"""A node's Produce on a folder, with or without the short ways; it tells which way was taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from broker.apis.produce import ProduceApi
from broker.apis.transactional_produce import TransactionalProduce
from broker.requests.request_handler import RequestHandler
from broker.verification.append_verification import AppendVerification
from protocol.api_keys import ApiKey
from protocol.message_codec import decode_response, encode_request
from protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.replica_fixture import Replicas, topic_id_of


class Broker:
    """A request handler on a folder of its own."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self.replicas = Replicas(str(folder))
        transactions = TransactionalProduce(
            self.replicas.manager, AppendVerification(None, True), 20, 100
        )
        (api,) = ProduceApi(self.replicas.manager, transactions).apis()
        self.long_way: list[Any] = []
        self.quick_answers: list[bool] = []
        self.api = api
        handle, short = api.handle, api.quick
        assert short is not None

        def counted_handle(*args: Any) -> None:
            self.long_way.append(args)
            handle(*args)

        def counted_quick(*args: Any) -> Any:
            done = short(*args)
            self.quick_answers.append(bool(done))
            return done

        object.__setattr__(api, "handle", counted_handle)
        object.__setattr__(api, "quick", counted_quick if quick else None)
        self.handler = RequestHandler([api])

    def send(self, request: ProduceRequest, version: int) -> list[Any]:
        frame = memoryview(bytearray(encode_request(request, version, 9, "me")))[4:]
        reply = Reply()
        self.handler.handle(Connection(), frame, reply)
        return [
            decode_response(ApiKey.PRODUCE, memoryview(one)[4:], version) for one in reply if one
        ]

    def one(
        self,
        records: Any,
        acks: int = 1,
        topic: str = "t",
        index: int = 0,
        version: int = 12,
        transactional_id: str | None = None,
    ) -> PartitionProduceResponse:
        data = [PartitionProduceData(index, records)]
        topics = [TopicProduceData(topic, topic_id_of(topic), data)]
        ((correlation_id, response),) = self.send(
            ProduceRequest(transactional_id, acks, 1000, topics), version
        )
        assert correlation_id == 9
        ((answer,),) = [one.partition_responses for one in response.responses]
        assert isinstance(answer, PartitionProduceResponse)
        return answer
