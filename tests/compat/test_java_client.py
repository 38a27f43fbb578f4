"""The Java client (kafka-clients) in a round trip with a consumer group."""

from __future__ import annotations

import json

import pytest

from tests.tools.java_tools import run_program

pytestmark = pytest.mark.java


@pytest.mark.parametrize(
    ("compression", "protocol"),
    [
        ("none", "classic"),
        ("gzip", "classic"),
        ("snappy", "classic"),
        ("lz4", "classic"),
        ("zstd", "classic"),
        ("none", "consumer"),
    ],
)
def test_java_round_trip(broker: str, compression: str, protocol: str) -> None:
    done = run_program("RoundTrip", broker, "1000", compression, protocol, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout)
    assert summary["records"] == summary["committed"] == 1010
    assert len(summary["cluster"]) == 22
