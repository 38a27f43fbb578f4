"""The faults of a running node."""

from __future__ import annotations

from pathlib import Path

from broker.testing.faults.of_node import faults_of
from broker.testing.faults.rule import Aim, Deed, Rule
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.unit.broker.node_fixture import Running


def test_they_meet_what_its_clients_ask_and_know_topics_by_their_ids(tmp_path: Path) -> None:
    running = Running(tmp_path)
    running.create("a")
    faults = faults_of(running.node)
    error = ErrorCode.INVALID_REQUEST
    faults.add("1", Rule(Aim(ApiKey.METADATA, topic="a"), Deed.ERROR, error=error))
    topic = running.node.image.topics.get("a")
    assert topic is not None
    for topic_id, expected in ((topic.id, error), (b"x" * 16, ErrorCode.UNKNOWN_TOPIC_ID)):
        request = MetadataRequest([MetadataRequestTopic(topic_id, None)], False)
        assert running.ask(request, 12).topics[0].error_code == expected
    assert [(rule.seen, rule.met) for _, rule in faults.rules()] == [(1, 1)]
    running.stop()
