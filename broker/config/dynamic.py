"""Changes to a server's configuration while it runs: which are taken, and what is then in force.

Pure: looks at texts, changes nothing. Kafka lets about ninety keys change in a running broker.
Ottla takes those that it puts into force, which are the defaults of topic configs, the settings of
the log cleaner, the rates of replication throttles, and the certificates and JAAS texts of one
node's listeners (`broker.config.security.changes`), and refuses the others by name: a setting that
is stored and does nothing would deceive whoever made it.

Follows Kafka's `DynamicBrokerConfig` (KIP-226): the order of its checks and its wording.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence

from broker.config.description import is_dynamic
from broker.config.keys import BROKER_CONFIG_DEF, LISTENER_PREFIX, RATES, key_of
from broker.config.parse import with_overrides
from broker.config.values import BrokerConfig
from controller.metadata.image import MetadataImage, ResourceType
from protocol.errors import ApiError, ErrorCode
from storage.config_def import ConfigError, ConfigType, ConfigValue, parse_type
from storage.log_config import SYNONYMS, server_defaults

_TOPIC_DEFAULTS = tuple(synonyms[0][0] for synonyms in SYNONYMS.values())
CLEANER_KEYS = (
    "log.cleaner.backoff.ms",
    "log.cleaner.dedupe.buffer.size",
    "log.cleaner.io.buffer.load.factor",
    "log.cleaner.io.buffer.size",
    "log.cleaner.io.max.bytes.per.second",
    "log.cleaner.threads",
)
APPLIED_KEYS = (*_TOPIC_DEFAULTS, *CLEANER_KEYS)

# Keys, or beginnings of keys, that only make sense for one broker.
_PER_BROKER = (
    "cordoned.log.dirs",
    "listener.security.protocol.map",
    "listeners",
    "principal.builder.class",
    "sasl.",
    "ssl.",
)
_OF_ALL_BROKERS = ("max.connection.creation.rate", "max.connections", "num.network.threads")
"""Keys of a listener that may be set for all brokers at once."""
_INVALID = "Invalid dynamic configuration"
"""What Kafka says of a value that a part of the server refuses; why stands in its log only."""

_log = logging.getLogger(f"ottla.{__name__}")


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
    threads_now: int | None = None,
    set_now: Collection[str] = (),
    validate: SecurityValidator = nothing_to_load,
) -> ApiError | None:
    """Why the dynamic configs of a broker, or of all of them, may not go from `before` to `after`.
    `threads_now` is what is in force for `log.cleaner.threads`; None: what the file says.
    `set_now`: keys that are set, also to what they are: the files behind them may have changed.

    Names that Kafka does not know are let through, as there: plug-ins have configs of their own.
    """
    changed = [name for name, text in after.items() if before.get(name) != text]
    known = [name for name in changed if name in BROKER_CONFIG_DEF]
    fixed = [name for name in known if not is_dynamic(name)]
    if fixed:
        return _refused(f"Cannot update these configs dynamically: {_shown(fixed)}")
    bare = [name for name in known if name.startswith("ssl.")]
    if bare:
        text = "These security configs can be dynamically updated only per-listener using the "
        return _refused(f"{text}listener prefix: {_shown(bare)}")
    fault = _value_fault(changed, after)
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
    if threads_now is None:
        threads_now = config.log_cleaner_threads
    return (
        _contradiction(config, after)
        or _threads_fault(changed, after, threads_now)
        or _security_fault(config, before, after, set_now, validate)
    )


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
        return key_of(name) not in _OF_ALL_BROKERS
    return name in BROKER_CONFIG_DEF and name.startswith(_PER_BROKER)


def _security_fault(
    config: BrokerConfig,
    before: Mapping[str, str],
    after: Mapping[str, str],
    set_now: Collection[str],
    validate: SecurityValidator,
) -> ApiError | None:
    if not any(name.startswith(LISTENER_PREFIX) for name in (*before, *after)):
        return None
    from broker.config.security.changes import changed_listeners  # not where nothing is secured

    try:
        listeners = changed_listeners(config, before, after, set_now)
        return validate(_with_listeners(config, after), listeners) if listeners else None
    except ConfigError as error:
        return _refused(str(error))


def _threads_fault(changed: Sequence[str], after: Mapping[str, str], now: int) -> ApiError | None:
    """Kafka lets a number of threads go to half or double of what it is, not further."""
    name = "log.cleaner.threads"
    if name not in changed:
        return None
    wanted = BROKER_CONFIG_DEF[name].parse(after[name])
    if isinstance(wanted, int) and max(1, now // 2) <= wanted <= 2 * now:
        return None
    return _refused(f"{_INVALID}: {name} may go from {now} to {max(1, now // 2)}-{2 * now}")


def _check_rate(name: str, text: str) -> None:
    rate = parse_type(name, ConfigType.LONG, text)
    if not isinstance(rate, int) or rate < 0:
        raise ConfigError.invalid(name, text, "Value must be at least 0")


def _is_unserved(name: str) -> bool:
    if name.startswith(LISTENER_PREFIX):
        return key_of(name) in _OF_ALL_BROKERS
    return name in BROKER_CONFIG_DEF and name not in APPLIED_KEYS


def _contradiction(config: BrokerConfig, after: Mapping[str, str]) -> ApiError | None:
    """What each key allows, and the whole configuration does not."""
    applied = {name: text for name, text in after.items() if name in APPLIED_KEYS}
    try:
        with_overrides(config, applied)
    except ConfigError as error:
        return _refused(str(error))
    return None


def topic_defaults(config: BrokerConfig, image: MetadataImage) -> Mapping[str, ConfigValue]:
    """Defaults of topic configs on this broker: its file, and dynamic configs above it."""
    dynamic = {
        key: text
        for name in ("", str(config.node_id))
        for key, text in image.config(ResourceType.BROKER, name).items()
        if key in _TOPIC_DEFAULTS and _is_valid(key, text)
    }
    return server_defaults({**config.originals, **dynamic}) if dynamic else config.topic_defaults


def cleaner_config(config: BrokerConfig, image: MetadataImage) -> BrokerConfig:
    """`config` with what is in force for the log cleaner: dynamic configs above the file."""
    dynamic = {
        key: text
        for name in ("", str(config.node_id))
        for key, text in image.config(ResourceType.BROKER, name).items()
        if key in CLEANER_KEYS and _is_valid(key, text)
    }
    try:
        return with_overrides(config, dynamic) if dynamic else config
    except ConfigError as error:  # of this broker and of all of them, each alone is right
        _log.warning("dynamic configs of the log cleaner are left out: %s", error)
        return config


def secured_config(config: BrokerConfig, image: MetadataImage) -> BrokerConfig:
    """`config` with what is in force for the security of its listeners, both halves of it: dynamic
    configs of this node above the file. To be told of each listener that changes, and to keep the
    others where one cannot be read: `broker.config.security.changes.security_changes`."""
    dynamic = image.config(ResourceType.BROKER, str(config.node_id))
    if not any(name.startswith(LISTENER_PREFIX) for name in dynamic):
        return config
    try:
        return _with_listeners(config, dynamic)
    except ConfigError as error:
        _log.warning("dynamic configs of listeners are left out: %s", error)
        return config


def _with_listeners(config: BrokerConfig, dynamic: Mapping[str, str]) -> BrokerConfig:
    """`config` with the security of its listeners from dynamic configs above it. Raises
    ConfigError."""
    from broker.config.security.changes import is_security

    own = {name: text for name, text in dynamic.items() if is_security(config, name)}
    return with_overrides(config, own) if own else config


def _is_valid(name: str, text: str) -> bool:
    """False for what another release wrote and this one cannot read: it must not stop a start."""
    try:
        BROKER_CONFIG_DEF[name].parse(text)
    except ConfigError:
        return False
    return True


def _shown(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"


def _refused(text: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, text)
