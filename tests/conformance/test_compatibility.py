from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from protocol.api_keys import STABLE_VERSIONS, ApiKey
from tests.conformance.__main__ import PAGE
from tests.conformance.clients import CLIENTS
from tests.conformance.page import page
from tests.conformance.served_apis import of_kafka, of_ottla
from tests.tools.java_tools import PROJECT_DIR
from tests.tools.kafka_release import RELEASE

NAMED_FROM = {ApiKey.PRODUCE: 0}
"""Where ApiVersions names versions that are refused (KAFKA-18659)."""


def test_the_page_is_what_a_node_answers_today() -> None:
    assert PAGE.read_text() == page(), "run: python -m tests.conformance"


def test_what_is_named_has_kafkas_whole_range_of_versions() -> None:
    kafka = of_kafka()
    for listener, apis in of_ottla().items():
        assert {key: kafka[listener][key] for key in apis} == apis


def test_the_recorded_ranges_are_those_of_api_keys() -> None:
    for apis in of_kafka().values():
        for key, (oldest, latest) in apis.items():
            assert (NAMED_FROM.get(key, STABLE_VERSIONS[key][0]), STABLE_VERSIONS[key][1]) == (
                oldest,
                latest,
            )


def test_the_versions_of_clients_are_those_that_the_tests_pin() -> None:
    versions = {one.name: one.version for one in CLIENTS}
    go = PROJECT_DIR / "tests" / "go"
    franz = re.search(r"franz-go v(\S+)", (go / "franz" / "go.mod").read_text())
    sarama = re.search(r"sarama v(\S+)", (go / "sarama" / "go.mod").read_text())
    spark = re.search(r"pyspark==([0-9.]+)", (PROJECT_DIR / "pyproject.toml").read_text())
    assert franz is not None and sarama is not None and spark is not None
    assert versions["franz-go"] == franz[1]
    assert versions["sarama"] == sarama[1]
    assert versions["Spark's Kafka source and sink"].startswith(spark[1])


@pytest.mark.java
def test_the_stand_in_for_kafka_topics_runs_with_any_python(tmp_path: Path) -> None:
    folder = PROJECT_DIR / "tests" / "conformance" / "kafka_python_broker" / "bin"
    done = subprocess.run(
        [folder / "kafka-topics.sh", "--version"],
        cwd=tmp_path,
        # The Python of a suite's own environment has none of this project's packages.
        env={**os.environ, "PATH": f"{sys.base_prefix}/bin:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout.strip(), done.stderr) == (RELEASE, "")
