"""Dynamic configs of topics, brokers, groups and client metrics: checks and records.

Owns: the four incremental operations, the older replace-all, and the effective value of a topic's
config, in which all sources are combined.

Never: knows the effect of a config. Definitions check the keys of topics, callbacks those of
brokers and groups. Only the broker knows which of its configs can change while it runs, and the
limits of a group's configs.

Follows KIP-339 (incremental changes), KIP-226 (sources), KIP-848 (group configs), KIP-714 (client
metrics), and Kafka's `ConfigurationControlManager` and `ControllerConfigurationValidator`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from controller.decisions.client_metrics_config import client_metrics_fault
from controller.metadata.image import MetadataImage, ResourceType
from controller.metadata.records import MetadataRecord
from controller.metadata.topic_names import topic_name_fault
from controller.settings import ControllerSettings
from ground.config_def import ConfigSource, ConfigType, format_value
from ground.java_literals import integer
from ground.sliced_work import BULK_AT_ONCE, PIECES_AT_ONCE, Pace, Steps, in_bulk
from protocol.errors import ApiError, ErrorCode
from protocol.messages.metadata_records import ClearElrRecord, ConfigRecord
from storage.log_config import LOG_CONFIG_DEF, SYNONYMS, LogConfig, server_defaults

MIN_INSYNC_REPLICAS = "min.insync.replicas"
_MOST_VALUE = 32_767  # the most characters of a string in the metadata log

_VALUE_TOO_LONG = ApiError(
    ErrorCode.INVALID_CONFIG,
    "The configuration value cannot be added because it exceeds the maximum value size of "
    f"{_MOST_VALUE} bytes.",
)

_BROKER_MIN_ISR = ApiError(
    ErrorCode.INVALID_CONFIG,
    "Broker-level min.insync.replicas cannot be altered while ELR is enabled.",
)
_CLUSTER_MIN_ISR = ApiError(
    ErrorCode.INVALID_CONFIG,
    "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
)


class ConfigOperation(IntEnum):
    """The operation of IncrementalAlterConfigs on a key."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigChange(NamedTuple):
    """One operation on one key."""

    name: str
    operation: int
    value: str | None


class EffectiveConfig(NamedTuple):
    """The effective value of a config, and its source."""

    name: str
    value: str | None
    source: ConfigSource
    sensitive: bool = False


