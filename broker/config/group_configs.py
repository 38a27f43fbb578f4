"""Configs of a consumer, share or streams group, and the server's limits for them.

Owns the limits that the server's `group.*.min.*` and `group.*.max.*` set to a group's own values
and to the server's defaults for all groups, and the rules between two values. If a group does not
set a value, it has the server's. Never changes a value: values that were stored under other limits
stay as they are. At the next change of the group, all of its values are checked.

Follows KIP-848, KIP-932, KIP-1071, and Kafka's `GroupConfig.validate` and `GroupCoordinatorConfig`,
with their order and wording.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from broker.config.keys import BROKER_CONFIG_DEF, GROUP_CONFIG_DEF
from broker.config.values import BrokerConfig
from ground.config_def import ConfigError, ConfigType, ConfigValue, parse_type
from protocol.errors import ApiError, ErrorCode

_KINDS = ("consumer", "share", "streams")

# The configs that the server limits, in the order in which Kafka checks them.
_LIMITED = (
    "consumer.heartbeat.interval.ms",
    "consumer.session.timeout.ms",
    "consumer.assignment.interval.ms",
    "share.heartbeat.interval.ms",
    "share.session.timeout.ms",
    "share.record.lock.duration.ms",
    "share.delivery.count.limit",
    "share.partition.max.record.locks",
    "share.assignment.interval.ms",
    "streams.heartbeat.interval.ms",
    "streams.session.timeout.ms",
    "streams.num.standby.replicas",
    "streams.assignment.interval.ms",
    "streams.task.offset.interval.ms",
    "streams.num.warmup.replicas",
)
_ASSIGNOR = "streams.assignor.name"
_RACK_TAGS = "streams.rack.aware.assignment.tags"
_DEAD_LETTER_TOPIC = "errors.deadletterqueue.topic.name"

# For these Kafka's error names the upper limit first.
_LIMIT_FIRST = (
    "share.record.lock.duration.ms",
    "share.delivery.count.limit",
    "share.partition.max.record.locks",
)


LIMITS = tuple(
    key
    for name in _LIMITED
    for end in ("min", "max")
    if (key := f"group.{name.replace('.', f'.{end}.', 1).replace('.num.', '.')}")
    in BROKER_CONFIG_DEF
)
"""The server's keys for the limits of group configs; they are read here by name."""


def limits_group_configs(server_key: str) -> bool:
    """Return whether a server key sets the limit or the default of a group config."""
    _, _, name = server_key.partition(".")
    kind, _, rest = name.partition(".")
    rest = rest.removeprefix("min.").removeprefix("max.")
    names = name, f"{kind}.{rest}", f"{kind}.num.{rest}"
    return server_key.startswith("group.") and any(
        group_config in GROUP_CONFIG_DEF for group_config in names
    )


def within_limits(config: BrokerConfig, server_key: str, text: str) -> str:
    """Return the value in force of a dynamic default of groups: the server's limit if `text` is
    beyond it. Return the text of any other key as it is."""
    name = server_key.removeprefix("group.")
    if name not in _LIMITED or name == server_key:
        return text
    (_, low), (_, high) = _limits(config, name)
    value = int(text)
    if low is not None and value < low:
        value = low
    if high is not None and value > high:
        value = high
    return text if value == int(text) else str(value)


def check_group_defaults(config: BrokerConfig) -> None:
    """Check the server's own limits and defaults against each other. Raises ConfigError."""
    for name in _LIMITED:
        (low_name, low), (high_name, high) = _limits(config, name)
        own, value = f"group.{name}", _setting(config, name)
        assert isinstance(value, int)
        if low is not None and high is not None and high < low:
            raise ConfigError(high_name, f"{high_name} must be greater than or equal to {low_name}")
        if low is not None and value < low:
            raise ConfigError(own, f"{own} must be greater than or equal to {low_name}")
        if high is not None and value > high:
            if name in _LIMIT_FIRST:
                raise ConfigError(high_name, f"{high_name} must be greater than or equal to {own}")
            raise ConfigError(own, f"{own} must be less than or equal to {high_name}")
    for kind in _KINDS:
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        longest, value = _setting(config, session), _setting(config, heartbeat)
        assert isinstance(longest, int) and isinstance(value, int)
        if value >= longest:
            name = f"group.{heartbeat}"
            raise ConfigError(name, f"{name} must be less than group.{session}")


