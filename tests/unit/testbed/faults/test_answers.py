"""Each error that an API has stands where Kafka has it, in each version: over all served APIs."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from broker.node.controller_server import ControllerServer
from broker.requests.request_handler import RequestHandler
from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import decode_response, encode_response
from protocol.message import Message
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from testbed.faults.answers import errors_in, has_items, joined, put_into, refusing
from testbed.faults.documented_errors import documented, places_of
from testbed.faults.places import RealAnswer, ways_of
from tests.messages.message_values import case
from tests.unit.broker.node_fixture import Running

LOST = ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.fixture(scope="module")
def handlers(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Those of the broker and of the controller: all APIs that a node serves."""
    running = Running(tmp_path_factory.mktemp("node"))
    assert running.node.broker is not None
    yield [running.node.broker.requests, ControllerServer(running.node.shared).requests]
    running.stop()


def sample(api: ApiKey, kind: str, version: int) -> Any:
    """A message of this API with two of each list."""
    name = messages_of(api).request.__name__ if kind == "request" else ""
    name = name or messages_of(api).response.__name__
    return case(name).instance(version, "limits")


def without_errors(message: Any) -> Any:
    for field in message.__slots__:
        value = getattr(message, field)
        if field.endswith("error_code"):
            setattr(message, field, 0)
        elif isinstance(value, list):
            for one in value:
                if isinstance(one, Message):
                    without_errors(one)
    return message


def places(api: ApiKey, version: int, error: ErrorCode, handler: RequestHandler) -> set[str]:
    """Where the answer that is made says the error, read from the wire."""
    refusal = partial(handler.refusal, api)
    for way in ways_of(api, error):
        if isinstance(way, RealAnswer):
            response = without_errors(sample(api, "response", version))
            if not has_items(response, way.path):
                continue
            assert put_into(response, way.path, error, lambda _topic: True, lambda _id: "a")
        else:
            request = sample(api, "request", version)
            made = refusing(way, api, version, request, error, refusal)
            if made is None:
                continue
            response = made
        frame = encode_response(response, version, 7).joined()
        _, read = decode_response(api, memoryview(frame)[4:], version)
        found = list(errors_in(read))
        assert {code for _, code in found} == {error}, (api, version)
        return {path for path, _ in found}
    return set()


def test_each_documented_error_stands_where_kafka_has_it(handlers: list[RequestHandler]) -> None:
    wrong, count = [], 0
    for handler in handlers:
        for key, api in handler.apis.items():
            errors = {error for one in documented() if one.api == key for error in one.errors}
            assert errors, f"no error of {ApiKey(key).name} is documented here"
            for version in range(api.oldest, api.latest + 1):
                found: dict[Any, set[str]] = {}  # by the ways: the same for all of their errors
                for error in sorted(errors):
                    expected = places_of(ApiKey(key), version, error)
                    if not expected:
                        continue
                    ways = ways_of(ApiKey(key), error)
                    if ways not in found:
                        found[ways] = places(ApiKey(key), version, error, handler)
                    count += 1
                    if found[ways] != expected:
                        wrong.append((ApiKey(key).name, version, error.name, expected, found[ways]))
    assert not wrong
    assert count > 2000


def test_an_error_that_is_not_documented_can_be_said_by_every_api(
    handlers: list[RequestHandler],
) -> None:
    silent = []
    for handler in handlers:
        for key, api in handler.apis.items():
            for version in range(api.oldest, api.latest + 1):
                if not places(ApiKey(key), version, ErrorCode.UNKNOWN_SERVER_ERROR, handler):
                    silent.append((ApiKey(key).name, version))
    assert not silent


def test_a_refusal_that_closes_the_connection_does_so_here_too(
    handlers: list[RequestHandler],
) -> None:
    request = ProduceRequest(None, 0, 1, [TopicProduceData("a", b"", [PartitionProduceData(0)])])
    refusal = partial(handlers[0].refusal, ApiKey.PRODUCE)
    (way,) = ways_of(ApiKey.PRODUCE, LOST)
    with pytest.raises(ProtocolError, match="acks=0"):
        refusing(way, ApiKey.PRODUCE, 9, request, LOST, refusal)


def test_a_request_about_nothing_cannot_have_an_error(handlers: list[RequestHandler]) -> None:
    (way,) = ways_of(ApiKey.PRODUCE, LOST)
    refusal = partial(handlers[0].refusal, ApiKey.PRODUCE)
    assert refusing(way, ApiKey.PRODUCE, 9, ProduceRequest(None, 1), LOST, refusal) is None


def test_an_error_is_put_into_the_topics_that_are_meant_and_into_no_others() -> None:
    topics = [
        MetadataResponseTopic(0, name, partitions=[MetadataResponsePartition(0, 0, 1, 5, [1], [1])])
        for name in ("a", "b")
    ]
    response = MetadataResponse(brokers=[MetadataResponseBroker(1)], topics=topics)
    error = ErrorCode.LEADER_NOT_AVAILABLE
    path = ("topics", "partitions")
    assert put_into(response, path, error, lambda name: name == "a", lambda _id: None) == 1
    first, second = response.topics
    (partition,) = first.partitions
    assert (partition.error_code, partition.leader_id, partition.leader_epoch) == (error, -1, 5)
    assert second.partitions[0].error_code == 0 and second.partitions[0].leader_id == 1
    assert put_into(response, ("topics",), LOST, lambda name: name == "b", lambda _id: None) == 1
    assert (response.topics[1].error_code, response.topics[1].partitions) == (LOST, [])
    assert response.brokers, "clients go on with the brokers that they were told of"


def test_a_topic_that_has_only_an_id_is_looked_up() -> None:
    ids = {b"a" * 16: "a", b"b" * 16: "b"}
    response = FetchResponse(
        responses=[
            FetchableTopicResponse("", one, [PartitionData(0, 0, 9, records=b"bytes")])
            for one in ids
        ]
    )
    path = ("responses", "partitions")
    assert put_into(response, path, LOST, lambda name: name == "b", ids.get) == 1
    refused = response.responses[1].partitions[0]
    assert (refused.error_code, refused.high_watermark) == (LOST, -1)
    assert not refused.records
    assert response.responses[0].partitions[0].records == b"bytes"


def test_the_answers_to_two_halves_of_a_request_are_one() -> None:
    def answer(name: str, error: int) -> ProduceResponse:
        partition = PartitionProduceResponse(0, error)
        return ProduceResponse([TopicProduceResponse(name, partition_responses=[partition])], 3)

    both = joined(answer("a", 0), answer("b", LOST))
    assert [topic.name for topic in both.responses] == ["a", "b"]
    assert both.throttle_time_ms == 3
