"""What to write instead."""

from __future__ import annotations

import pytest

from broker.config.refusals.advice import advice, advice_on
from ground.config_def import ConfigError

MS, BYTES = "log.retention.ms", "log.segment.bytes"


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        (MS, "7d", " (it is in milliseconds: write 604800000)"),
        (MS, "10 min", " (it is in milliseconds: write 600000)"),
        ("log.retention.hours", "7d", " (it is in hours: write 168)"),
        ("log.retention.hours", "90m", ""),
        ("offsets.retention.minutes", "2h", " (it is in minutes: write 120)"),
        (BYTES, "1GB", " (it is in bytes: write 1000000000)"),
        (BYTES, "1GiB", " (it is in bytes: write 1073741824)"),
        (BYTES, "64M", " (it is in bytes: write 67108864)"),
        (BYTES, "7d", ""),
        (MS, "soon", ""),
        ("num.io.threads", "3s", ""),
    ],
)
def test_an_amount_in_the_unit_of_its_key(key: str, text: str, said: str) -> None:
    assert advice(ConfigError.invalid(key, text, "Not a number"), {key: text}) == said
    assert advice(ConfigError.invalid(key, text, "Not a number"), {}) == ""


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (
            "Invalid value 7d for configuration retention.ms: Not a number of type LONG",
            " (it is in milliseconds: write 604800000)",
        ),
        (
            "Invalid value 1 GB for configuration segment.bytes: Not a number of type INT",
            " (it is in bytes: write 1000000000)",
        ),
        ("Invalid value 7d for configuration segment.bytes: Not a number of type INT", ""),
        ("Invalid value -5 for configuration retention.ms: Value must be at least -1", ""),
        ("something else", ""),
    ],
)
def test_a_cluster_s_refusal_has_the_same_behind_it(refusal: str, said: str) -> None:
    assert advice_on(refusal) == said


def test_the_address_of_every_interface_is_no_address_to_connect_to() -> None:
    error = ConfigError("advertised.listeners", "it cannot be the meta-address 0.0.0.0.")
    texts = {"listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://localhost:9093"}
    said = advice(error, texts)
    assert said.endswith(" advertised.listeners=PLAINTEXT://localhost:9092")
    texts["advertised.listeners"] = "A://0.0.0.0:1, B://0.0.0.0:2"
    assert advice(error, texts).endswith(" advertised.listeners=A://localhost:1,B://localhost:2")
    assert advice(ConfigError("advertised.listeners", "another"), {"x": "y"}) == ""