def group_config_fault(config: BrokerConfig, configs: Mapping[str, str]) -> ApiError | None:
    """Return why a group may not have `configs`, which are all of its configs; None if it may."""
    text = next(_faults(config, configs), None)
    return None if text is None else ApiError(ErrorCode.INVALID_CONFIG, text)


def _faults(config: BrokerConfig, configs: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong with a group's configs, in Kafka's order."""
    yield from (
        f"Unknown group config name: {name}" for name in configs if name not in GROUP_CONFIG_DEF
    )
    yield from _rack_tag_faults(configs)
    values: dict[str, ConfigValue] = {}
    try:
        for name, key in GROUP_CONFIG_DEF.items():
            values[name] = key.parse(configs[name]) if name in configs else _setting(config, name)
    except ConfigError as error:
        yield str(error)
        return
    for name in _LIMITED:
        yield from _limit_faults(config, name, _integer(values, name))
    yield from _assignor_faults(config, values[_ASSIGNOR])
    for kind in _KINDS:
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if _integer(values, session) <= _integer(values, heartbeat):
            yield f"{session} must be greater than {heartbeat}"
    if str(values[_DEAD_LETTER_TOPIC]).startswith("__"):
        yield f"{_DEAD_LETTER_TOPIC}: DLQ topic name must not start with '__'"


def _integer(values: Mapping[str, ConfigValue], name: str) -> int:
    value = values[name]
    assert isinstance(value, int)
    return value


def _rack_tag_faults(configs: Mapping[str, str]) -> Iterator[str]:
    """Yield an error if a group has the same tag of racks twice."""
    tags = parse_type(_RACK_TAGS, ConfigType.LIST, configs.get(_RACK_TAGS, ""), True)
    assert isinstance(tags, tuple)
    if len(set(tags)) < len(tags):
        yield f"{_RACK_TAGS} must not contain duplicate tag keys."


def _assignor_faults(config: BrokerConfig, assignor: ConfigValue) -> Iterator[str]:
    """Yield an error if a group names a task assignor that the server does not list."""
    names = _setting(config, "streams.assignors")
    assert isinstance(names, tuple)
    if assignor is not None and assignor not in names:
        yield (
            f"{_ASSIGNOR} '{assignor}' is not a registered task assignor. Registered assignors "
            f"are: [{', '.join(names)}]."
        )


def _setting(config: BrokerConfig, name: str) -> ConfigValue:
    """Return the server's value for all groups; None if it has no such key."""
    key = BROKER_CONFIG_DEF.get(f"group.{name}")
    return None if key is None else key.parse(config.originals.get(key.name, key.default))


def _limit_faults(config: BrokerConfig, name: str, value: int) -> Iterator[str]:
    """Yield an error if `value` is outside the limits that the node's configuration sets."""
    (_, low), (_, high) = _limits(config, name)
    if (low is None or value >= low) and (high is None or value <= high):
        return
    if low is None:
        yield f"{name} must be less than or equal to {high}"
    elif high is None:
        yield f"{name} must be greater than or equal to {low}"
    else:
        yield f"{name} must be in the range {low} to {high} inclusive."


def _limits(config: BrokerConfig, name: str) -> list[tuple[str, int | None]]:
    """Return the server's keys for a group config's minimum and maximum, with their values.

    A value is None if there is no such limit.
    """
    kind, _, rest = name.partition(".")
    rest = rest.removeprefix("num.")
    limits: list[tuple[str, int | None]] = []
    for end in ("min", "max"):
        limit = _setting(config, f"{kind}.{end}.{rest}")
        limits.append((f"group.{kind}.{end}.{rest}", limit if isinstance(limit, int) else None))
    return limits
