"""A data folder moves: Apache Kafka starts on what Ottla wrote, and Ottla on what Kafka wrote."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.compat.folder_contents import (
    assert_same,
    commit,
    contents,
    create_topic,
    produce,
)
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START

pytestmark = pytest.mark.java

# What Ottla serves; `test_default_format.py` has a folder with all of Kafka's.
OUR_FEATURES = {
    "eligible.leader.replicas.version": 0,
    "group.version": 0,
    "share.version": 0,
    "streams.version": 0,
    "transaction.version": 0,
}


@pytest.mark.parametrize("end", [pytest.param("stopped", marks=pytest.mark.long), "killed"])
def test_apache_kafka_starts_on_ottlas_folder(
    ottla_broker_factory: Callable[..., Any], tmp_path: Path, end: str
) -> None:
    data = tmp_path / "data"
    ottla = ottla_broker_factory(data_dir=data)
    create_topic(ottla.bootstrap_servers)
    produce(ottla.bootstrap_servers, 0, 300)
    commit(ottla.bootstrap_servers)
    ours = contents(ottla.bootstrap_servers)
    if end == "killed":
        os.kill(ottla.pid, signal.SIGKILL)
    ottla.close()

    kafka = ApacheKafka(data_dir=data, static_voters=True, jvm_options=FAST_START, heap="512m")
    with kafka:
        theirs = contents(kafka.bootstrap)
        assert_same(theirs, ours)
        produce(kafka.bootstrap, 300, 30)
        commit(kafka.bootstrap)
        theirs = contents(kafka.bootstrap)
        assert kafka.errors() == []
    assert len(theirs.records) == len(ours.records) + 5 * 30

    back = ottla_broker_factory(data_dir=data)
    assert_same(contents(back.bootstrap_servers), theirs)
    back.close()


def test_ottla_starts_on_apache_kafkas_folder(
    ottla_broker_factory: Callable[..., Any], tmp_path: Path
) -> None:
    kafka = ApacheKafka(
        static_voters=True, features=OUR_FEATURES, jvm_options=FAST_START, heap="512m"
    )
    with kafka:
        create_topic(kafka.bootstrap)
        produce(kafka.bootstrap, 0, 300)
        commit(kafka.bootstrap)
        theirs = contents(kafka.bootstrap)
        kafka.stop()
        ottla = ottla_broker_factory(data_dir=kafka.data_dir)
        assert_same(contents(ottla.bootstrap_servers), theirs)
        produce(ottla.bootstrap_servers, 300, 30)
        ottla.close()
