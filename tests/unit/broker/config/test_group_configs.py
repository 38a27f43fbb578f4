"""`broker.config.group_configs`: the limits, their order and their words are a running Kafka's."""

from __future__ import annotations

import pytest

from broker.config.group_configs import LIMITS, group_config_fault
from broker.config.keys import BROKER_CONFIG_DEF, GROUP_CONFIG_DEF
from broker.config.parse import single_node_config
from protocol.errors import ErrorCode

KINDS = ("consumer", "share", "streams")
# Limits under which a session can be as short as a heartbeat.
WIDE = {
    f"group.{kind}.{name}": value
    for kind in KINDS
    for name, value in {
        "min.session.timeout.ms": "5000",
        "max.heartbeat.interval.ms": "50000",
        "min.assignment.interval.ms": "500",
        "max.assignment.interval.ms": "5000",
    }.items()
}
LIMITED = (
    *("consumer.heartbeat.interval.ms", "consumer.session.timeout.ms"),
    *("consumer.assignment.interval.ms",),
    *("share.heartbeat.interval.ms", "share.session.timeout.ms", "share.record.lock.duration.ms"),
    *("share.delivery.count.limit", "share.partition.max.record.locks"),
    *("share.assignment.interval.ms",),
    *("streams.heartbeat.interval.ms", "streams.session.timeout.ms"),
    *("streams.num.standby.replicas", "streams.assignment.interval.ms"),
    *("streams.task.offset.interval.ms", "streams.num.warmup.replicas"),
)
ENDLESS = {
    "streams.num.standby.replicas": "must be less than or equal to 2",
    "streams.task.offset.interval.ms": "must be greater than or equal to 15000",
    "streams.num.warmup.replicas": "must be less than or equal to 20",
}
NOT_LOW = ("share.delivery.count.limit", "share.partition.max.record.locks")


def fault(configs: dict[str, str], server: dict[str, str] | None = None) -> str | None:
    error = group_config_fault(single_node_config(server or {}), configs)
    assert error is None or error.code is ErrorCode.INVALID_CONFIG
    return None if error is None else error.message


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("consumer.session.timeout.ms", 45_000, 60_000),
        ("consumer.heartbeat.interval.ms", 5_000, 15_000),
        ("consumer.assignment.interval.ms", 0, 15_000),
        ("share.record.lock.duration.ms", 15_000, 60_000),
        ("share.delivery.count.limit", 2, 10),
        ("share.partition.max.record.locks", 100, 4_000),
        ("streams.num.standby.replicas", 0, 2),
        ("streams.initial.rebalance.delay.ms", 0, 2**31 - 1),
    ],
)
def test_the_servers_limits(name: str, least: int, most: int) -> None:
    assert fault({name: str(least)}) is fault({name: f" +{most} "}) is None
    assert fault({name: str(least - 1)}) is not None
    assert fault({name: str(most + 1)}) is not None


def test_every_fault_in_its_order_and_words() -> None:
    low = {name: "1" for name in LIMITED if name not in NOT_LOW}
    low |= {"share.record.lock.duration.ms": "1000"}
    high = dict.fromkeys(LIMITED, str(2**31 - 1))
    heard = []
    for configs, end, free in ((low, "min", "less"), (high, "max", "greater")):
        left = dict(configs)
        for name in LIMITED:
            if name not in left or f" {free} " in ENDLESS.get(name, ""):
                continue
            kind, _, what = name.replace("num.", "").partition(".")
            heard.append(f"group.{kind}.{end}.{what}")
            words = ENDLESS.get(name) or f"must be in the range {ranges(name)} inclusive."
            assert fault(left, WIDE) == f"{name} {words}"
            del left[name]
        assert fault(left, WIDE) is None
    unheard = [f"group.{name.replace('.', '.min.', 1)}" for name in NOT_LOW]
    assert sorted(LIMITS) == sorted((*heard, *unheard))


def ranges(name: str) -> str:
    kind, _, what = name.partition(".")
    keys = [f"group.{kind}.{end}.{what}" for end in ("min", "max")]
    return " to ".join(WIDE.get(key, str(BROKER_CONFIG_DEF[key].default)) for key in keys)


def test_other_faults_in_their_order() -> None:
    same = {"consumer.session.timeout.ms": "5000", "consumer.heartbeat.interval.ms": "5000"}
    configs = {
        "streams.rack.aware.assignment.tags": "a, a",
        "streams.num.warmup.replicas": "21",
        "streams.assignor.name": "x",
        **same,
        "errors.deadletterqueue.topic.name": "__x",
    }
    heard = []
    for name in (*list(configs)[:4], "errors.deadletterqueue.topic.name"):
        heard.append(fault(configs, WIDE))
        del configs[name]
    assert heard == [
        "streams.rack.aware.assignment.tags must not contain duplicate tag keys.",
        "streams.num.warmup.replicas must be less than or equal to 20",
        "streams.assignor.name 'x' is not a registered task assignor. "
        "Registered assignors are: [sticky].",
        "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms",
        "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'",
    ]
    assert fault({"streams.rack.aware.assignment.tags": "a,,b"}) == (
        "Configuration 'streams.rack.aware.assignment.tags' values must not be empty."
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_is_longer_than_a_heartbeat(kind: str) -> None:
    session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
    refused = f"{session} must be greater than {heartbeat}"
    assert fault({session: "5000", heartbeat: "5000"}, WIDE) == refused
    assert fault({session: "5001", heartbeat: "5000"}, WIDE) is None
    # One is given, the other is what all groups have.
    assert fault({session: "5000"}, WIDE) == refused
    assert fault({heartbeat: "45000"}, WIDE) == refused
    shorter = {**WIDE, f"group.{kind}.session.timeout.ms": "20000"}
    assert fault({heartbeat: "20000"}, shorter) == refused
    assert fault({heartbeat: "19999"}, shorter) is None


def test_names_count_before_values_and_values_before_limits() -> None:
    assert fault({"streams.session.timeout.ms": "x", "colour": "red"}) == (
        "Unknown group config name: colour"
    )
    assert fault({"streams.session.timeout.ms": "1", "consumer.heartbeat.interval.ms": "0"}) == (
        "Invalid value 0 for configuration consumer.heartbeat.interval.ms: Value must be at least 1"
    )


def test_a_value_kept_under_other_limits_is_judged_with_the_next_change() -> None:
    kept = {"consumer.session.timeout.ms": "55000"}
    server = {"group.consumer.max.session.timeout.ms": "50000"}
    assert fault({**kept, "share.isolation.level": "read_committed"}, server) == (
        "consumer.session.timeout.ms must be in the range 45000 to 50000 inclusive."
    )
    assert fault({"share.isolation.level": "read_committed"}, server) is None


def test_every_number_is_limited_or_not_on_purpose() -> None:
    numbers = {name for name, key in GROUP_CONFIG_DEF.items() if key.type.name == "INT"}
    assert numbers - set(LIMITED) == {"streams.initial.rebalance.delay.ms"}