class ConfigurationControl:
    """The decisions on configs; a cache is their only state."""

    def __init__(self, settings: ControllerSettings) -> None:
        self._settings = settings
        self._static = settings.server_config
        self._defaults = server_defaults(settings.server_config)
        self._kafka_defaults = LOG_CONFIG_DEF.defaults()
        # The effective values of topics without own values; valid while `configs` is this object.
        self._inherited_of: object = None
        self._inherited: dict[str, EffectiveConfig] = {}
        self._described_keys = {
            key for key, definition in LOG_CONFIG_DEF.items() if not definition.internal
        }

    # --- changes -------------------------------------------------------------------------------

    def alter_incrementally(
        self,
        image: MetadataImage,
        resource_type: int,
        name: str,
        changes: Sequence[ConfigChange],
        new_topic: bool = False,
    ) -> Steps[list[MetadataRecord] | ApiError]:
        """Return the records that apply `changes` to the configs of a resource, or the error if any
        change is invalid. `new_topic`: the topic does not exist yet."""
        nulls: list[str] = []
        yield from in_bulk(
            lambda batch: nulls.extend(
                c.name for c in batch if c.value is None and c.operation == ConfigOperation.SET
            ),
            changes,
        )
        if nulls:
            return _null_values(nulls, new_topic)
        before = image.config(resource_type, name)
        after = dict(before)
        pace = Pace()
        for change in changes:
            if pace.is_full():
                yield None
            error = self._apply(resource_type, change, after)
            if error is not None:
                return error
        is_single_broker = resource_type == ResourceType.BROKER and bool(name)
        if (
            is_single_broker
            and image.elr_enabled
            and MIN_INSYNC_REPLICAS in [c.name for c in changes]
        ):
            return _BROKER_MIN_ISR
        # A key that is set again gets a record, because the broker reads the files that it names.
        changed_again = {c.name for c in changes} if resource_type == ResourceType.BROKER else set()
        return (
            yield from self._checked(
                image, resource_type, name, before, after, new_topic, changed_again
            )
        )

    def replace(
        self, image: MetadataImage, resource_type: int, name: str, configs: Mapping[str, str | None]
    ) -> Steps[list[MetadataRecord] | ApiError]:
        """Return the records that make `configs` the only configs of the resource, or the error if
        any config is invalid."""
        before = image.config(resource_type, name)
        nulls: list[str] = []
        after: dict[str, str] = {}
        pace = Pace(BULK_AT_ONCE)
        for key, value in configs.items():
            if pace.is_full():
                yield None
            if value is None:
                nulls.append(key)
            else:
                after[key] = value
        if nulls:
            return _null_values(nulls, False)
        return (yield from self._checked(image, resource_type, name, before, after, False))

    def _apply(
        self, resource_type: int, change: ConfigChange, after: dict[str, str]
    ) -> ApiError | None:
        """Apply one change to the configs in `after`. Return the error of an unknown operation, of
        an append or subtraction on a key that is no list, or of a too long list; None otherwise."""
        name, operation = change.name, change.operation
        if operation == ConfigOperation.DELETE:
            after.pop(name, None)
        elif operation == ConfigOperation.SET:
            assert change.value is not None, "checked before"
            after[name] = change.value
        elif operation in (ConfigOperation.APPEND, ConfigOperation.SUBTRACT):
            if not self._is_list(resource_type, name):
                shown = ConfigOperation(operation).name
                text = f"Can't {shown} to key {name} because its type is not LIST."
                return ApiError(ErrorCode.INVALID_CONFIG, text)
            present = after.get(name, self._default_list(resource_type, name))
            parts = [part for part in present.split(",") if part]
            pieces = Counter(_pieces(change.value or ""))
            if operation == ConfigOperation.APPEND:
                parts += _others(pieces, parts)
            else:
                parts = _without_pieces(parts, pieces)
            after[name] = ",".join(parts)
            if len(after[name]) > _MOST_VALUE:
                return _VALUE_TOO_LONG
        else:
            text = f"Unsupported operation type: {operation}"
            return ApiError(ErrorCode.INVALID_REQUEST, text)
        return None

    def _is_list(self, resource_type: int, name: str) -> bool:
        """Return whether a key accepts APPEND and SUBTRACT: Kafka supports lists of topics and
        brokers only."""
        if resource_type == ResourceType.BROKER:
            return True  # the broker that received the request has checked the key's type
        key = LOG_CONFIG_DEF.get(name) if resource_type == ResourceType.TOPIC else None
        return key is not None and key.type is ConfigType.LIST

    def _default_list(self, resource_type: int, name: str) -> str:
        """Return the comma-separated value from which an append or a subtraction starts if the key
        is not set."""
        if resource_type != ResourceType.TOPIC:
            return self._static.get(name, "")
        return format_value(self._defaults.get(name)) or ""

    def _checked(
        self,
        image: MetadataImage,
        resource_type: int,
        name: str,
        before: Mapping[str, str],
        after: Mapping[str, str],
        new_topic: bool,
        changed_again: Container[str] = (),
    ) -> Steps[list[MetadataRecord] | ApiError]:
        """Return the records that turn the configs `before` into `after`, or the error if `after`
        is invalid or the resource does not exist. Keys in `changed_again` are written even if their
        value stays."""
        if resource_type == ResourceType.TOPIC:
            after = yield from _without_unknown_keys(after)
        error = self._fault(resource_type, name, after)
        if error is None and not new_topic:
            error = _missing(image, resource_type, name)
        if error is not None:
            return error
        records: list[MetadataRecord] = []
        pace = Pace()
        for key, value in after.items():
            if pace.is_full():
                yield None
            if before.get(key) != value or key in changed_again:
                records.append(ConfigRecord(resource_type, name, key, value))
        for key in before:
            if key not in after:
                records.append(ConfigRecord(resource_type, name, key, None))
        if image.elr_enabled and before.get(MIN_INSYNC_REPLICAS) != after.get(MIN_INSYNC_REPLICAS):
            return _new_minimum(resource_type, name, after, records)
        return records

    # --- eligible leader replicas --------------------------------------------------------------

    def elr_safety_records(self, image: MetadataImage) -> list[MetadataRecord]:
        """Return the records that turning ELR on requires: `min.insync.replicas` set for the whole
        cluster and for no single broker, so that all controllers use the same value."""
        records: list[MetadataRecord] = []
        if MIN_INSYNC_REPLICAS not in image.config(ResourceType.BROKER, ""):
            value = format_value(self._defaults[MIN_INSYNC_REPLICAS])
            records.append(ConfigRecord(ResourceType.BROKER, "", MIN_INSYNC_REPLICAS, value))
        for (resource_type, name), configs in image.configs.items():
            if resource_type == ResourceType.BROKER and name and MIN_INSYNC_REPLICAS in configs:
                records.append(ConfigRecord(ResourceType.BROKER, name, MIN_INSYNC_REPLICAS, None))
        return records

    # --- checks --------------------------------------------------------------------------------

    def _fault(self, resource_type: int, name: str, after: Mapping[str, str]) -> ApiError | None:
        """Return the error of a resource's name or of its configs as a whole, None if they are
        valid."""
        if resource_type == ResourceType.TOPIC:
            if not name:
                text = "Default topic resources are not allowed."
                return ApiError(ErrorCode.INVALID_REQUEST, text)
            fault = topic_name_fault(name)
            if fault is not None:
                return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
            return LogConfig.validate(after, self._defaults)
        if resource_type == ResourceType.BROKER:
            return _broker_name_fault(name) or self._settings.check_broker_config(name, after)
        if resource_type == ResourceType.CLIENT_METRICS:
            if not name:
                text = "Default client metrics resources are not allowed."
                return ApiError(ErrorCode.INVALID_REQUEST, text)
            return client_metrics_fault(after)
        if resource_type == ResourceType.GROUP:
            if not name:
                text = "Default group resources are not allowed."
                return ApiError(ErrorCode.INVALID_REQUEST, text)
            return self._settings.check_group_config(after)
        text = f"Unknown resource type {resource_type}"
        return ApiError(ErrorCode.INVALID_REQUEST, text)

    # --- effective values ----------------------------------------------------------------------

    def effective_topic_configs(
        self, image: MetadataImage, overrides: Mapping[str, str]
    ) -> list[EffectiveConfig]:
        """Return the effective values of all configs of a topic that sets `overrides`, sorted by
        name, for the CreateTopics response."""
        return [
            EffectiveConfig(key, overrides[key], ConfigSource.TOPIC_CONFIG)
            if key in overrides
            else self._inherited_config(image, key)
            for key in sorted(self._described_keys.union(overrides))
        ]

    def topic_config(self, image: MetadataImage, topic: str, key: str) -> str | None:
        """Return the effective value of a topic's config, None if the key has none. This is fast,
        because a broker that leaves needs it for each topic."""
        own = image.topic_config(topic, key)
        if own is not None:
            return own
        return self._inherited_config(image, key).value

    def _inherited_config(self, image: MetadataImage, key: str) -> EffectiveConfig:
        """Return the effective value for a topic that does not set the key, from a cache that is
        valid until any config changes."""
        if image.configs is not self._inherited_of:
            self._inherited_of, self._inherited = image.configs, {}
        config = self._inherited.get(key)
        if config is None:
            config = self._inherited[key] = self._look_up(image, key)
        return config

    def _look_up(self, image: MetadataImage, key: str) -> EffectiveConfig:
        """Return the node's value of a topic config with its source, from the most specific level
        that sets it."""
        layers = (
            (
                image.config(ResourceType.BROKER, str(self._settings.node_id)),
                ConfigSource.DYNAMIC_BROKER_CONFIG,
            ),
            (
                image.config(ResourceType.BROKER, ""),
                ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
            ),
            (self._static, ConfigSource.STATIC_BROKER_CONFIG),
        )
        for layer, source in layers:
            for synonym, _ in SYNONYMS.get(key, ()):
                if layer.get(synonym) is not None:
                    value = server_defaults({synonym: layer[synonym]})[key]
                    return EffectiveConfig(key, format_value(value), source)
        default = format_value(self._kafka_defaults.get(key))
        return EffectiveConfig(key, default, ConfigSource.DEFAULT_CONFIG)


