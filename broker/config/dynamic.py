"""The check of dynamic changes to a server's configuration: which are accepted, and why not.

It only looks at texts. Kafka lets about ninety keys change in a running broker. Ottla accepts those
that it applies (`broker.config.in_force`), and `ssl.*` and JAAS texts of a node's listeners
(`broker.config.security.changes`). It rejects the others by name: a setting that is stored without
effect would deceive its author.

Follows Kafka's `DynamicBrokerConfig` (KIP-226): the order of its checks and its wording.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from broker.config.applied_keys import (
    APPLIED_KEYS,
    LISTENER_LIMIT_KEYS,
    THREAD_KEYS,
    is_of_node,
    limits_of,
)
from broker.config.description import is_dynamic
from broker.config.group_configs import within_limits
from broker.config.in_force import is_valid, with_dynamic, with_listeners
from broker.config.keys import BROKER_CONFIG_DEF, LISTENER_PREFIX, RATES, key_of
from broker.config.parse import with_overrides
from broker.config.values import BrokerConfig
from ground.config_def import ConfigError, ConfigType, parse_type
from protocol.errors import ApiError, ErrorCode

# Keys, or prefixes of keys, that only make sense for a single broker.
_PER_BROKER = (
    "cordoned.log.dirs",
    "listener.security.protocol.map",
    "listeners",
    "principal.builder.class",
    "sasl.",
    "ssl.",
)
_OF_LISTENERS = ("ssl.key.password", "ssl.keystore.", "ssl.truststore.")
"""Prefixes of keys that are accepted only with the prefix of a listener."""
_JMX_REPORTER = "org.apache.kafka.common.metrics.JmxReporter"

SecurityValidator = Callable[[BrokerConfig, Collection[str]], ApiError | None]
"""A check of whether a configuration's security of some listeners, by name, can be applied.

It returns the error, or None if both halves can be applied. It reads the stores, which blocks, and
changes nothing.
"""


def nothing_to_load(_new: BrokerConfig, _listeners: Collection[str]) -> ApiError | None:
    """Return None, which accepts any change: the validator of a node without secured listeners."""
    return None


def dynamic_config_fault(
    config: BrokerConfig,
    before: Mapping[str, str],
    after: Mapping[str, str],
    *,
    one_broker: bool,
    other_level: Mapping[str, str] | None = None,
    set_now: Collection[str] = (),
    validate: SecurityValidator = nothing_to_load,
) -> ApiError | None:
    """Return why the dynamic configs may not change from `before` to `after`; None if they may.

    The configs are those of a broker (`one_broker`) or of all brokers, and `other_level` has the
    configs of the other level. `set_now` are the keys that the request sets, even to the same
    value, because the files behind them may have changed.

    Keys that Kafka does not know are accepted, as in Kafka: plug-ins have their own configs.
    """
    changed = [name for name, text in after.items() if before.get(name) != text]
    fault = _names_fault(changed) or _value_fault(changed, after)
    if fault is not None:
        return fault
    if not one_broker:
        own = [name for name in changed if _is_of_one_broker(name)]
        if own:
            text = "Cannot update these configs at default cluster level, broker id must be "
            return _refused(f"{text}specified: {_shown(own)}")
    unserved = [name for name in changed if is_unserved(name)]
    if unserved:
        text = f"Cannot update these configs dynamically: {_shown(unserved)} "
        return _refused(f"{text}(Ottla takes them from its configuration file, at a start)")
    others = other_level or {}
    levels_before = {**others, **before} if one_broker else {**before, **others}
    levels_after = {**others, **after} if one_broker else {**after, **others}
    return (
        _contradiction(config, levels_after)
        or _parts_fault(config, levels_before, levels_after)
        or _security_fault(config, before, after, one_broker, set_now, validate)
    )


def _names_fault(changed: Sequence[str]) -> ApiError | None:
    """Return the error of a key that is fixed at start or needs a listener's prefix, or None."""
    kafka_keys = [name for name in changed if name in BROKER_CONFIG_DEF]
    fixed = [name for name in kafka_keys if not is_dynamic(name)]
    if fixed:
        return _refused(f"Cannot update these configs dynamically: {_shown(fixed)}")
    bare = [name for name in kafka_keys if name.startswith(_OF_LISTENERS)]
    if bare:
        text = "These security configs can be dynamically updated only per-listener using the "
        return _refused(f"{text}listener prefix: {_shown(bare)}")
    return None


