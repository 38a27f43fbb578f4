"""Configs of a consumer, share or streams group: what it may be given, by this server's limits.

Owns: the limits that `group.*.min.*` and `group.*.max.*` of the server set to a group's own values,
and what holds between two values of a group. A value that is not given is the server's default for
all groups. Never: changes a value; those that were kept under other limits stay as they are, until
the group is changed, and then all of them are judged.

Follows KIP-848, KIP-932, KIP-1071 and Kafka's `GroupConfig.validate`, with its order and words.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker.config import BrokerConfig
from broker.config_keys import BROKER_CONFIG_DEF, GROUP_CONFIG_DEF
from protocol.errors import ApiError, ErrorCode
from storage.config_def import ConfigError

_KINDS = ("consumer", "share", "streams")

# Limited by the server, in the order in which Kafka looks at them.
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
)


def group_config_fault(config: BrokerConfig, configs: Mapping[str, str]) -> ApiError | None:
    """Why a group may not have `configs`, all that it would then have; None if it may."""
    for name in configs:
        if name not in GROUP_CONFIG_DEF:
            return _refused(f"Unknown group config name: {name}")
    values: dict[str, int] = {}
    try:
        for name, key in GROUP_CONFIG_DEF.items():
            value = key.parse(configs[name]) if name in configs else _setting(config, name)
            if isinstance(value, int):
                values[name] = value
    except ConfigError as error:
        return _refused(str(error))
    for name in _LIMITED:
        text = _limit_fault(config, name, values[name])
        if text is not None:
            return _refused(text)
    for kind in _KINDS:
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if values[session] <= values[heartbeat]:
            return _refused(f"{session} must be greater than {heartbeat}")
    return None


def _setting(config: BrokerConfig, name: str) -> object:
    """The server's value for all groups; None where it has no such key."""
    key = BROKER_CONFIG_DEF.get(f"group.{name}")
    return None if key is None else getattr(config, key.attribute)


def _limit_fault(config: BrokerConfig, name: str, value: int) -> str | None:
    kind, _, what = name.partition(".")
    what = what.removeprefix("num.")
    low, high = (_setting(config, f"{kind}.{end}.{what}") for end in ("min", "max"))
    if isinstance(low, int) and value < low:
        return f"{name} must be greater than or equal to group.{kind}.min.{what}"
    if isinstance(high, int) and value > high:
        return f"{name} must be less than or equal to group.{kind}.max.{what}"
    return None


def _refused(text: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_CONFIG, text)
