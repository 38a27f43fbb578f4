"""Dead letters of a real node: dynamic configs, metrics, and topics that are gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker.share.dead_letters.letter_sender import ProduceHere
from broker.share.delivery.share_partition import DeadLetter
from broker.share.state.share_log import SharePartitionKey
from tests.golden.dead_letter_cases import AUTO_CREATE, BROKER, COPY, PARTITION, Case, Scene
from tests.unit.broker.node.dead_letter_node import DeadLetterNode

LETTER = DeadLetter(0, 2, 3, is_rejected=True)


def prepared(
    folder: Path, case: Case, produce_here: ProduceHere | None = None
) -> tuple[DeadLetterNode, Scene, SharePartitionKey]:
    node = DeadLetterNode(folder, produce_here)
    scheduler = node.running.scheduler
    scene = Scene(node.running.ask, scheduler.run_for, scheduler.wall_ms)
    scene.prepare(case)
    return node, scene, SharePartitionKey(case.name, scene.topic_id(case.topic), PARTITION)


def test_dynamic_configs_of_the_broker_apply_at_once(tmp_path: Path) -> None:
    node, scene, key = prepared(tmp_path, case := Case("g", letters_topic=None))
    node.bury(key, LETTER)
    assert scene.result(case) == {"exists": False}
    scene.alter(BROKER, "1", {AUTO_CREATE: "true"})
    scene.alter(BROKER, "", {"errors.deadletterqueue.topic.name.prefix": "other."})
    node.bury(key, LETTER)
    assert scene.result(case) == {"exists": False}
    scene.alter(BROKER, "", {"errors.deadletterqueue.topic.name.prefix": ""})
    node.bury(key, LETTER, limit_ms=1_000)
    assert len(scene.result(case)["letters"]) == 3


def test_nothing_is_loaded_without_a_letter(tmp_path: Path) -> None:
    node, _, _ = prepared(tmp_path, Case("g"))
    node.letters.metadata_changed()
    node.letters.shutdown()
    assert "writer" not in vars(node.letters)


def test_after_a_shutdown_a_letter_is_never_done(tmp_path: Path) -> None:
    node, scene, key = prepared(tmp_path, case := Case("g"))
    node.letters.bury(key, LETTER, lambda: pytest.fail("done"))
    node.letters.shutdown()
    node.running.scheduler.run_for(60_000)
    assert scene.result(case)["letters"] == []


def test_each_group_has_its_counts(tmp_path: Path) -> None:
    node, scene, key = prepared(tmp_path, Case("g"))
    scene.prepare(
        Case("h", {"cleanup.policy": "compact", "errors.deadletterqueue.group.enable": "true"})
    )
    node.bury(key, LETTER)
    node.bury(SharePartitionKey("h", scene.topic_id("h-t"), PARTITION), LETTER)
    name = "kafka_server_sharegroupmetrics_deadletterqueue"
    families = {family.name: family.samples for family in node.running.node.metrics.families()}
    g, h = {"group": "g"}, {"group": "h"}
    assert families[f"{name}recordcount"] == ((g, 3.0), (h, 0.0))
    assert families[f"{name}totalproducerequests"] == ((g, 1.0), (h, 1.0))
    assert families[f"{name}failedproducerequests"] == ((g, 0.0), (h, 1.0))


def test_another_broker_accepts_the_request(tmp_path: Path) -> None:
    """Expect that the request can be encoded, and that only the topic's id names the topic."""
    sent: list[Any] = []
    node, scene, key = prepared(tmp_path, case := Case("g"), lambda *asked: sent.append(asked))
    done: list[bool] = []
    node.letters.bury(key, LETTER, lambda: done.append(True))
    node.running.scheduler.run_until(lambda: bool(sent))
    ((request, respond),) = sent
    respond(node.running.ask(request, request.MAX_VERSION, "broker-2-dead-letter-sender"))
    assert (done, len(scene.result(case)["letters"])) == ([True], 3)


def test_records_of_a_topic_that_is_deleted_meanwhile_are_not_copied(tmp_path: Path) -> None:
    node, scene, _ = prepared(tmp_path, case := Case("g", group=COPY))
    done: list[bool] = []
    absent = SharePartitionKey("g", b"\1" * 16, PARTITION)
    node.letters.bury(absent, LETTER, lambda: done.append(True))
    node.running.scheduler.run_for(60_000)
    assert (done, node.letters.writer.pending_count) == ([], 0)
    assert scene.result(case)["letters"] == []
