from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.apis.produce.rights import may_use_transaction, split_by_rights
from controller.authorization.rights import UNLIMITED
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.frames.message_codec import encode_request
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.unit.broker.apis.produce.produce_fixture import Broker, Client, Produce, batch
from tests.unit.broker.apis.produce.produce_fixture import request as frame_of
from tests.unit.broker.replica_fixture import Replicas, topic_id_of
from tests.unit.controller.rights_fixture import ListJudge, on_topic, rights_of

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
NO_SUCH_ID = b"\x01" * 16
WRITE_ID = {(Operation.WRITE, Resource.TRANSACTIONAL_ID, "x")}


def topic(name: str, *indexes: int, records: Any = None) -> TopicProduceData:
    return TopicProduceData(
        name, topic_id_of(name), [PartitionProduceData(index, records) for index in indexes]
    )


def told(response: Any) -> dict[str, list[tuple[int, int]]]:
    return {
        topic.name: [(one.index, one.error_code) for one in topic.partition_responses]
        for topic in response.responses
    }


# --- the request alone --------------------------------------------------------------------------


def test_each_topic_is_judged_once_by_its_name() -> None:
    judge = ListJudge(on_topic(Operation.WRITE, "a"))
    allowed, denied = split_by_rights(
        judge.rights(), [topic("b", 0, 7), topic("a", 1), topic("c", 2)], lambda one: one.name
    )
    assert [one.name for one in allowed] == ["a"]
    assert [(one.name, len(one.partition_responses)) for one in denied] == [("b", 2), ("c", 1)]
    answer = denied[0].partition_responses[1]
    assert (answer.index, answer.error_code, answer.base_offset) == (7, DENIED, -1)
    assert [one.name for one in judge.asked] == ["b", "a", "c"]


def test_an_empty_name_is_judged_and_an_id_of_nobody_is_not() -> None:
    judge = ListJudge()
    unknown, empty = TopicProduceData("", NO_SUCH_ID), topic("", 0)
    names = {id(unknown): None, id(empty): ""}
    allowed, denied = split_by_rights(judge.rights(), [unknown, empty], lambda one: names[id(one)])
    assert allowed == [unknown]
    assert [one.topic_id for one in denied] == [empty.topic_id]
    assert [one.name for one in judge.asked] == [""]


@pytest.mark.parametrize(
    ("transactional", "id_", "allowed", "may"),
    [
        (True, "x", True, True),
        (True, "x", False, False),
        (True, None, True, False),
        (False, "x", False, True),
        (False, None, False, True),
    ],
)
def test_an_id_is_asked_for_where_records_are_of_a_transaction(
    tmp_path: Path, transactional: bool, id_: str | None, allowed: bool, may: bool
) -> None:
    replicas = Replicas(str(tmp_path))
    options = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
    plain = replicas.batch(b"v")
    other = replicas.batch(b"v", **options, is_transactional=True) if transactional else plain
    data = [topic("a", 0, records=plain), topic("b", 0, records=other)]
    rights = rights_of(WRITE_ID if allowed else ())
    assert may_use_transaction(rights, ProduceRequest(id_, 1, 9, data)) is may
    assert may_use_transaction(UNLIMITED, ProduceRequest(id_, 1, 9, data))


@pytest.mark.parametrize("records", [None, b"", memoryview(b"short")])
def test_what_is_no_batch_is_no_transaction_either(records: Any) -> None:
    data = [topic("a", 0, records=records)]
    assert may_use_transaction(rights_of(()), ProduceRequest("x", 1, 9, data))


# --- the API ------------------------------------------------------------------------------------


def produce(folder: Path, *allowed: str) -> Produce:
    made = Produce(folder, rights_of(on_topic(Operation.WRITE, *allowed)))
    for name in ("a", "b"):
        made.replicas.create(name)
    return made


def ends(made: Produce) -> list[int]:
    return [made.replicas.partition(name).log.log_end_offset for name in ("a", "b")]


def data_for(made: Produce, *names: str) -> list[TopicProduceData]:
    return [topic(name, 0, records=made.replicas.batch(b"v")) for name in names]


@pytest.mark.parametrize("version", [3, 12])
@pytest.mark.parametrize("acks", [1, -1])
def test_what_may_be_written_is_beside_what_may_not(
    tmp_path: Path, version: int, acks: int
) -> None:
    made = produce(tmp_path, "a")
    request = ProduceRequest(None, acks, 1000, data_for(made, "b", "none", "a"))
    made.send(request, version)
    denied = [(0, DENIED)]
    assert told(made.answers[0]) == {"a": [(0, 0)], "b": denied, "none": denied}
    assert ends(made) == [1, 0]
    assert len(request.topic_data) == 3  # as its frame has it


