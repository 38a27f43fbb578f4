"""`broker.config.group_configs`: the limits, their order and their words are a running Kafka's."""

from __future__ import annotations

import pytest

from broker.config.group_configs import LIMITS, group_config_fault
from broker.config.keys import GROUP_CONFIG_DEF
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
)
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
    for configs, end, words in ((low, "min", "greater"), (high, "max", "less")):
        left = dict(configs)
        for name in LIMITED:
            if name not in left or (end == "min" and name == "streams.num.standby.replicas"):
                continue
            kind, _, what = name.replace("num.", "").partition(".")
            limit = f"group.{kind}.{end}.{what}"
            assert fault(left, WIDE) == f"{name} must be {words} than or equal to {limit}"
            heard.append(limit)
            del left[name]
        assert fault(left, WIDE) is None
    unheard = [f"group.{name.replace('.', '.min.', 1)}" for name in NOT_LOW]
    assert sorted(LIMITS) == sorted((*heard, *unheard))


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
    words = "consumer.session.timeout.ms must be less than or equal to "
    assert fault({**kept, "share.isolation.level": "read_committed"}, server) == (
        words + "group.consumer.max.session.timeout.ms"
    )
    assert fault({"share.isolation.level": "read_committed"}, server) is None


def test_every_number_is_limited_or_not_on_purpose() -> None:
    numbers = {name for name, key in GROUP_CONFIG_DEF.items() if key.type.name == "INT"}
    assert numbers - set(LIMITED) == {"streams.initial.rebalance.delay.ms"}
