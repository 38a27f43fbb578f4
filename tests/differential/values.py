"""The small sets of values that sequences and grids draw from: names, numbers, texts, configs.

Small on purpose: what is drawn twice meets itself, so that topics, groups and producers are used
again, deleted, fenced and made anew. Owns no state.
"""

from __future__ import annotations

from tests.differential.record_sets import NOW_MS
from tests.differential.sequence import NOT_UTF8

TOPICS = ("~t0", "~t0", "~t0", "~t1", "~t2")
GROUPS = ("~g0", "~g0", "~g1")
USERS = ("~u0", "~u0", "~u1", "~u2", "")
TRANSACTIONAL_IDS = ("~x0", "~x0", "~x1")
MEMBERS = (0, 1, 2)

ODD_NAMES = (
    *("", "~ b", "~t0.", "~t_0", "~café", f"~{NOT_UTF8}", "~/", "~t0\u0000"),
    *({"$long": 249}, {"$long": 250}, {"$long": 32_000}),
)
DOTS = (".", "..", "__internal")
"""Where a topic is named: whoever may have these names has them for all sequences."""
ODD_TEXTS = ("", " ", "x", f"~{NOT_UTF8}", "café", {"$long": 300}, "~t0", "~g0", "~x0")
ODD_INTS = (-1, 0, 1, 2, -2, 5, 99, 32_767, 2**31 - 1, -(2**31))
ODD_LONGS = (*ODD_INTS, 2**63 - 1, -(2**63), NOW_MS)
ODD_BYTES = ({"$hex": ""}, {"$hex": "00"}, {"$hex": "ff" * 40})
# Fields that get these when they get something odd: others would make a sequence wait, or keep a
# broker busy for long, or end it: a config operation that is none costs Kafka its controller.
ODD_VALUES = {
    "num_partitions": (-1, 0, -2, 2, 2**31 - 1),
    "count": (-1, 0, 1, 2, 3, 2**31 - 1),
    "transaction_timeout_ms": (0, -1, 60_000, 900_000, 900_001, 2**31 - 1),
    "session_timeout_ms": (0, -1, 99, 1_800_000, 1_800_001, 2**31 - 1),
    "timeout_ms": (0, -1, 30_000, 2**31 - 1),
    "max_bytes": (0, 1, 100, 2**31 - 1, -1),
    "partition_max_bytes": (0, 1, 100, 2**31 - 1),
    "acks": (0, 1, -1, 2, -2),
    "config_operation": (0, 1, 2, 3),
}
KEPT = (
    *("max_wait_ms", "min_bytes", "rebalance_timeout_ms", "validate_only", "resource_type", "n"),
    *("ts", "codec", "tombstone", "size", "step", "pid", "seq", "epoch", "txn", "key"),
    *("broker_id", "feature_updates", "configuration_keys", "coordinator_epoch", "of", "add", "or"),
)
"""Fields that never get anything odd."""

TOPIC_CONFIGS = (
    *(("cleanup.policy", value) for value in ("delete", "compact", "compact,delete", "", "none")),
    *(("compression.type", value) for value in ("producer", "uncompressed", "gzip", "zstd", "x")),
    *(("message.timestamp.type", value) for value in ("CreateTime", "LogAppendTime", "other")),
    *(("max.message.bytes", value) for value in ("0", "1", "100", "300", "-1", "abc", None)),
    *(("max.decompressed.message.bytes", value) for value in ("0", "1", "100", "2147483640", "x")),
    *(("retention.ms", value) for value in ("-1", "-2", "1000000000000", "1.5", "")),
    *(("min.cleanable.dirty.ratio", value) for value in ("0.5", "0", "1.1", "-1", "x", "NaN")),
    *(("segment.bytes", value) for value in ("1048576", "100", "-1", "2147483648")),
    *(("min.insync.replicas", value) for value in ("1", "2", "0")),
    *(("message.timestamp.before.max.ms", value) for value in ("1000", "-1")),
    *(("message.timestamp.after.max.ms", value) for value in ("1000", "-1")),
    *(("unclean.leader.election.enable", value) for value in ("true", "TRUE", "yes")),
    *(("follower.replication.throttled.replicas", value) for value in ("", "*", "0:1", "x")),
    *(("no.such.config", value) for value in ("1", None)),
    *(("", "1"), ("flush.ms", "0"), ("flush.messages", "0"), ("preallocate", "true")),
    *(
        ("remote.storage.enable", "true"),
        ("local.retention.ms", "-3"),
        ("remote.copy.lag.ms", "-2"),
        ("errors.deadletterqueue.group.enable", "true"),
        ("index.interval.bytes", "0"),
    ),
)
GROUP_CONFIGS = (
    *(("consumer.session.timeout.ms", value) for value in ("1", "45000", "50000", "-1", "x", None)),
    *(("consumer.heartbeat.interval.ms", value) for value in ("1", "5000", "6000", "60000")),
    *(("streams.num.standby.replicas", value) for value in ("0", "1", "9")),
    *(("streams.assignor.name", value) for value in ("sticky", "x")),
    *(("streams.rack.aware.assignment.tags", value) for value in ("a,b", "a,a")),
    *(("errors.deadletterqueue.topic.name", value) for value in ("dlq.x", "__x")),
    *(("share.record.lock.duration.ms", value) for value in ("1", "30000", "99999999")),
    *(("share.auto.offset.reset", value) for value in ("latest", "earliest", "never")),
    *(("no.such.config", "1"), ("", "")),
)