def test_by_id_what_nobody_has_is_told_to_everybody(tmp_path: Path) -> None:
    made = produce(tmp_path, "a")
    data = data_for(made, "b", "a")
    data.append(TopicProduceData("", NO_SUCH_ID, data[0].partition_data))
    for one in data:
        one.name = ""
    made.send(ProduceRequest(None, 1, 1000, data), 13)
    codes = {
        one.topic_id: one.partition_responses[0].error_code for one in made.answers[0].responses
    }
    assert codes == {
        topic_id_of("a"): 0,
        topic_id_of("b"): DENIED,
        NO_SUCH_ID: ErrorCode.UNKNOWN_TOPIC_ID,
    }


@pytest.mark.parametrize("names", [("a", "b"), ("b",)])
def test_without_an_answer_a_denial_closes_once_the_rest_is_written(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    made = produce(tmp_path, "a")
    made.send(ProduceRequest(None, 0, 1000, data_for(made, *names)))
    assert "TOPIC_AUTHORIZATION_FAILED" in made.refusal()
    assert ends(made) == [len(names) - 1, 0]


def test_a_transaction_without_its_right_is_refused_whole(tmp_path: Path) -> None:
    made = produce(tmp_path, "a", "b")
    options: Any = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
    records = made.replicas.batch(b"v", **options, is_transactional=True)
    data = [*data_for(made, "a"), topic("b", 0, records=records)]
    made.send(ProduceRequest("x", 1, 1000, data))
    refused = [(0, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)]
    assert told(made.answers[0]) == {"a": refused, "b": refused}
    made.send(ProduceRequest("x", 0, 1000, data))
    assert "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" in made.refusal()
    assert ends(made) == [0, 0]


# --- what is prepared ---------------------------------------------------------------------------


def client_of(folder: Path, judge: ListJudge) -> Client:
    broker = Broker(folder, True)
    for name in ("t", "u"):
        broker.replicas.create(name)
    broker.handler.admission.judge_by(judge)
    return Client(broker)


@pytest.mark.parametrize("acks", [1, -1])
def test_nobody_is_asked_about_a_request_that_is_prepared(tmp_path: Path, acks: int) -> None:
    judge = ListJudge(on_topic(Operation.WRITE, "t"))
    client = client_of(tmp_path, judge)
    for _ in range(5):
        client.send(frame_of(batch(client), acks=acks))
    assert client.at_once == [False, True, True, True, True]
    assert len(judge.asked) == 1


@pytest.mark.parametrize("version", [12, 13])
def test_what_is_denied_is_never_prepared(tmp_path: Path, version: int) -> None:
    judge = ListJudge()
    client = client_of(tmp_path, judge)
    for _ in range(3):
        client.send(frame_of(batch(client), version))
    assert client.at_once == [False] * 3
    assert len(judge.asked) == 3


@pytest.mark.parametrize("acks", [1, -1, 0])
def test_a_request_of_two_topics_is_never_prepared_as_one_of_them(
    tmp_path: Path, acks: int
) -> None:
    judge = ListJudge(on_topic(Operation.WRITE, "t"))
    client = client_of(tmp_path, judge)

    def send() -> None:
        data = [topic(name, 0, records=memoryview(batch(client))) for name in ("t", "u")]
        client.send(encode_request(ProduceRequest(None, acks, 1000, data), 12, 9, "me")[4:])

    for _ in range(3):
        send()
    judge.allowed = on_topic(Operation.WRITE, "t", "u")  # though no epoch says so
    send()
    assert not any(client.at_once)
    assert len(client.broker.handler.prepared) == 0
    assert client.broker.replicas.partition("u").log.log_end_offset == 1


def test_what_was_prepared_dies_with_the_epoch(tmp_path: Path) -> None:
    judge = ListJudge(on_topic(Operation.WRITE, "t"))
    client = client_of(tmp_path, judge)
    for _ in range(2):
        client.send(frame_of(batch(client)))
    judge.allowed.clear()
    client.broker.handler.admission.changed()
    for _ in range(2):
        client.send(frame_of(batch(client)))
    assert client.at_once == [False, True, False, False]
    assert client.broker.replicas.partition("t").log.log_end_offset == 2
