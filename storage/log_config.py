"""The configuration of one partition's log: what a topic overrides, over what the server defaults.

`LogConfig` is immutable; a changed topic gets a new one. Texts come from the metadata records and
from the server's own configuration, under the names that `SYNONYMS` gives.

It never reads a file and never talks to a log: `storage.directories.log_manager` hands a new
LogConfig over.

Follows `org.apache.kafka.storage.internals.log.LogConfig` and
`org.apache.kafka.server.config.ServerTopicConfigSynonyms` 4.3; KIP-405 (remote storage keys are
known and refused to be turned on), KIP-937 (bounds of a timestamp).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ground.config_def import ConfigDef, ConfigError, ConfigValue, parse_type
from protocol.errors import ApiError, ErrorCode

LOG_CONFIG_DEF = ConfigDef.from_package("storage", "topic-configs.json")

_MS_PER_MINUTE = 60 * 1000
_MS_PER_HOUR = 60 * _MS_PER_MINUTE

# Topic config → the server configs that give its default, the first that is set winning, each with
# the factor that turns its unit into the topic config's.
SYNONYMS: dict[str, tuple[tuple[str, int], ...]] = {
    "segment.bytes": (("log.segment.bytes", 1),),
    "segment.ms": (("log.roll.ms", 1), ("log.roll.hours", _MS_PER_HOUR)),
    "segment.jitter.ms": (("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", _MS_PER_HOUR)),
    "segment.index.bytes": (("log.index.size.max.bytes", 1),),
    "flush.messages": (("log.flush.interval.messages", 1),),
    "flush.ms": (("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1)),
    "retention.bytes": (("log.retention.bytes", 1),),
    "retention.ms": (
        ("log.retention.ms", 1),
        ("log.retention.minutes", _MS_PER_MINUTE),
        ("log.retention.hours", _MS_PER_HOUR),
    ),
    "max.message.bytes": (("message.max.bytes", 1),),
    "index.interval.bytes": (("log.index.interval.bytes", 1),),
    "delete.retention.ms": (("log.cleaner.delete.retention.ms", 1),),
    "min.compaction.lag.ms": (("log.cleaner.min.compaction.lag.ms", 1),),
    "max.compaction.lag.ms": (("log.cleaner.max.compaction.lag.ms", 1),),
    "file.delete.delay.ms": (("log.segment.delete.delay.ms", 1),),
    "min.cleanable.dirty.ratio": (("log.cleaner.min.cleanable.ratio", 1),),
    "cleanup.policy": (("log.cleanup.policy", 1),),
    "unclean.leader.election.enable": (("unclean.leader.election.enable", 1),),
    "min.insync.replicas": (("min.insync.replicas", 1),),
    "compression.type": (("compression.type", 1),),
    "compression.gzip.level": (("compression.gzip.level", 1),),
    "compression.lz4.level": (("compression.lz4.level", 1),),
    "compression.zstd.level": (("compression.zstd.level", 1),),
    "preallocate": (("log.preallocate", 1),),
    "message.timestamp.type": (("log.message.timestamp.type", 1),),
    "message.timestamp.before.max.ms": (("log.message.timestamp.before.max.ms", 1),),
    "message.timestamp.after.max.ms": (("log.message.timestamp.after.max.ms", 1),),
    "local.retention.ms": (("log.local.retention.ms", 1),),
    "local.retention.bytes": (("log.local.retention.bytes", 1),),
}


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Every topic config under its own name; `*_ms` are milliseconds, `*_bytes` bytes.

    -1 in `retention_ms` and `retention_bytes` means without limit.
    """

    cleanup_policy: tuple[str, ...] = ("delete",)
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_type: str = "producer"
    compression_zstd_level: int = 3
    delete_retention_ms: int = 86_400_000
    file_delete_delay_ms: int = 60_000
    flush_messages: int = 2**63 - 1
    flush_ms: int = 2**63 - 1
    follower_replication_throttled_replicas: tuple[str, ...] = ()
    index_interval_bytes: int = 4096
    internal_segment_bytes: int | None = None
    leader_replication_throttled_replicas: tuple[str, ...] = ()
    local_retention_bytes: int = -2
    local_retention_ms: int = -2
    max_compaction_lag_ms: int = 2**63 - 1
    max_message_bytes: int = 1_048_588
    message_timestamp_after_max_ms: int = 3_600_000
    message_timestamp_before_max_ms: int = 2**63 - 1
    message_timestamp_type: str = "CreateTime"
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    min_insync_replicas: int = 1
    preallocate: bool = False
    remote_log_copy_disable: bool = False
    remote_log_delete_on_disable: bool = False
    remote_storage_enable: bool = False
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    segment_bytes: int = 1_073_741_824
    segment_index_bytes: int = 10_485_760
    segment_jitter_ms: int = 0
    segment_ms: int = 604_800_000
    unclean_leader_election_enable: bool = False
    overridden: tuple[str, ...] = field(default=(), compare=False)
    """Names of the configs that the topic itself sets."""

    @property
    def compact(self) -> bool:
        """Whether the cleaner keeps the last record of each key."""
        return "compact" in self.cleanup_policy

    @property
    def delete(self) -> bool:
        """Whether retention by time and size applies."""
        return "delete" in self.cleanup_policy

    @property
    def segment_size_bytes(self) -> int:
        """When a segment rolls by size; tests of Kafka set it below the public limit."""
        if self.internal_segment_bytes is not None:
            return self.internal_segment_bytes
        return self.segment_bytes

    @property
    def roll_ms(self) -> int:
        """When a segment rolls by time; one that is to be compacted by then has to be closed."""
        if self.compact and self.max_compaction_lag_ms > 0:
            return min(self.segment_ms, self.max_compaction_lag_ms)
        return self.segment_ms

    @classmethod
    def from_overrides(
        cls, overrides: Mapping[str, str], defaults: Mapping[str, ConfigValue] | None = None
    ) -> LogConfig:
        """What a topic's `overrides` give over the server's `defaults` (see `server_defaults`).

        The overrides were validated when they were written; what a newer version wrote and this
        one does not know or not accept is left out, so that an old record never stops a start.
        """
        values: dict[str, ConfigValue] = dict(defaults or {})
        taken = []
        for name, text in overrides.items():
            key = LOG_CONFIG_DEF.get(name)
            if key is None:
                continue
            try:
                values[name] = key.parse(text)
            except ConfigError:
                continue
            taken.append(name)
        attributes = {LOG_CONFIG_DEF[name].attribute: value for name, value in values.items()}
        return cls(**attributes, overridden=tuple(taken))  # type: ignore[arg-type]

    @staticmethod
    def validate(
        overrides: Mapping[str, str | None], defaults: Mapping[str, ConfigValue] | None = None
    ) -> ApiError | None:
        """Why a topic may not have these overrides, worded as Kafka words it; None if it may."""
        nulls = sorted(name for name, text in overrides.items() if text is None)
        if nulls:
            text = f"Null value not supported for topic configs: {','.join(nulls)}"
            return ApiError(ErrorCode.INVALID_CONFIG, text)
        for name in sorted(overrides):
            if name not in LOG_CONFIG_DEF:
                text = f"Unknown topic config name: {name}"
                return ApiError(ErrorCode.INVALID_CONFIG, text)
        values = {**LOG_CONFIG_DEF.defaults(), **(defaults or {})}
        try:
            for name, key in LOG_CONFIG_DEF.items():
                if name in overrides:
                    values[name] = key.parse(overrides[name])
        except ConfigError as error:
            return ApiError(ErrorCode.INVALID_CONFIG, str(error))
        return _contradiction(values)