def _value_fault(changed: Sequence[str], after: Mapping[str, str]) -> ApiError | None:
    """Return the error of a changed value that its key rejects, or None.

    Of a listener's key, the error names the plain key, as in Kafka.
    """
    try:
        for name in changed:
            key = key_of(name) if name.startswith(LISTENER_PREFIX) else name
            if key is not None and key in BROKER_CONFIG_DEF:
                BROKER_CONFIG_DEF[key].parse(after[name])
            if name in RATES:
                _check_rate(name, after[name])
    except ConfigError as error:
        return _refused(str(error))
    return None


def _is_of_one_broker(name: str) -> bool:
    """Return True for a key that cannot be set for all brokers at once, such as `ssl.*` of a
    listener."""
    if name.startswith(LISTENER_PREFIX):
        return key_of(name) not in LISTENER_LIMIT_KEYS
    return name in BROKER_CONFIG_DEF and name.startswith(_PER_BROKER)


def _security_fault(
    config: BrokerConfig,
    before: Mapping[str, str],
    after: Mapping[str, str],
    one_broker: bool,
    set_now: Collection[str],
    validate: SecurityValidator,
) -> ApiError | None:
    """Return the error if listeners cannot take their changed keys, or None. Configs of all brokers
    have only limits, and no such error.

    `validate` builds their new security as a trial; it is not called if no listener changes.
    """
    if not any(name.startswith(LISTENER_PREFIX) for name in (*before, *after)):
        return None
    if not one_broker:  # only limits, which may belong to listeners of other nodes
        return None
    # A node without security does not load this module.
    from broker.config.security.changes import changed_listeners

    try:
        listeners = changed_listeners(config, before, after, set_now)
        return validate(with_listeners(config, after), listeners) if listeners else None
    except ConfigError as error:
        return _refused(str(error))


def _contradiction(config: BrokerConfig, texts: Mapping[str, str]) -> ApiError | None:
    """Return the error of the whole configuration if its keys contradict each other, or None."""
    applied = {
        name: within_limits(config, name, text)
        for name, text in texts.items()
        if (name in APPLIED_KEYS or is_of_node(config, name)) and is_valid(name, text)
    }
    try:
        with_overrides(config, applied)
    except ConfigError as error:
        text = str(error)
        is_rule = not text.startswith("Invalid value")
        return _refused(f"requirement failed: {text}" if is_rule else text)
    return None


def _parts_fault(
    config: BrokerConfig, before: Mapping[str, str], after: Mapping[str, str]
) -> ApiError | None:
    """Return the first error of the limits of connections, threads, the cleaner, retention or
    metric reporters after a change, or None.

    `before` and `after` have both levels.
    """
    current, planned = with_dynamic(config, before), with_dynamic(config, after)
    for reason in (
        *_connection_faults(current, planned),
        *_thread_faults(current, planned),
        *_cleaner_faults(current.log_cleaner_threads, planned.log_cleaner_threads),
        *_retention_faults(config, before, after),
        *_reporter_faults(after.get("metric.reporters", "")),
    ):
        return _refused(
            f"Invalid value org.apache.kafka.common.config.ConfigException: {reason} "
            "for configuration Invalid dynamic configuration"
        )
    return None


def _connection_faults(current: BrokerConfig, planned: BrokerConfig) -> Iterator[str]:
    """Yield an error for a limit of connections that becomes 0, with which no client could connect
    to change it back."""
    for endpoint in planned.broker_listeners:
        old, new = (
            limits_of(current, endpoint.listener_name),
            limits_of(planned, endpoint.listener_name),
        )
        for name, before, after in (
            ("max.connections", old.max_connections, new.max_connections),
            (
                "max.connection.creation.rate",
                old.max_connection_creation_rate,
                new.max_connection_creation_rate,
            ),
        ):
            if after == 0 and before != after:
                yield f"Invalid {name} {after}"