def _others(pieces: Iterable[str], parts: Iterable[str]) -> list[str]:
    """Return those of `pieces` that are not in `parts`."""
    present = set(parts)
    return [piece for piece in pieces if piece not in present]


def _without_pieces(parts: Iterable[str], pieces: Counter[str]) -> list[str]:
    """Return `parts` without as many of each piece as `pieces` counts; the first ones go. The
    counts in `pieces` are used up."""
    remaining: list[str] = []
    for part in parts:
        if pieces[part] > 0:
            pieces[part] -= 1
        else:
            remaining.append(part)
    return remaining


def _without_unknown_keys(configs: Mapping[str, str]) -> Steps[Mapping[str, str]]:
    """Return the configs to validate: all with known keys, and the first unknown key, for which the
    topic is rejected. Few configs are returned as they are."""
    if len(configs) <= PIECES_AT_ONCE:
        return configs
    known_keys: dict[str, str] = {}
    unknown: list[str] = []

    def sort_out(batch: Iterable[tuple[str, str]]) -> None:
        """Add known keys to `known_keys`; keep the alphabetically first unknown one."""
        for key, value in batch:
            if key in LOG_CONFIG_DEF:
                known_keys[key] = value
            elif not unknown or key < unknown[0]:
                unknown[:] = [key]

    yield from in_bulk(sort_out, configs.items())
    return known_keys | dict.fromkeys(unknown, "")


