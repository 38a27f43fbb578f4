"""By which rules a log is kept."""

from __future__ import annotations

from console.segments.topic_rules import KEPT_S, TopicRules
from tests.unit.console.segments.segments_fixture import SayingCluster


def test_the_topics_configs_and_how_often_the_broker_looks() -> None:
    cluster = SayingCluster(
        {}, configs={"retention.ms": "5000", "cleanup.policy": "compact,delete"}
    )
    now = [0.0]
    rules = TopicRules(cluster.taken, lambda: now[0])
    found = rules.of("t", 1)
    assert found.config is not None and found.config.retention_ms == 5000
    assert found.config.compact and found.config.delete
    assert found.shown["retention.ms"] == ("5000", "topic") and found.check_interval_ms == 7000
    asked = len(cluster.asked)
    assert rules.of("t", 1) is found and len(cluster.asked) == asked
    now[0] = KEPT_S
    assert rules.of("t", 1) is not found


def test_who_may_not_see_configs_is_told() -> None:
    found = TopicRules(SayingCluster({}).taken).of("t", 1)
    assert found.config is None and found.why_not is not None
    assert "DescribeConfigs on topic t" in found.why_not
