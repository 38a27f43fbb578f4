"""`configuration_control`. Words are compared with Kafka's in `test_controller_apis`."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from controller.decisions.configuration_control import (
    ConfigChange,
    ConfigOperation,
    ConfigurationControl,
)
from controller.metadata.image import MetadataImage, ResourceType
from controller.settings import ControllerSettings
from ground.config_def import ConfigSource
from ground.sliced_work import in_one_go
from protocol.errors import ApiError, ErrorCode
from protocol.messages.metadata_records import ConfigRecord
from tests.unit.controller.controller_fixture import broker_record, image_of, topic_records

SET, DELETE, APPEND, SUBTRACT = ConfigOperation
TOPIC, BROKER, GROUP = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP
IMAGE = image_of(
    broker_record(1),
    *topic_records("foo", b"f" * 16, [1]),
    ConfigRecord(TOPIC, "foo", "retention.ms", "5"),
)


def control(**more: object) -> ConfigurationControl:
    values = {"metadata_log_dir": "/d", "cluster_id": "c", "directory_id": b""}
    settings = ControllerSettings(node_id=1, **{**values, **more})  # type: ignore[arg-type]
    return ConfigurationControl(settings)


def change(name: str, operation: int, value: str | None, kind: int = TOPIC) -> object:
    resource = {TOPIC: "foo", BROKER: "1", GROUP: "g"}[kind]
    return in_one_go(
        control().alter_incrementally(IMAGE, kind, resource, [ConfigChange(name, operation, value)])
    )


def test_set_and_delete() -> None:
    assert change("retention.ms", SET, "6") == [ConfigRecord(TOPIC, "foo", "retention.ms", "6")]
    assert change("retention.ms", DELETE, None) == [
        ConfigRecord(TOPIC, "foo", "retention.ms", None)
    ]


def test_what_does_not_change_writes_nothing() -> None:
    assert change("retention.ms", SET, "5") == []
    assert change("segment.ms", DELETE, None) == []


def test_a_brokers_key_that_is_set_again_has_a_record() -> None:
    """As an Apache Kafka writes it: the broker looks at the file behind it again."""
    name = "listener.name.out.ssl.keystore.location"
    record = ConfigRecord(BROKER, "1", name, "/k")
    image = image_of(broker_record(1), record)
    again = [ConfigChange(name, SET, "/k")]
    assert in_one_go(control().alter_incrementally(image, BROKER, "1", again)) == [record]
    other = [ConfigChange("log.retention.ms", DELETE, None)]
    assert in_one_go(control().alter_incrementally(image, BROKER, "1", other)) == []


def test_lists_begin_with_their_default() -> None:
    assert change("cleanup.policy", APPEND, "compact") == [
        ConfigRecord(TOPIC, "foo", "cleanup.policy", "delete,compact")
    ]
    from_server = control(server_config={"log.cleanup.policy": "compact"})
    assert in_one_go(
        from_server.alter_incrementally(
            IMAGE, TOPIC, "foo", [ConfigChange("cleanup.policy", APPEND, "delete")]
        )
    ) == [ConfigRecord(TOPIC, "foo", "cleanup.policy", "compact,delete")]


@pytest.mark.parametrize(
    ("operation", "given", "after"),
    [
        (APPEND, "1:2", " 0:1 , 1:2 ,1:2"),
        (APPEND, " 1:2 ", " 0:1 , 1:2 "),
        (APPEND, "", " 0:1 , 1:2 ,"),
        (APPEND, ",", " 0:1 , 1:2 "),
        (APPEND, "7:7,,7:7,8:8,", " 0:1 , 1:2 ,7:7,,8:8"),
        (SUBTRACT, "0:1", " 0:1 , 1:2 "),
        (SUBTRACT, " 0:1 ,x", " 1:2 "),
    ],
)
def test_elements_are_compared_as_they_are_written(
    operation: ConfigOperation, given: str, after: str
) -> None:
    key = "leader.replication.throttled.replicas"
    image = image_of(
        broker_record(1),
        *topic_records("foo", b"f" * 16, [1]),
        ConfigRecord(TOPIC, "foo", key, " 0:1 , 1:2 "),
    )
    result = in_one_go(
        control().alter_incrementally(image, TOPIC, "foo", [ConfigChange(key, operation, given)])
    )
    same = after == " 0:1 , 1:2 "
    assert result == ([] if same else [ConfigRecord(TOPIC, "foo", key, after)])


def test_one_of_two_equal_elements_is_taken_out() -> None:
    key = "leader.replication.throttled.replicas"
    image = image_of(
        broker_record(1),
        *topic_records("foo", b"f" * 16, [1]),
        ConfigRecord(TOPIC, "foo", key, "1:2,1:2"),
    )
    change_ = ConfigChange(key, SUBTRACT, "1:2")
    result = in_one_go(control().alter_incrementally(image, TOPIC, "foo", [change_]))
    assert result == [ConfigRecord(TOPIC, "foo", key, "1:2")]


def test_a_wrong_value_counts_before_a_topic_that_is_not_there() -> None:
    for value, code in (
        ("x", ErrorCode.INVALID_CONFIG),
        ("1", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ):
        changes = [ConfigChange("retention.ms", SET, value)]
        altered = in_one_go(control().alter_incrementally(IMAGE, TOPIC, "nope", changes))
        replaced = in_one_go(control().replace(IMAGE, TOPIC, "nope", {"retention.ms": value}))
        for refused in (altered, replaced):
            assert isinstance(refused, ApiError)
            assert refused.code is code


def test_a_list_does_not_grow_beyond_what_a_string_can_be() -> None:
    """The text is that of a running Kafka."""
    key = "leader.replication.throttled.replicas"
    longest = ",".join(f"{10_000 + n}:1" for n in range(4_095)) + ",1:33333"
    assert len(longest) == 32_767
    assert change(key, APPEND, longest) == [ConfigRecord(TOPIC, "foo", key, longest)]
    result = change(key, APPEND, longest + "3")
    assert isinstance(result, ApiError)
    assert (result.code, result.message) == (
        ErrorCode.INVALID_CONFIG,
        "The configuration value cannot be added because it exceeds the maximum value size of "
        "32767 bytes.",
    )


def test_subtract() -> None:
    record = [ConfigRecord(TOPIC, "foo", "cleanup.policy", "")]
    assert change("cleanup.policy", SUBTRACT, "delete") == record


def test_replace_removes_what_is_not_named() -> None:
    records = in_one_go(control().replace(IMAGE, TOPIC, "foo", {"segment.ms": "7"}))
    assert records == [
        ConfigRecord(TOPIC, "foo", "segment.ms", "7"),
        ConfigRecord(TOPIC, "foo", "retention.ms", None),
    ]


def test_one_bad_key_refuses_the_whole_resource() -> None:
    changes = [ConfigChange("segment.ms", SET, "9"), ConfigChange("retention.ms", SET, "x")]
    outcome = in_one_go(control().alter_incrementally(IMAGE, TOPIC, "foo", changes))
    assert isinstance(outcome, ApiError)
    assert outcome.code is ErrorCode.INVALID_CONFIG


def test_brokers_are_checked_by_the_callback() -> None:
    seen: list[tuple[str, dict[str, str]]] = []

    def check(name: str, configs: Mapping[str, str]) -> ApiError | None:
        seen.append((name, dict(configs)))
        return ApiError(ErrorCode.INVALID_REQUEST, "no") if "bad" in configs else None

    checked = control(check_broker_config=check)
    good = [ConfigChange("log.cleaner.threads", SET, "2")]
    assert in_one_go(checked.alter_incrementally(IMAGE, BROKER, "1", good)) == [
        ConfigRecord(BROKER, "1", "log.cleaner.threads", "2")
    ]
    bad = in_one_go(checked.alter_incrementally(IMAGE, BROKER, "", [ConfigChange("bad", SET, "1")]))
    assert bad == ApiError(ErrorCode.INVALID_REQUEST, "no")
    assert seen == [("1", {"log.cleaner.threads": "2"}), ("", {"bad": "1"})]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("7", ErrorCode.BROKER_ID_NOT_REGISTERED),
        ("x", ErrorCode.INVALID_REQUEST),
        ("-1", ErrorCode.INVALID_REQUEST),
    ],
)
def test_names_of_brokers(name: str, code: ErrorCode) -> None:
    changes = [ConfigChange("log.cleaner.threads", SET, "2")]
    outcome = in_one_go(control().alter_incrementally(IMAGE, BROKER, name, changes))
    assert isinstance(outcome, ApiError)
    assert outcome.code is code


def test_a_topic_must_have_a_name() -> None:
    """In the words of an Apache Kafka."""
    changes = [ConfigChange("retention.ms", SET, "1")]
    outcome = in_one_go(control().alter_incrementally(IMAGE, ResourceType.TOPIC, "", changes))
    text = "Default topic resources are not allowed."
    assert outcome == ApiError(ErrorCode.INVALID_REQUEST, text)


def test_groups_are_checked_by_the_callback_with_all_that_they_would_have() -> None:
    refusal = ApiError(ErrorCode.INVALID_CONFIG, "no")
    seen: list[object] = []

    def check(configs: object) -> ApiError | None:
        seen.append(configs)
        return refusal if "b" in configs else None  # type: ignore[operator]

    checked = control(check_group_config=check)
    image = image_of(ConfigRecord(GROUP, "g", "a", "1"))
    one = [ConfigChange("c", SET, "2")]
    assert in_one_go(checked.alter_incrementally(image, GROUP, "g", one)) == [
        ConfigRecord(GROUP, "g", "c", "2")
    ]
    assert (
        in_one_go(checked.alter_incrementally(image, GROUP, "g", [ConfigChange("b", SET, "2")]))
        is refusal
    )
    assert in_one_go(checked.replace(image, GROUP, "g", {"b": "3"})) is refusal
    assert seen == [{"a": "1", "c": "2"}, {"a": "1", "b": "2"}, {"b": "3"}]
    nameless = in_one_go(checked.alter_incrementally(image, GROUP, "", one))
    assert isinstance(nameless, ApiError)
    assert nameless.code is ErrorCode.INVALID_REQUEST
    assert len(seen) == 3


def effective(image: MetadataImage, overrides: dict[str, str], **server: str) -> object:
    server_config = {key.replace("_", "."): value for key, value in server.items()}
    configs = control(server_config=server_config).effective_topic_configs(image, overrides)
    return next((c.value, c.source) for c in configs if c.name == "retention.ms")


def test_sources_in_their_order() -> None:
    """KIP-226: topic, this broker, all brokers, the server's file, the default."""
    image = image_of(
        ConfigRecord(BROKER, "1", "log.retention.ms", "3"),
        ConfigRecord(BROKER, "", "log.retention.hours", "1"),
    )
    everybody = image_of(ConfigRecord(BROKER, "", "log.retention.hours", "1"))
    none = MetadataImage()
    assert effective(image, {"retention.ms": "4"}) == ("4", ConfigSource.TOPIC_CONFIG)
    assert effective(image, {}) == ("3", ConfigSource.DYNAMIC_BROKER_CONFIG)
    assert effective(everybody, {}) == ("3600000", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
    static = effective(none, {}, log_retention_minutes="2", log_retention_hours="7")
    assert static == ("120000", ConfigSource.STATIC_BROKER_CONFIG)
    assert effective(none, {}) == ("604800000", ConfigSource.DEFAULT_CONFIG)


def test_an_internal_config_is_told_where_it_is_set() -> None:
    """The expected result is that of Apache Kafka."""
    name = "internal.segment.bytes"

    def told(overrides: dict[str, str]) -> list[str]:
        configs = control().effective_topic_configs(MetadataImage(), overrides)
        return [one.name for one in configs]

    assert name not in told({"retention.ms": "5"})
    assert told({name: "2000000"}) == sorted([*told({}), name])


def test_a_topic_s_value() -> None:
    assert control().topic_config(IMAGE, "foo", "retention.ms") == "5"
    assert control().topic_config(IMAGE, "foo", "min.insync.replicas") == "1"