def _new_minimum(
    resource_type: int, name: str, after: Mapping[str, str], records: list[MetadataRecord]
) -> list[MetadataRecord] | ApiError:
    """Return `records` with those that a change of `min.insync.replicas` requires while ELR are
    kept, or the error.

    The eligible replicas were computed under the old minimum, so a record clears them. A single
    broker may not have a separate value, because controllers would then use different minimums.
    """
    if resource_type == ResourceType.BROKER:
        if name:
            return _BROKER_MIN_ISR
        if MIN_INSYNC_REPLICAS not in after:
            return _CLUSTER_MIN_ISR
    return [*records, ClearElrRecord(name if resource_type == ResourceType.TOPIC else "")]


def _pieces(value: str) -> list[str]:
    """Return the pieces of a text between commas, like Java's `split`: blanks stay, and empty
    pieces at the end are dropped."""
    pieces = value.split(",")
    while len(pieces) > 1 and not pieces[-1]:
        pieces.pop()
    return pieces if value == "" or pieces != [""] else []


def _null_values(names: Sequence[str], new_topic: bool) -> ApiError:
    """Return the error of configs that are null: INVALID_CONFIG for a new topic, else
    INVALID_REQUEST."""
    if new_topic:
        text = f"Null value not supported for topic configs: {','.join(sorted(names))}"
        return ApiError(ErrorCode.INVALID_CONFIG, text)
    text = f"Null value not supported for : {','.join(sorted(names))}"
    return ApiError(ErrorCode.INVALID_REQUEST, text)


def _missing(image: MetadataImage, resource_type: int, name: str) -> ApiError | None:
    """Return the error if a topic or a broker that must exist to have configs does not exist; None
    otherwise."""
    if resource_type == ResourceType.TOPIC:
        if image.topics.get(name) is None:
            text = f"The topic '{name}' does not exist."
            return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
    elif resource_type == ResourceType.BROKER and name:
        broker_id = integer(name, 32)
        if broker_id not in image.brokers and broker_id not in image.controllers:
            text = f"No broker with id {broker_id} found."
            return ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, text)
    return None


def _broker_name_fault(name: str) -> ApiError | None:
    """Return the INVALID_REQUEST error of a resource name that is no broker id, None if it is
    valid. The empty name, for all brokers, is valid."""
    if not name:
        return None
    broker_id = integer(name, 32)
    if broker_id is None:
        text = "Unable to parse broker name as a base 10 number."
        return ApiError(ErrorCode.INVALID_REQUEST, text)
    if broker_id < 0:
        return ApiError(ErrorCode.INVALID_REQUEST, "Invalid negative broker ID.")
    return None