def server_defaults(server: Mapping[str, str | None]) -> dict[str, ConfigValue]:
    """Topic config defaults that a server's configuration texts give, by topic config name.

    `server` holds what was set there and nothing else: a key that is absent keeps Kafka's default.
    Raises ConfigError for a text that does not parse.
    """
    values = LOG_CONFIG_DEF.defaults()
    for name, synonyms in SYNONYMS.items():
        for synonym, factor in synonyms:
            text = server.get(synonym)
            if text is not None:
                parsed = parse_type(synonym, LOG_CONFIG_DEF[name].type, text)
                values[name] = _scaled(parsed, factor)
                break
    return values


def _scaled(value: ConfigValue, factor: int) -> ConfigValue:
    """In the topic config's unit; a negative retention means without limit whatever the unit."""
    if factor == 1:
        return value
    assert isinstance(value, int)
    return -1 if value < 0 else value * factor


def _contradiction(values: Mapping[str, ConfigValue]) -> ApiError | None:
    """What each key allows, and two keys together do not."""
    low, high = values["min.compaction.lag.ms"], values["max.compaction.lag.ms"]
    assert isinstance(low, int) and isinstance(high, int)
    if low > high:
        text = (
            "conflict topic config setting "
            f"min.compaction.lag.ms ({low}) > max.compaction.lag.ms ({high})"
        )
        return ApiError(ErrorCode.INVALID_CONFIG, text)
    if values["remote.storage.enable"]:
        text = (
            "Tiered Storage functionality is disabled in the broker. "
            "Topic cannot be configured with remote log storage."
        )
        return ApiError(ErrorCode.INVALID_CONFIG, text)
    return None