def _thread_faults(current: BrokerConfig, planned: BrokerConfig) -> Iterator[str]:
    """Yield an error if a number of threads goes below half or above double, as in Kafka."""
    for name in THREAD_KEYS:
        for before, after in _thread_changes(name, current, planned):
            text = f"Dynamic thread count update validation failed for {name}={after}, value should"
            if after < before // 2:
                yield f"{text} be at least half the current value {before}"
            elif after > before * 2:
                yield f"{text} not be greater than double the current value {before}"


def _thread_changes(
    name: str, current: BrokerConfig, planned: BrokerConfig
) -> Iterator[tuple[int, int]]:
    """Yield the old and the new number of threads; of network threads, for each listener."""
    if name == "num.network.threads":
        for endpoint in planned.broker_listeners:
            old = limits_of(current, endpoint.listener_name).num_network_threads
            new = limits_of(planned, endpoint.listener_name).num_network_threads
            yield old, new
    else:
        attribute = BROKER_CONFIG_DEF[name].attribute
        yield getattr(current, attribute), getattr(planned, attribute)


def _cleaner_faults(old: int, new: int) -> Iterator[str]:
    """Yield an error if the number of cleaner threads goes below 1, below half of `old`, or above
    double."""
    if new == old:
        return
    if new < 1:
        yield "Log cleaner threads should be at least 1"
    elif new < old // 2:
        yield f"Log cleaner threads cannot be reduced to less than half the current value {old}"
    elif new > old * 2:
        yield f"Log cleaner threads cannot be increased to more than double the current value {old}"


def _retention_faults(
    config: BrokerConfig, before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[str]:
    """Yield an error if the local retention exceeds the whole retention (KIP-405), or the lag of
    copies to tiered storage the local retention."""
    for unit in ("ms", "bytes"):
        whole, local = f"log.retention.{unit}", f"log.local.retention.{unit}"
        lag = f"log.remote.copy.lag.{unit}"
        names = (lag, local, whole)
        if all(before.get(name) == after.get(name) for name in names):
            continue
        texts = {name: after[name] for name in names if name in after}
        defaults = with_overrides(config, texts).topic_defaults
        most, delay = defaults[f"retention.{unit}"], defaults[f"remote.copy.lag.{unit}"]
        least = BROKER_CONFIG_DEF[local].parse(after.get(local, "-2"))
        assert isinstance(most, int) and isinstance(least, int) and isinstance(delay, int)
        if least == -1 and most != -1:
            text = f"Value must not be -1 as {whole} value is set as {most}."
            yield f"Invalid value -1 for configuration {local}: {text}"
        elif least > most >= 0:
            text = f"Value must not be more than {whole} property value: {most}"
            yield f"Invalid value {least} for configuration {local}: {text}"
        effective = most if least == -2 else least
        if delay > effective >= 0:
            text = f"Value must not exceed {local} (effective value: {effective})"
            yield f"Invalid value {delay} for configuration {lag}: {text}"


def _reporter_faults(text: str) -> Iterator[str]:
    """Yield an error for reporters other than Kafka's built-in one, which has no effect here."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if any(name != _JMX_REPORTER for name in names):
        yield (
            "Validation of dynamic config update of Set(metric.reporters) failed with class class "
            "kafka.server.DynamicMetricsReporters"
        )


def _check_rate(name: str, text: str) -> None:
    """Raise ConfigError if the text is no integer, or is negative."""
    rate = parse_type(name, ConfigType.LONG, text)
    if not isinstance(rate, int) or rate < 0:
        raise ConfigError.invalid(name, text, "Value must be at least 0")


def is_unserved(name: str) -> bool:
    """Return True for a Kafka key of the whole node whose change Ottla does not apply."""
    return (
        not name.startswith(LISTENER_PREFIX)
        and name in BROKER_CONFIG_DEF
        and name not in APPLIED_KEYS
    )


def _shown(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"


def _refused(text: str) -> ApiError:
    """Return INVALID_REQUEST with this message."""
    return ApiError(ErrorCode.INVALID_REQUEST, text)
