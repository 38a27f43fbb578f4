"""What somebody typed becomes the record that was meant, in the partition that was meant."""

from __future__ import annotations

from typing import Any

import pytest

from console.endpoints import BadAsk
from console.messages.producing import produce, record_asked
from protocol.messages.init_producer_id import InitProducerIdResponse
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.records import Record, iterate_records
from tests.unit.client.scripted import ScriptedCluster, ScriptedNode, topic_of
from tests.unit.console.one_console import plain


def written(body: Any) -> tuple[dict[str, Any], int, Record]:
    """What is said of it, and the partition and the record that were sent."""

    def answer(request: ProduceRequest) -> ProduceResponse:
        index = request.topic_data[0].partition_data[0].index
        made = PartitionProduceResponse(index, 0, 17)
        return ProduceResponse([TopicProduceResponse("t", partition_responses=[made])])

    node = ScriptedNode([answer])
    answers = {"InitProducerIdRequest": InitProducerIdResponse(producer_id=5, producer_epoch=0)}
    cluster = ScriptedCluster([topic_of("t", [1, 1, 1])], answers, {1: node})
    said = plain(produce(cluster, "t", record_asked(body), 1000))
    (sent,) = node.sent[0].topic_data[0].partition_data
    (record,) = iterate_records(sent.records)
    return said, sent.index, record


def test_a_record_of_text() -> None:
    said, index, record = written(
        {"key": "k", "value": "v", "headers": [{"key": "h", "value": None}], "partition": 2}
    )
    assert said == {"partition": 2, "offset": 17}
    assert index == 2
    assert record == Record(0, 1000, b"k", b"v", (("h", None),))


def test_bytes_objects_and_nulls() -> None:
    assert written({"key_base64": "AP8=", "value": {"a": 1}})[2][2:4] == (b"\x00\xff", b'{"a": 1}')
    assert written({"value_base64": "/w=="})[2][2:4] == (None, b"\xff")
    assert written({"key": "gone", "value": None})[2][2:4] == (b"gone", None)


def test_a_record_that_is_sent_again_is_exact() -> None:
    headers = [{"key": "", "value": "x"}, {"key": "h", "value": "a\r\nb"}, {"key": "", "value": ""}]
    body = {"key": "", "value": "a\r\nb\rc", "headers": headers, "timestamp": 77, "partition": 1}
    _, index, record = written(body)
    assert index == 1
    assert record == Record(0, 77, b"", b"a\r\nb\rc", (("", b"x"), ("h", b"a\r\nb"), ("", b"")))
    with pytest.raises(BadAsk, match='"timestamp" is milliseconds since 1970'):
        written({"value": "v", "timestamp": "soon"})


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (None, "a record must be an object"),
        ([1], "a record must be an object"),
        ({"value": "v", "partition": "1"}, "partition must be a whole number"),
        ({"value": "v", "partition": True}, "partition must be a whole number"),
        ({"value": "v", "partition": 3}, "topic t has partitions 0 to 2, and no 3"),
        ({"value": "v", "headers": ["x"]}, '^a header is an object with a "key" and a "value"'),
        ({"value_base64": "?"}, "base64|Incorrect padding|Only base64"),
    ],
)
def test_what_is_no_record(body: Any, reason: str) -> None:
    with pytest.raises(BadAsk, match=reason):
        written(body)
