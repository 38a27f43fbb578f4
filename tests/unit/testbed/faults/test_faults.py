"""What faults do to requests of a real node, through the request handler."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from testbed.faults import faults
from testbed.faults.answers import errors_in
from testbed.faults.faults import OPERATIONS, FaultRules
from testbed.faults.fetch_sessions import FetchSessions
from testbed.faults.places import RealAnswer, ways_of
from testbed.faults.rule import Aim, Deed, Rule
from testbed.faults.subjects import is_of_a_node
from testbed.operations import in_process, over_network
from tests.batches import build_batch
from tests.messages.message_values import case
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.node_fixture import Running

NOT_LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


class Bench:
    """A node with faults, and clients without a network."""

    def __init__(self, folder: Path) -> None:
        self.running = Running(folder)
        broker = self.running.node.broker
        assert broker is not None
        self.handler = broker.requests
        image = self.running.node.image

        def name_of(topic_id: bytes) -> str | None:
            topic = self.running.node.image.topics.get_by_id(topic_id)
            return None if topic is None else topic.name

        assert image is not None
        sessions = FetchSessions(broker.parts.replicas.sessions, name_of)
        self.faults = FaultRules(self.running.scheduler, name_of, sessions, [self.handler])
        self.key = "0"
        self.running.create("a", "b")

    def fail(self, api: ApiKey, error: ErrorCode, **settings: Any) -> Rule:
        aim = Aim(api, topic=settings.pop("topic", None), client_id=settings.pop("client", None))
        return self.add(Rule(aim, Deed.ERROR, error=error, **settings))

    def do(self, api: ApiKey, deed: Deed, **settings: Any) -> Rule:
        return self.add(Rule(Aim(api), deed, **settings))

    def add(self, rule: Rule) -> Rule:
        self.key = str(int(self.key) + 1)
        self.faults.add(self.key, rule)
        return rule

    def ask(self, request: Any, version: int, client_id: str = "me") -> Any:
        return self.running.ask(request, version, client_id)

    def send(self, request: Any, version: int) -> Reply:
        """A request whose answer may not come."""
        reply = Reply()
        frame = memoryview(bytearray(encode_request(request, version, 5, "me")))[4:]
        self.running.node.handle(Connection(), frame, reply)
        self.running.scheduler.run_for(50)
        return reply

    def end_offset(self, topic: str) -> int:
        broker = self.running.node.broker
        assert broker is not None
        partition = broker.parts.replicas.partition(topic, 0)
        assert partition is not None
        return int(partition.log.log_end_offset)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.faults.clear()
    made.running.stop()


def produce(*topics: str, acks: int = -1) -> ProduceRequest:
    batch = build_batch([Record(-1, 1, b"k", b"v")])
    data = [
        TopicProduceData(name, partition_data=[PartitionProduceData(0, batch)]) for name in topics
    ]
    return ProduceRequest(None, acks, 1000, data)


def fetch(*topics: str, session: tuple[int, int] = (0, -1), offset: int = 0) -> FetchRequest:
    asked = [
        FetchTopic(name, partitions=[FetchPartition(0, fetch_offset=offset)]) for name in topics
    ]
    for topic in asked:
        topic.partitions[0].partition_max_bytes = 1 << 20
    return FetchRequest(
        max_wait_ms=60_000,
        min_bytes=1,
        max_bytes=1 << 20,
        session_id=session[0],
        session_epoch=session[1],
        topics=asked,
    )


def errors(response: Any) -> dict[str, int]:
    return {
        topic.name: partition.error_code
        for topic in response.responses
        for partition in topic.partition_responses
    }


def fetched(response: Any) -> dict[str, int]:
    return {
        topic.topic: partition.error_code
        for topic in response.responses
        for partition in topic.partitions
    }


def test_what_is_asked_of_other_topics_is_carried_out(bench: Bench) -> None:
    bench.fail(ApiKey.PRODUCE, NOT_LEADER, topic="a")
    assert errors(bench.ask(produce("a", "b"), 9)) == {"b": 0, "a": NOT_LEADER}
    assert (bench.end_offset("a"), bench.end_offset("b")) == (0, 1)


def test_another_client_is_not_met(bench: Bench) -> None:
    bench.fail(ApiKey.PRODUCE, NOT_LEADER, client="it")
    assert errors(bench.ask(produce("a"), 9, "me")) == {"a": 0}
    assert errors(bench.ask(produce("a"), 9, "it")) == {"a": NOT_LEADER}


def test_requests_that_would_be_prepared_are_met_and_are_prepared_afterwards(bench: Bench) -> None:
    for _ in range(3):
        bench.ask(produce("a"), 9)
    bench.fail(ApiKey.PRODUCE, NOT_LEADER, after=1, times=1)
    seen = [errors(bench.ask(produce("a"), 9))["a"] for _ in range(3)]
    assert seen == [0, NOT_LEADER, 0]
    assert len(bench.handler.prepared) == 0 and not bench.handler.admission.may_prepare
    bench.faults.lift(bench.key)
    for _ in range(2):
        bench.ask(produce("a"), 9)
    assert len(bench.handler.prepared) == 1


def test_a_producer_that_wants_no_answer_is_cut_off(bench: Bench) -> None:
    bench.fail(ApiKey.PRODUCE, NOT_LEADER)
    with pytest.raises(ProtocolError, match="acks=0"):
        bench.send(produce("a", acks=0), 9)


def test_a_delay_holds_the_answer_back_and_not_the_record(bench: Bench) -> None:
    bench.do(ApiKey.PRODUCE, Deed.DELAY, delay_ms=300.0)
    bench.do(ApiKey.PRODUCE, Deed.DELAY, delay_ms=200.0)
    reply = bench.send(produce("a"), 9)
    assert bench.end_offset("a") == 1 and not reply
    bench.running.scheduler.run_for(400)
    assert not reply
    bench.running.scheduler.run_for(100)
    assert len(reply) == 1


def test_what_waits_is_answered_when_the_delay_is_lifted(bench: Bench) -> None:
    bench.do(ApiKey.PRODUCE, Deed.DELAY, delay_ms=300.0)
    first = bench.send(produce("a"), 9)
    bench.do(ApiKey.PRODUCE, Deed.DELAY, delay_ms=200.0)
    second = bench.send(produce("a"), 9)
    bench.faults.lift(bench.key)
    assert not first and len(second) == 1
    bench.faults.clear()
    assert len(first) == 1
    bench.running.scheduler.run_for(1000)
    assert (len(first), len(second)) == (1, 1)


def test_a_delay_that_is_lifted_amid_a_request_delays_no_more(bench: Bench) -> None:
    bench.do(ApiKey.FETCH, Deed.DELAY, delay_ms=10_000.0)
    reply = bench.send(fetch("a"), 11)  # which waits for a record
    bench.faults.clear()
    bench.ask(produce("a"), 9)
    assert len(reply) == 1


def test_a_delay_holds_an_error_back_too(bench: Bench) -> None:
    bench.do(ApiKey.PRODUCE, Deed.DELAY, delay_ms=300.0)
    bench.fail(ApiKey.PRODUCE, NOT_LEADER)
    reply = bench.send(produce("a"), 9)
    assert not reply
    bench.running.scheduler.run_for(300)
    assert len(reply) == 1 and bench.end_offset("a") == 0


def test_carried_out_and_never_answered(bench: Bench) -> None:
    bench.do(ApiKey.PRODUCE, Deed.UNANSWERED)
    reply = bench.send(produce("a"), 9)
    bench.running.scheduler.run_for(60_000)
    assert bench.end_offset("a") == 1 and not reply and not reply.closed
    bench.faults.lift(bench.key)
    assert reply.closed


def test_neither_carried_out_nor_answered(bench: Bench) -> None:
    bench.do(ApiKey.PRODUCE, Deed.LOST)
    reply = bench.send(produce("a"), 9)
    assert bench.end_offset("a") == 0 and not reply and not reply.closed
    bench.faults.clear()
    assert reply.closed


def test_a_fetch_is_refused_at_once_though_it_would_wait(bench: Bench) -> None:
    bench.ask(produce("a", "b"), 9)
    bench.fail(ApiKey.FETCH, NOT_LEADER, topic="a", times=1)
    before = bench.running.scheduler.monotonic_ms()
    response = bench.ask(fetch("a", "b"), 11)
    assert fetched(response) == {"a": NOT_LEADER, "b": 0}
    assert bench.running.scheduler.monotonic_ms() - before < 1000
    by_name = {topic.topic: topic.partitions[0] for topic in response.responses}
    assert by_name["b"].records and not by_name["a"].records
    assert fetched(bench.ask(fetch("a", "b"), 11)) == {"a": 0, "b": 0}


def test_a_fetch_in_a_session_names_nothing_and_is_met(bench: Bench) -> None:
    session = bench.ask(fetch("a", "b", session=(0, 0)), 11).session_id
    assert session
    bench.fail(ApiKey.FETCH, NOT_LEADER, topic="a", times=1)
    response = bench.ask(fetch(session=(session, 1)), 11)
    assert fetched(response) == {"a": NOT_LEADER}
    bench.ask(produce("a"), 9)
    response = bench.ask(fetch(session=(session, 2)), 11)
    assert fetched(response) == {"a": 0}
    assert response.responses[0].partitions[0].records


def test_records_that_an_error_hid_come_with_the_next_fetch(bench: Bench) -> None:
    session = bench.ask(fetch("a", session=(0, 0)), 11).session_id
    bench.fail(ApiKey.FETCH, NOT_LEADER, times=1)
    bench.ask(produce("a"), 9)
    assert fetched(bench.ask(fetch(session=(session, 1)), 11)) == {"a": NOT_LEADER}
    response = bench.ask(fetch(session=(session, 2)), 11)
    assert response.responses[0].partitions[0].records


def test_a_lost_session_is_said_at_the_top(bench: Bench) -> None:
    session = bench.ask(fetch("a", session=(0, 0)), 11).session_id
    bench.fail(ApiKey.FETCH, ErrorCode.FETCH_SESSION_ID_NOT_FOUND, times=1)
    response = bench.ask(fetch(session=(session, 1)), 11)
    assert response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert response.responses == []


def test_metadata_says_an_error_of_a_topic_beside_the_rest(bench: Bench) -> None:
    bench.fail(ApiKey.METADATA, ErrorCode.LEADER_NOT_AVAILABLE, topic="a")
    response = bench.ask(MetadataRequest(None), 12)
    by_name = {topic.name: topic for topic in response.topics}
    assert by_name["a"].partitions[0].error_code == ErrorCode.LEADER_NOT_AVAILABLE
    assert by_name["b"].partitions[0].error_code == 0
    assert response.brokers and response.topics[0].error_code == 0


def test_metadata_that_is_refused_makes_no_topic(bench: Bench) -> None:
    bench.fail(ApiKey.METADATA, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    request = MetadataRequest([MetadataRequestTopic(name="new")], True)
    assert bench.ask(request, 12).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    bench.running.scheduler.run_for(5000)
    assert bench.running.node.image.topics.get("new") is None


def test_topics_that_are_not_to_be_made(bench: Bench) -> None:
    bench.fail(ApiKey.CREATE_TOPICS, ErrorCode.POLICY_VIOLATION, topic="x")
    topics = [CreatableTopic(name, 1, 1) for name in ("x", "y")]
    response = bench.ask(CreateTopicsRequest(topics, 1000), 7)
    assert {one.name: one.error_code for one in response.topics} == {
        "x": ErrorCode.POLICY_VIOLATION,
        "y": 0,
    }
    assert bench.running.node.image.topics.get("x") is None


def test_a_version_that_is_refused_is_said_so_that_any_client_reads_it(bench: Bench) -> None:
    bench.fail(ApiKey.API_VERSIONS, ErrorCode.UNSUPPORTED_VERSION)
    reply = bench.send(ApiVersionsRequest("c", "1"), 3)
    _, response = decode_response(ApiKey.API_VERSIONS, memoryview(reply[0])[4:], 0)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    (known,) = response.api_keys
    assert (known.api_key, known.max_version) == (ApiKey.API_VERSIONS, 5)


def test_a_request_that_has_no_place_for_an_error_is_carried_out(bench: Bench) -> None:
    rule = bench.fail(ApiKey.PRODUCE, NOT_LEADER)
    assert bench.ask(ProduceRequest(None, -1, 1000, []), 9).responses == []
    assert (rule.matched, rule.applied) == (1, 0)


def test_each_api_that_is_served_is_met_by_its_oldest_and_its_latest_request(bench: Bench) -> None:
    met = 0
    for key, api in bench.handler.apis.items():
        if any(
            isinstance(way, RealAnswer) for way in ways_of(ApiKey(key), ErrorCode.REQUEST_TIMED_OUT)
        ):
            continue  # carried out, for which what is asked must make sense: those are above
        for version in (api.oldest, api.latest):
            request = case(messages_of(ApiKey(key)).request.__name__).instance(version, "limits")
            if key == ApiKey.PRODUCE:
                request.acks = -1
            nodes = is_of_a_node(ApiKey(key), request, "me")
            aim = Aim(ApiKey(key), nodes=nodes)
            rule = bench.add(Rule(aim, Deed.ERROR, error=ErrorCode.REQUEST_TIMED_OUT))
            (answer,) = bench.send(request, version)
            _, response = decode_response(ApiKey(key), memoryview(answer)[4:], version)
            codes = {code for _, code in errors_in(response)}
            assert (codes, rule.applied) == ({ErrorCode.REQUEST_TIMED_OUT}, 1), (
                api.key.name,
                version,
            )
            bench.faults.clear()
            met += 1
    assert met > 80


def test_the_first_rule_decides(bench: Bench) -> None:
    bench.fail(ApiKey.PRODUCE, NOT_LEADER, times=1)
    bench.fail(ApiKey.PRODUCE, ErrorCode.NOT_ENOUGH_REPLICAS, times=1)
    seen = [errors(bench.ask(produce("a"), 9))["a"] for _ in range(3)]
    assert seen == [NOT_LEADER, ErrorCode.NOT_ENOUGH_REPLICAS, 0]


def test_without_a_rule_nothing_is_different(bench: Bench) -> None:
    assert errors(bench.ask(produce("a"), 9)) == {"a": 0}
    assert bench.handler.admission.may_prepare
    assert bench.faults.rules() == [] and bench.faults.rule("1") is None


def test_what_the_test_itself_asks_is_not_met(bench: Bench) -> None:
    rule = bench.fail(ApiKey.PRODUCE, NOT_LEADER)
    assert errors(bench.ask(produce("a"), 9, over_network.CLIENT_ID)) == {"a": 0}
    assert in_process.CLIENT_ID == over_network.CLIENT_ID == OPERATIONS
    assert rule.matched == 0


def test_what_is_left_unanswered_has_a_limit(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "UNANSWERED_MAX_COUNT", 2)
    bench.do(ApiKey.PRODUCE, Deed.LOST)
    replies = [bench.send(produce("a"), 9) for _ in range(3)]
    assert [reply.closed for reply in replies] == [True, False, False]
