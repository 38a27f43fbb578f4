"""The controller asks its policies what a running Kafka asked, and tells what it told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controller.metadata.image import ResourceType
from controller.policies import Policies
from ground.sim_scheduler import SimBlocking, SimScheduler
from ottla.plugins.policies import (
    AlterConfigPolicy,
    AlteredConfigs,
    CreateTopicPolicy,
    NewTopic,
    PolicyViolation,
)
from protocol.messages import alter_configs as replacing
from protocol.messages import incremental_alter_configs as incremental
from protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tests.unit.controller.controller_fixture import OneNode

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "policies_kafka.json").read_text())
TYPES = {"TOPIC": ResourceType.TOPIC, "BROKER": ResourceType.BROKER, "GROUP": ResourceType.GROUP}


class RecordedPolicies:
    """Both policies, which note what they are asked, in its order."""

    def __init__(self) -> None:
        noted = self.noted = []

        class Topics(CreateTopicPolicy):
            def validate(self, topic: NewTopic) -> None:
                name, partitions, factor, assignments, configs = topic
                shown = assignments and {str(at): list(ids) for at, ids in assignments.items()}
                noted.append(["create", name, partitions, factor, shown, dict(configs)])
                if "bad" in name:
                    raise PolicyViolation("no bad topics")
                if "null" in name:
                    raise PolicyViolation
                if "boom" in name:
                    raise ValueError

        class Configs(AlterConfigPolicy):
            def validate(self, altered: AlteredConfigs) -> None:
                noted.append(["alter", *altered])
                retention = altered.configs.get("retention.ms")
                if retention == "77777":
                    raise PolicyViolation("no 77777")
                if retention == "88888":
                    raise ValueError

        self.scheduler = SimScheduler(1)
        blocking = SimBlocking(self.scheduler, 3)
        self.policies = Policies(Topics(), Configs(), blocking.submit)

    noted: list[Any]

    def taken(self) -> list[Any]:
        """Since the last time."""
        noted = list(self.noted)
        self.noted.clear()
        return noted


def topic(one: Any) -> CreatableTopic:
    assignments = [
        CreatableReplicaAssignment(at, ids) for at, ids in enumerate(one.get("assignments", ()))
    ]
    configs = [CreatableTopicConfig(*pair) for pair in one.get("configs", {}).items()]
    numbers = one.get("partitions", -1), one.get("factor", -1)
    return CreatableTopic(one["name"], *numbers, assignments, configs)


def same(answer: Any, told: Any) -> bool:
    """Whether that was told; of errors that other tests hold, the code."""
    code, text = told
    return bool(
        answer.error_code == code and (not code or not text or answer.error_message == text)
    )


@pytest.mark.parametrize("validate_only", [False, True])
def test_topics(validate_only: bool) -> None:
    asked = RecordedPolicies()
    node = OneNode(scheduler=asked.scheduler, policies=asked.policies).start()
    node.register()
    for case in GOLDEN["create_topics"]:
        request = CreateTopicsRequest([topic(one) for one in case["topics"]])
        request.validate_only = validate_only and case["case"] != "the defaults that hold"
        answer = node.call(request, 7)
        assert asked.taken() == case["asked"], case
        told = {one.name: one for one in answer.topics}
        assert all(same(told[name], one) for name, one in case["told"].items()), (case, told)


def test_configs() -> None:
    asked = RecordedPolicies()
    node = OneNode(scheduler=asked.scheduler, policies=asked.policies).start()
    node.register()
    node.call(CreateTopicsRequest([topic(GOLDEN["create_topics"][1]["topics"][0])]), 7)
    asked.taken()
    for case in GOLDEN["incremental_alter_configs"]:
        changes = [incremental.AlterableConfig(*one) for one in case["changes"]]
        resource = incremental.AlterConfigsResource(TYPES[case["type"]], case["name"], changes)
        for validate_only in (True, False):
            request = incremental.IncrementalAlterConfigsRequest([resource], validate_only)
            (answer,) = node.call(request, 1).responses
            shown = case["shown"]
            expected = [] if shown is None else [["alter", case["type"], case["name"], shown]]
            assert asked.taken() == expected, case
            assert same(answer, case["told"]), (case, answer)
    for case in GOLDEN["alter_configs"]:
        pairs = [replacing.AlterableConfig(*pair) for pair in case["configs"].items()]
        named = replacing.AlterConfigsResource(ResourceType.TOPIC, case["name"], pairs)
        (answer,) = node.call(replacing.AlterConfigsRequest([named]), 2).responses
        assert asked.taken() == [["alter", "TOPIC", case["name"], case["shown"]]], case
        assert same(answer, case["told"]), (case, answer)
