"""Topic overrides over server defaults, and refusals, as Kafka has them."""

from __future__ import annotations

import dataclasses

import pytest

from protocol.errors import ErrorCode
from storage.log_config import LOG_CONFIG_DEF, SYNONYMS, LogConfig, server_defaults


def refusal(**overrides: str) -> str | None:
    error = LogConfig.validate({name.replace("_", "."): text for name, text in overrides.items()})
    if error is None:
        return None
    assert error.code is ErrorCode.INVALID_CONFIG
    return error.message


def test_fields_and_defaults_are_those_of_the_facts() -> None:
    by_attribute = {
        LOG_CONFIG_DEF[name].attribute: value for name, value in LOG_CONFIG_DEF.defaults().items()
    }
    own = {field.name: field.default for field in dataclasses.fields(LogConfig)}
    del own["overridden"]
    assert own == by_attribute


def test_overrides_win_over_server_defaults() -> None:
    defaults = server_defaults({"log.retention.hours": "2", "log.segment.bytes": "2000000"})
    config = LogConfig.from_overrides({"retention.ms": "5"}, defaults)
    assert config.retention_ms == 5
    assert config.segment_bytes == config.segment_size_bytes == 2_000_000
    assert config.overridden == ("retention.ms",)
    assert config == LogConfig(retention_ms=5, segment_bytes=2_000_000)


@pytest.mark.parametrize(
    ("server", "retention_ms"),
    [
        ({}, 604_800_000),
        ({"log.retention.hours": "3"}, 10_800_000),
        ({"log.retention.hours": "3", "log.retention.minutes": "2"}, 120_000),
        ({"log.retention.minutes": "2", "log.retention.ms": "9"}, 9),
        ({"log.retention.hours": "-1"}, -1),
        ({"log.retention.minutes": "-1"}, -1),
    ],
)
def test_retention_comes_from_the_finest_unit_that_is_set(
    server: dict[str, str | None], retention_ms: int
) -> None:
    assert server_defaults(server)["retention.ms"] == retention_ms


def test_every_synonym_is_a_topic_config() -> None:
    assert [name for name in SYNONYMS if name not in LOG_CONFIG_DEF] == []
    assert server_defaults({"log.flush.scheduler.interval.ms": "77"})["flush.ms"] == 77
    assert server_defaults({"log.roll.hours": "2"})["segment.ms"] == 7_200_000


def test_what_an_older_or_newer_version_wrote_never_stops_a_start() -> None:
    stored = {"message.format.version": "3.0", "segment.bytes": "100", "retention.ms": "7"}
    assert LogConfig.from_overrides(stored) == LogConfig(retention_ms=7)


def test_policies_and_the_internal_segment_size() -> None:
    config = LogConfig.from_overrides(
        {"cleanup.policy": "compact", "internal.segment.bytes": "100"}
    )
    assert (config.compact, config.delete, config.segment_size_bytes) == (True, False, 100)
    nothing = LogConfig.from_overrides({"cleanup.policy": ""})
    assert (nothing.compact, nothing.delete) == (False, False)


def test_refusals_have_kafkas_words() -> None:
    assert refusal(retention_ms="-1", cleanup_policy="compact,delete") is None
    assert refusal(no_such_key="1") == "Unknown topic config name: no.such.key"
    assert refusal(segment_bytes="1") == (
        "Invalid value 1 for configuration segment.bytes: Value must be at least 1048576"
    )
    assert refusal(min_compaction_lag_ms="100", max_compaction_lag_ms="50") == (
        "conflict topic config setting min.compaction.lag.ms (100) > max.compaction.lag.ms (50)"
    )
    assert refusal(remote_storage_enable="true") == (
        "Tiered Storage functionality is disabled in the broker. "
        "Topic cannot be configured with remote log storage."
    )


def test_a_null_is_named_before_anything_else() -> None:
    error = LogConfig.validate({"b.key": None, "a.key": None, "nonsense": "1"})
    assert error is not None
    assert error.message == "Null value not supported for topic configs: a.key,b.key"


def test_server_defaults_take_part_in_contradictions() -> None:
    defaults = server_defaults({"log.cleaner.max.compaction.lag.ms": "50"})
    error = LogConfig.validate({"min.compaction.lag.ms": "100"}, defaults)
    assert error is not None and "(100) > max.compaction.lag.ms (50)" in (error.message or "")
