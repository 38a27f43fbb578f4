"""Dead letters as Apache Kafka writes them (`tests/golden/dead_letters_kafka.json`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from broker.share.delivery.share_partition import DeadLetter
from broker.share.state.share_log import SharePartitionKey
from tests.golden.dead_letter_cases import (
    BETTER,
    CASES,
    GIVEN_UP_AFTER,
    PARTITION,
    RECORDED,
    REJECT,
    Case,
    Scene,
)
from tests.unit.broker.node.dead_letter_node import DeadLetterNode

KAFKA: dict[str, Any] = json.loads(RECORDED.read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_dead_letters_are_those_of_kafka(tmp_path: Path, case: Case) -> None:
    node = DeadLetterNode(tmp_path)
    scheduler = node.running.scheduler
    scene = Scene(
        node.running.ask,
        lambda seconds: scheduler.run_for(seconds * 1000),
        scheduler.wall_ms,
    )
    scene.prepare(case)
    is_rejected = case.acknowledgement == REJECT
    deliveries = 1 if is_rejected else GIVEN_UP_AFTER
    key = SharePartitionKey(case.name, scene.topic_id(case.topic), PARTITION)
    node.bury(key, DeadLetter(0, case.last_offset, deliveries, is_rejected))
    result, kafka = scene.result(case), KAFKA[case.name]
    if case.name in BETTER:
        ((partition, attributes, *content, headers),) = result["letters"]
        assert (partition, attributes, content) == (0, 0, [None, None])
        assert headers[2] == ["__dlq.errors.offset", "0"]
        assert kafka["letters"] == []
    else:
        assert result == kafka
