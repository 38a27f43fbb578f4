"""Texts become values, and bad ones are refused in Kafka's words (compared with Kafka)."""

from __future__ import annotations

import pytest

from ground.config_def import (
    ConfigDef,
    ConfigError,
    ConfigType,
    format_value,
    parse_type,
    validator_from,
)

TOPIC = ConfigDef.from_package("storage", "topic-configs.json")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("segment.bytes", " 1048577 ", 1048577),
        ("segment.bytes", "+2000000", 2000000),
        ("retention.ms", "-1", -1),
        ("retention.bytes", "-5", -5),
        ("cleanup.policy", "", ()),
        ("cleanup.policy", " delete , compact ", ("delete", "compact")),
        ("cleanup.policy", "delete,delete", ("delete",)),
        ("compression.type", " gzip ", "gzip"),
        ("compression.gzip.level", "-1", -1),
        ("min.cleanable.dirty.ratio", ".5", 0.5),
        ("min.cleanable.dirty.ratio", "1d", 1.0),
        ("preallocate", " TRUE", True),
        ("follower.replication.throttled.replicas", "*", ("*",)),
        ("follower.replication.throttled.replicas", "0:1,1:2", ("0:1", "1:2")),
        ("follower.replication.throttled.replicas", "0:1,0:1", ("0:1", "0:1")),
        ("cleanup.policy", "delete\t,\ncompact,delete", ("delete", "compact")),
        ("min.cleanable.dirty.ratio", "0x1p-1", 0.5),
        ("preallocate", " TRUE ", True),
        ("internal.segment.bytes", "100", 100),
    ],
)
def test_text_becomes_a_value(name: str, text: str, value: object) -> None:
    parsed = TOPIC[name].parse(text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("segment.bytes", "x", "Not a number of type INT"),
        ("segment.bytes", "99999999999", "Not a number of type INT"),
        ("segment.bytes", "1_048_576", "Not a number of type INT"),
        ("segment.bytes", "", "Not a number of type INT"),
        ("segment.bytes", "100", "Value must be at least 1048576"),
        ("retention.ms", "9223372036854775808", "Not a number of type LONG"),
        ("cleanup.policy", "foo", "String must be one of: compact, delete"),
        ("compression.gzip.level", "0", "Value must be between 1 and 9 or equal to -1"),
        ("compression.lz4.level", "18", "Value must be no more than 17"),
        ("compression.zstd.level", "-131073", "Value must be at least -131072"),
        ("min.cleanable.dirty.ratio", "1.5", "Value must be no more than 1"),
        ("min.cleanable.dirty.ratio", "-0.1", "Value must be at least 0"),
        ("min.cleanable.dirty.ratio", "abc", "Not a number of type DOUBLE"),
        ("preallocate", "yes", "Expected value to be either true or false"),
        ("message.timestamp.type", "foo", "String must be one of: CreateTime, LogAppendTime"),
    ],
)
def test_a_bad_value_is_refused_in_kafkas_words(name: str, text: str, reason: str) -> None:
    with pytest.raises(ConfigError) as refused:
        TOPIC[name].parse(text)
    assert str(refused.value) == f"Invalid value {text} for configuration {name}: {reason}"
    assert refused.value.name == name


def test_an_empty_element_of_a_list_has_words_of_its_own() -> None:
    with pytest.raises(ConfigError) as refused:
        TOPIC["cleanup.policy"].parse("delete,")
    assert str(refused.value) == "Configuration 'cleanup.policy' values must not be empty."


def test_throttled_replicas_are_refused_as_a_whole_list() -> None:
    name = "follower.replication.throttled.replicas"
    with pytest.raises(ConfigError) as refused:
        TOPIC[name].parse("0:1,x")
    assert str(refused.value).startswith(f"Invalid value [0:1, x] for configuration {name}: {name}")


def test_null_is_refused_where_a_number_must_be() -> None:
    with pytest.raises(ConfigError, match="Invalid value null for configuration segment.bytes"):
        TOPIC["segment.bytes"].parse(None)


def test_every_default_of_the_facts_passes_its_own_limit() -> None:
    defaults = TOPIC.defaults()
    assert list(defaults) == list(TOPIC)
    for name, value in defaults.items():
        if name != "internal.segment.bytes":
            TOPIC[name].validator(name, value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (7, "7"),
        (("a", "b"), "a,b"),
        ((), ""),
        (0.5, "0.5"),
        (1.0, "1.0"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (0.00099, "9.9E-4"),
        (1e-5, "1.0E-5"),
        (-1.5e300, "-1.5E300"),
        (123456789012.0, "1.23456789012E11"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
    ],
)
def test_values_are_shown_as_java_shows_them(value: object, text: str | None) -> None:
    assert format_value(value) == text  # type: ignore[arg-type]


def test_types_have_the_numbers_of_describe_configs() -> None:
    assert [kind.value for kind in ConfigType] == list(range(10))
    assert parse_type("x", ConfigType.CLASS, " a.B ") == "a.B"
    assert TOPIC["retention.ms"].attribute == "retention_ms"
    assert not TOPIC["retention.ms"].sensitive


def test_a_limit_that_is_not_understood_stops_the_start() -> None:
    with pytest.raises(ValueError, match="unknown form"):
        validator_from("[a strange, limit]!", ConfigType.INT)


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("", ()),
        ("a", ("a",)),
        (" a\t, b \n,\fc\v", ("a", "b", "c")),
        ("a b", ("a b",)),
        (",", ("", "")),
        ("a,\u00a0b", ("a", "\u00a0b")),
    ],
)
def test_elements_of_a_list_have_no_blanks_around_them(text: str, elements: object) -> None:
    assert parse_type("k", ConfigType.LIST, text, keep_duplicates=True) == elements


@pytest.mark.timeout(20)
def test_many_blanks_in_a_list_are_walked_over_once() -> None:
    """As many as a client may send held the loop for 4 s."""
    for _ in range(10):
        text = "a" + " " * 32_000 + "b"
        assert parse_type("k", ConfigType.LIST, text) == (text,)
