"""`acl_requests`: what Apache Kafka answered to ACLs whose hosts are ranges of addresses."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

import pytest

from controller.metadata.version import LATEST_LEVEL, METADATA_VERSION
from controller.storage_format import INITIAL_FEATURES, format_directories
from ground.memory_filesystem import MemoryFilesystem
from ottla.plugins.authorizer import Operation
from tests.golden import acl_range_cases
from tests.golden.acl_cases import Case, comparable
from tests.golden.acl_range_cases import LEVEL_BEFORE, RECORDED
from tests.unit.controller.controller_fixture import CLUSTER_ID, LOG_DIR, OneNode, as_sent
from tests.unit.controller.rights_fixture import on_cluster, rights_of

EXPECTED = json.loads(RECORDED.read_text())
ADMIN = rights_of(on_cluster(Operation.ALTER) | on_cluster(Operation.DESCRIBE))
NAMES = [name for name, _, _ in (*acl_range_cases.cases(), *acl_range_cases.cases_before())]


@cache
def answers() -> dict[str, Any]:
    return {
        **answered(LATEST_LEVEL, acl_range_cases.cases()),
        **answered(LEVEL_BEFORE, acl_range_cases.cases_before()),
    }


def answered(level: int, cases: list[Case]) -> dict[str, Any]:
    filesystem = MemoryFilesystem()
    random_bytes = random.Random(level).randbytes
    features = {**INITIAL_FEATURES, METADATA_VERSION: level}
    format_directories(filesystem, [LOG_DIR], LOG_DIR, CLUSTER_ID, 1, random_bytes, 0, features)
    node = OneNode(filesystem).start()
    assert node.node.image.metadata_level == level
    return {
        name: comparable(as_sent(node.call(request, version, ADMIN), request, version))
        for name, request, version in cases
    }


def test_each_answer_was_recorded() -> None:
    assert sorted(EXPECTED) == sorted(NAMES)
    accepted = [name for name in NAMES if EXPECTED[name] == [0, [[0, ""]]]]
    assert len(accepted) > 20 and any("/" in name for name in accepted)


@pytest.mark.parametrize("name", NAMES)
def test_answers_as_kafka_does(name: str) -> None:
    assert answers()[name] == EXPECTED[name]
