"""What configs mean."""

from __future__ import annotations

import pytest

from broker.config.start_error import StartError
from client.configs.explanation import KeyExplanation, explanation_lines, keys_like


def test_a_key_by_its_name() -> None:
    (found,) = keys_like(["retention.ms"])
    assert (found.of, found.type, found.default) == ("topic", "LONG", "604800000")
    assert found.broker_keys[0] == "log.retention.ms" and found.meaning
    lines = explanation_lines(found)
    assert lines[:3] == [
        "retention.ms",
        "  of a topic, long, default 604800000",
        "  brokers set its default by log.retention.ms, log.retention.minutes, log.retention.hours",
    ]


def test_keys_of_several_kinds_and_by_words() -> None:
    assert [one.of for one in keys_like(["compression.type"])] == ["topic", "broker"]
    found = keys_like(["cleaner", "threads"])
    assert [one.key for one in found] == ["log.cleaner.threads"]
    assert len(keys_like([])) > 200
    with pytest.raises(StartError, match=r"no config has retention.mss .* retention.ms\?"):
        keys_like(["retention.mss"])


def test_a_key_that_ottla_does_not_use() -> None:
    lines = explanation_lines(KeyExplanation("a.b", "broker", "INT", None, [], None))
    assert lines == [
        "a.b",
        "  of a broker, int, default none",
        "  Known from Kafka; Ottla does not use it.",
    ]
