"""Every group API in every version answers as Apache Kafka did."""

from __future__ import annotations

from tests.clients.group_conversation import GOLDEN, converse
from tests.unit.broker.groups.playbook import TOPIC_ID, GroupNode


def test_answers_are_those_of_apache_kafka() -> None:
    node = GroupNode(group_max_size=4)
    answers = converse(node.connect, TOPIC_ID)
    assert answers == GOLDEN.read_text().splitlines()
