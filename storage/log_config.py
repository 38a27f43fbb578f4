"""The configuration of a partition's log: the topic's overrides on top of the server's defaults.

`LogConfig` is immutable; when a topic's configs change, it gets a new one. The texts of overrides
come from metadata records, those of defaults from the server's configuration under the names in
`SYNONYMS`.

It never reads a file and never calls a log: `storage.directories.log_manager` passes a new
LogConfig to the log.

Follows `org.apache.kafka.storage.internals.log.LogConfig` and
`org.apache.kafka.server.config.ServerTopicConfigSynonyms`; KIP-405 (the keys of remote storage
exist, but turning it on is rejected), KIP-937 (bounds of a timestamp).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ground.config_def import ConfigDef, ConfigError, ConfigValue, parse_type
from protocol.errors import ApiError, ErrorCode
from protocol.record_scan import RECORD_BYTES_MAX

LOG_CONFIG_DEF = ConfigDef.from_package("storage", "topic-configs.json")

_MS_PER_MINUTE = 60 * 1000
_MS_PER_HOUR = 60 * _MS_PER_MINUTE

# Topic config → the server configs that give its default: the first that is set wins. Each has the
# factor that converts its unit into the topic config's.
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
    "max.decompressed.message.bytes": (("max.decompressed.message.bytes", 1),),
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
    "remote.copy.lag.ms": (("log.remote.copy.lag.ms", 1),),
    "remote.copy.lag.bytes": (("log.remote.copy.lag.bytes", 1),),
}


@dataclass(frozen=True, slots=True)
class LogConfig:
    """All topic configs of a log, under their own names; `*_ms` are milliseconds, `*_bytes` bytes.

    -1 in `retention_ms` and `retention_bytes` means unlimited.
    """

    cleanup_policy: tuple[str, ...] = ("delete",)
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_type: str = "producer"
    compression_zstd_level: int = 3
    delete_retention_ms: int = 86_400_000
    errors_deadletterqueue_group_enable: bool = False
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
    max_decompressed_message_bytes: int = RECORD_BYTES_MAX
    max_message_bytes: int = 1_048_588
    message_timestamp_after_max_ms: int = 3_600_000
    message_timestamp_before_max_ms: int = 2**63 - 1
    message_timestamp_type: str = "CreateTime"
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    min_insync_replicas: int = 1
    preallocate: bool = False
    remote_copy_lag_bytes: int = -1
    remote_copy_lag_ms: int = 0
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
        """Whether `cleanup.policy` has `compact`: the cleaner keeps the last record of each key."""
        return "compact" in self.cleanup_policy

    @property
    def delete(self) -> bool:
        """Whether `cleanup.policy` has `delete`: retention by time and size applies."""
        return "delete" in self.cleanup_policy

    @property
    def limits_records(self) -> bool:
        """Whether `max.decompressed.message.bytes` excludes any record of a compressed batch."""
        return self.max_decompressed_message_bytes < RECORD_BYTES_MAX

    @property
    def segment_size_bytes(self) -> int:
        """The size from which a segment is rolled: `internal.segment.bytes` if it is set, else
        `segment.bytes`.

        Kafka's tests set `internal.segment.bytes`, which may be below the minimum of
        `segment.bytes`.
        """
        if self.internal_segment_bytes is not None:
            return self.internal_segment_bytes
        return self.segment_bytes

    @property
    def roll_ms(self) -> int:
        """The age in ms at which a segment is rolled.

        Only closed segments are compacted: a compacted log rolls by `max.compaction.lag.ms`, too.
        """
        if self.compact and self.max_compaction_lag_ms > 0:
            return min(self.segment_ms, self.max_compaction_lag_ms)
        return self.segment_ms

    @classmethod
    def from_overrides(
        cls, overrides: Mapping[str, str], defaults: Mapping[str, ConfigValue] | None = None
    ) -> LogConfig:
        """Return the config of a topic with these `overrides`, on top of `defaults`
        (`server_defaults`).

        Overrides were validated when they were written. A key or value that this version does not
        accept, because another version wrote it, is left out: it must not prevent a start.
        """
        values: dict[str, ConfigValue] = dict(defaults or {})
        accepted = []
        for name, text in overrides.items():
            key = LOG_CONFIG_DEF.get(name)
            if key is None:
                continue
            try:
                values[name] = key.parse(text)
            except ConfigError:
                continue
            accepted.append(name)
        attributes = {LOG_CONFIG_DEF[name].attribute: value for name, value in values.items()}
        return cls(**attributes, overridden=tuple(accepted))  # type: ignore[arg-type]

    @staticmethod
    def validate(
        overrides: Mapping[str, str | None], defaults: Mapping[str, ConfigValue] | None = None
    ) -> ApiError | None:
        """Return the error, in Kafka's words, if a topic must not have these overrides; else None.

        `defaults` are the server's (`server_defaults`): two configs may contradict each other only
        together.
        """
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
    """Return the default of each topic config, by its name, under a server's configuration.

    `server` holds only the keys that are set there: without a key, Kafka's default applies.
    Raises ConfigError if a text does not parse.
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
    """Return a value times `factor`, in the topic config's unit; -1 (unlimited) for a negative
    value. Factor 1 leaves any value as it is."""
    if factor == 1:
        return value
    assert isinstance(value, int)
    return -1 if value < 0 else value * factor


def _contradiction(values: Mapping[str, ConfigValue]) -> ApiError | None:
    """Return the error if the minimum compaction lag is above the maximum, or if remote storage is
    enabled; else None."""
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
