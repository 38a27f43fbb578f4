"""Changes to a server's configuration while it runs: which are taken, and why others are not.

Pure: looks at texts, changes nothing. Kafka lets about ninety keys change in a running broker.
Ottla takes those that it puts into force (`broker.config.in_force`), and `ssl.*` and JAAS texts of
one node's listeners (`broker.config.security.changes`), and refuses the others by name: a setting
that is stored and does nothing would deceive whoever made it.

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
from broker.config.in_force import is_valid, with_dynamic, with_listeners
from broker.config.keys import BROKER_CONFIG_DEF, LISTENER_PREFIX, RATES, key_of
from broker.config.parse import with_overrides
from broker.config.values import BrokerConfig
from ground.config_def import ConfigError, ConfigType, parse_type
from protocol.errors import ApiError, ErrorCode

# Keys, or beginnings of keys, that only make sense for one broker.
_PER_BROKER = (
    "cordoned.log.dirs",
    "listener.security.protocol.map",
    "listeners",
    "principal.builder.class",
    "sasl.",
    "ssl.",
)
_OF_LISTENERS = ("ssl.key.password", "ssl.keystore.", "ssl.truststore.")
"""Beginnings of keys that are taken behind the prefix of a listener only."""
_JMX_REPORTER = "org.apache.kafka.common.metrics.JmxReporter"

SecurityValidator = Callable[[BrokerConfig, Collection[str]], ApiError | None]
"""Why some listeners, by their names, cannot be secured as this configuration has it, both halves
of them; None: they can. Their stores are read, which blocks, and nothing is changed."""


def nothing_to_load(_new: BrokerConfig, _listeners: Collection[str]) -> ApiError | None:
    """The SecurityValidator of a node that has no secured listener."""
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
    """Why the dynamic configs of a broker, or of all of them, may not go from `before` to `after`.
    `other_level`: what is set of the other one of the two.
    `set_now`: keys that are set, also to what they are: the files behind them may have changed.

    Names that Kafka does not know are let through, as there: plug-ins have configs of their own.
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
    unserved = [name for name in changed if _is_unserved(name)]
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
    known = [name for name in changed if name in BROKER_CONFIG_DEF]
    fixed = [name for name in known if not is_dynamic(name)]
    if fixed:
        return _refused(f"Cannot update these configs dynamically: {_shown(fixed)}")
    bare = [name for name in known if name.startswith(_OF_LISTENERS)]
    if bare:
        text = "These security configs can be dynamically updated only per-listener using the "
        return _refused(f"{text}listener prefix: {_shown(bare)}")
    return None


def _value_fault(changed: Sequence[str], after: Mapping[str, str]) -> ApiError | None:
    """A value that its key does not take; of a listener's, Kafka names the plain key."""
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
    if not any(name.startswith(LISTENER_PREFIX) for name in (*before, *after)):
        return None
    if not one_broker:  # only limits, of listeners that other nodes may have
        return None
    from broker.config.security.changes import changed_listeners  # not where nothing is secured

    try:
        listeners = changed_listeners(config, before, after, set_now)
        return validate(with_listeners(config, after), listeners) if listeners else None
    except ConfigError as error:
        return _refused(str(error))


def _contradiction(config: BrokerConfig, texts: Mapping[str, str]) -> ApiError | None:
    """What each key allows, and the whole configuration does not."""
    applied = {
        name: text
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
    """What a part of the server does not take. `before` and `after`: both levels."""
    now, then = with_dynamic(config, before), with_dynamic(config, after)
    for reason in (
        *_connection_faults(now, then),
        *_thread_faults(now, then),
        *_cleaner_faults(now.log_cleaner_threads, then.log_cleaner_threads),
        *_retention_faults(config, before, after),
        *_reporter_faults(after.get("metric.reporters", "")),
    ):
        return _refused(
            f"Invalid value org.apache.kafka.common.config.ConfigException: {reason} "
            "for configuration Invalid dynamic configuration"
        )
    return None


def _connection_faults(now: BrokerConfig, then: BrokerConfig) -> Iterator[str]:
    """Not even another change could come in."""
    for endpoint in then.broker_listeners:
        old, new = limits_of(now, endpoint.listener_name), limits_of(then, endpoint.listener_name)
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


def _thread_faults(now: BrokerConfig, then: BrokerConfig) -> Iterator[str]:
    """Kafka lets a number of threads go to half or double of what it is, not further."""
    for name in THREAD_KEYS:
        for before, after in _thread_changes(name, now, then):
            text = f"Dynamic thread count update validation failed for {name}={after}, value should"
            if after < before // 2:
                yield f"{text} be at least half the current value {before}"
            elif after > before * 2:
                yield f"{text} not be greater than double the current value {before}"


def _thread_changes(name: str, now: BrokerConfig, then: BrokerConfig) -> Iterator[tuple[int, int]]:
    """From what to what it goes; of processors, on each listener."""
    if name == "num.network.threads":
        for endpoint in then.broker_listeners:
            old = limits_of(now, endpoint.listener_name).num_network_threads
            new = limits_of(then, endpoint.listener_name).num_network_threads
            yield old, new
    else:
        attribute = BROKER_CONFIG_DEF[name].attribute
        yield getattr(now, attribute), getattr(then, attribute)


def _cleaner_faults(now: int, then: int) -> Iterator[str]:
    if then == now:
        return
    if then < 1:
        yield "Log cleaner threads should be at least 1"
    elif then < now // 2:
        yield f"Log cleaner threads cannot be reduced to less than half the current value {now}"
    elif then > now * 2:
        yield f"Log cleaner threads cannot be increased to more than double the current value {now}"


def _retention_faults(
    config: BrokerConfig, before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[str]:
    """What stays on a broker's disk is not more than what stays at all (KIP-405)."""
    for local, whole, of_topic in (
        ("log.local.retention.ms", "log.retention.ms", "retention.ms"),
        ("log.local.retention.bytes", "log.retention.bytes", "retention.bytes"),
    ):
        if all(before.get(name) == after.get(name) for name in (local, whole)):
            continue
        texts = {name: after[name] for name in (local, whole) if name in after}
        most = with_overrides(config, texts).topic_defaults[of_topic]
        least = BROKER_CONFIG_DEF[local].parse(after.get(local, "-2"))
        assert isinstance(most, int) and isinstance(least, int)
        if least == -1 and most != -1:
            text = f"Value must not be -1 as {whole} value is set as {most}."
            yield f"Invalid value -1 for configuration {local}: {text}"
        elif least > most >= 0:
            text = f"Value must not be more than {whole} property value: {most}"
            yield f"Invalid value {least} for configuration {local}: {text}"


def _reporter_faults(text: str) -> Iterator[str]:
    """The one reporter that Kafka has by itself means nothing here; others are Java's."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if any(name != _JMX_REPORTER for name in names):
        yield (
            "Validation of dynamic config update of Set(metric.reporters) failed with class class "
            "kafka.server.DynamicMetricsReporters"
        )


def _check_rate(name: str, text: str) -> None:
    rate = parse_type(name, ConfigType.LONG, text)
    if not isinstance(rate, int) or rate < 0:
        raise ConfigError.invalid(name, text, "Value must be at least 0")


def _is_unserved(name: str) -> bool:
    return (
        not name.startswith(LISTENER_PREFIX)
        and name in BROKER_CONFIG_DEF
        and name not in APPLIED_KEYS
    )


def _shown(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"


def _refused(text: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, text)
