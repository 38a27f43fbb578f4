"""franz-go, and Sarama set to older and newer Kafka releases, in round trips with a group."""

from __future__ import annotations

import json

import pytest

from tests.tools.go_tools import go_program, run_go

# A first build compiles the client's modules.
pytestmark = [pytest.mark.go, pytest.mark.timeout(600)]


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    go_program("franz")
    go_program("sarama")


def test_franz_go_round_trip(broker: str) -> None:
    done = run_go("franz", broker, "1000")
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout)
    assert summary["records"] == summary["committed"] == 1010


@pytest.mark.parametrize("release", ["2.1.0", "2.8.0", "3.9.0", "4.1.0"])
def test_sarama_round_trip(broker: str, release: str) -> None:
    done = run_go("sarama", broker, release, "1000")
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout)
    assert summary["release"] == release
    assert summary["records"] == summary["committed"] == 1010
