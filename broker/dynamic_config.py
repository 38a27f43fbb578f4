"""Changes to a server's configuration while it runs: which are taken, and what is then in force.

Pure: looks at texts, changes nothing. Kafka lets about ninety keys change in a running broker.
Ottla takes those that it puts into force, which are the defaults of topic configs and the rates of
replication throttles, and refuses the others by name: a setting that is stored and does nothing
would deceive whoever made it.

Follows Kafka's `DynamicBrokerConfig` (KIP-226): the order of its checks and its wording.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from broker.config import BrokerConfig
from broker.config_description import is_dynamic
from broker.config_keys import BROKER_CONFIG_DEF
from broker.replication.replication_quota import THROTTLE_RATES, UNLIMITED
from controller.metadata_image import MetadataImage, ResourceType
from protocol.errors import ApiError, ErrorCode
from storage.config_def import ConfigError, ConfigType, ConfigValue, parse_type
from storage.log_config import SYNONYMS, server_defaults

APPLIED_KEYS = tuple(synonyms[0][0] for synonyms in SYNONYMS.values())

# Keys, or beginnings of keys, that only make sense for one broker.
_PER_BROKER = (
    "cordoned.log.dirs",
    "listener.security.protocol.map",
    "listeners",
    "principal.builder.class",
    "sasl.",
    "ssl.",
)
_LISTENER_PREFIX = "listener.name."
_ALTER_LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


def dynamic_config_fault(
    config: BrokerConfig,
    before: Mapping[str, str],
    after: Mapping[str, str],
    *,
    one_broker: bool,
) -> ApiError | None:
    """Why the dynamic configs of a broker, or of all of them, may not go from `before` to `after`.

    Names that Kafka does not know are let through, as there: plug-ins have configs of their own.
    """
    changed = [name for name, text in after.items() if before.get(name) != text]
    known = [name for name in changed if name in BROKER_CONFIG_DEF]
    fixed = [name for name in known if not is_dynamic(name)]
    if fixed:
        return _refused(f"Cannot update these configs dynamically: {_shown(fixed)}")
    try:
        for name in known:
            BROKER_CONFIG_DEF[name].parse(after[name])
        for name in changed:
            if name in THROTTLE_RATES or name == _ALTER_LOG_DIRS_RATE:
                _check_rate(name, after[name])
    except ConfigError as error:
        return _refused(str(error))
    if not one_broker:
        own = [name for name in known if name.startswith(_PER_BROKER)]
        if own:
            text = "Cannot update these configs at default cluster level, broker id must be "
            return _refused(f"{text}specified: {_shown(own)}")
    unserved = [name for name in changed if _is_unserved(name)]
    if unserved:
        text = f"Cannot update these configs dynamically: {_shown(unserved)} "
        return _refused(f"{text}(Ottla takes them from its configuration file, at a start)")
    return _contradiction(config, after)


def _check_rate(name: str, text: str) -> None:
    """These three exist as dynamic configs only (Kafka's `QuotaConfig`)."""
    rate = parse_type(name, ConfigType.LONG, text)
    if not isinstance(rate, int) or rate < 0:
        raise ConfigError.invalid(name, text, "Value must be at least 0")


def _is_unserved(name: str) -> bool:
    if name.startswith(_LISTENER_PREFIX):
        return True
    return name in BROKER_CONFIG_DEF and name not in APPLIED_KEYS


def _contradiction(config: BrokerConfig, after: Mapping[str, str]) -> ApiError | None:
    """What each key allows, and the whole configuration does not."""
    applied = {name: text for name, text in after.items() if name in APPLIED_KEYS}
    try:
        config.with_overrides(applied)
    except ConfigError as error:
        return _refused(str(error))
    return None


def topic_defaults(config: BrokerConfig, image: MetadataImage) -> Mapping[str, ConfigValue]:
    """Defaults of topic configs on this broker: its file, and dynamic configs above it."""
    dynamic = {
        key: text
        for name in ("", str(config.node_id))
        for key, text in image.config(ResourceType.BROKER, name).items()
        if key in APPLIED_KEYS and _is_valid(key, text)
    }
    return server_defaults({**config.originals, **dynamic}) if dynamic else config.topic_defaults


def move_rate(config: BrokerConfig, image: MetadataImage) -> int:
    """Bytes a second at which replicas move between the log directories of this broker."""
    rate = UNLIMITED
    for name in ("", str(config.node_id)):
        text = image.config(ResourceType.BROKER, name).get(_ALTER_LOG_DIRS_RATE)
        if text is not None and text.isdecimal():
            rate = max(1, int(text))
    return rate


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
