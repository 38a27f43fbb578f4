"""Requests in Kafka's words."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.api_keys import ApiKey
from protocol.frames.message_codec import encode_request
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from testbed.operations.decoded_requests import api_key, decoded, pascal, shown_request
from testbed.sent_requests import SentRequest


def sent(request: Any, version: int, records: bytes = b"") -> SentRequest:
    frame = encode_request(request, version, 7, "app")[4:]
    return SentRequest(1, 17, "c", "User:ANONYMOUS", frame, len(frame), False)


def produce(records: bytes) -> ProduceRequest:
    partition = PartitionProduceData(0, records)
    return ProduceRequest(None, 1, 9, [TopicProduceData("", bytes(15) + b"\1", [partition])])


@pytest.mark.parametrize("name", ["InitProducerId", "initproducerid", "INIT_PRODUCER_ID"])
def test_apis_are_found_by_kafkas_name(name: str) -> None:
    assert api_key(name) is ApiKey.INIT_PRODUCER_ID
    assert pascal(api_key(name)) == "InitProducerId"


def test_topics_are_named_by_their_ids() -> None:
    one = sent(produce(b"no batch"), 13)
    shown = shown_request(one, lambda topic_id: f"topic-{topic_id[-1]}")
    (topic,) = shown["request"]["topic_data"]
    assert topic["name"] == "topic-1"
    (batch,) = topic["partition_data"][0]["batches"]
    assert batch["records"] == []
    assert "8 bytes remain" in batch["error"]
    assert decoded([one], lambda _: "t", topic="t") == [shown_request(one, lambda _: "t")]
    assert decoded([one], lambda _: None, topic="t") == []


def test_what_is_not_known_is_said() -> None:
    newer = sent(ListGroupsRequest(), 5)
    frame = bytes([0, 16, 0, 99]) + newer.frame[4:]
    shown = shown_request(SentRequest(1, 0, "", "", frame, len(frame), False), lambda _: None)
    assert (shown["api"], shown["version"], shown["request"]) == ("ListGroups", 99, None)
    assert shown["error"] == "version 99 is not known"
    frame = bytes([1, 16, 0, 0]) + newer.frame[4:]
    shown = shown_request(SentRequest(1, 0, "", "", frame, len(frame), False), lambda _: None)
    assert (shown["api"], shown["client_id"]) == (None, "app")
    assert shown["error"]
