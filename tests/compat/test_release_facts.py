"""Definitions, error codes, versions of APIs and feature levels are those of Kafka's jars."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.metadata.version import LEVELS, MINIMUM_LEVEL, changes_metadata
from protocol.api_keys import STABLE_VERSIONS
from protocol.errors import ErrorCode
from tests.retriable import RETRIABLE
from tests.tools.java_tools import kafka_classpath, run_program
from tests.tools.kafka_definitions import DEFINITIONS, definitions_of

pytestmark = pytest.mark.java


def test_definitions_are_those_of_the_jars() -> None:
    texts = definitions_of(Path(kafka_classpath()).parent)
    kept = {path.name: path.read_text() for path in DEFINITIONS.glob("*.json")}
    different = [name for name in texts.keys() | kept.keys() if texts.get(name) != kept.get(name)]
    assert different == [], "python -m tests.tools.kafka_definitions writes them"


def test_errors_apis_and_levels_are_those_of_the_jars() -> None:
    facts = run_program("ReleaseFacts").stdout.split("\n")
    errors = [f"error {e.value} {e.name} {str(e in RETRIABLE).lower()}" for e in ErrorCode]
    assert sorted(errors) == sorted(line for line in facts if line.startswith("error"))
    apis = [
        f"api {api.value} {api.name} {low} {high}" for api, (low, high) in STABLE_VERSIONS.items()
    ]
    assert sorted(apis) == sorted(line for line in facts if line.startswith("api"))
    levels = [
        f"level {level} {name} {str(changes_metadata(level - 1, level)).lower()}"
        for name, level in LEVELS.items()
        if level > MINIMUM_LEVEL
    ]
    first, *others = (line for line in facts if line.startswith("level"))
    assert first.split()[:3] == ["level", str(MINIMUM_LEVEL), "3.3-IV3"]
    assert levels == others
