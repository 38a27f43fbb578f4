"""What Ottla does with each of Kafka's keys: serves it, refuses it, or says that it ignores it.

A key that guards something (TLS, SASL, authorization, policies) is refused when it is set, since a
broker that quietly left it out would be open where its owner believes it closed. A key that only
tunes something is taken with a warning. A value equal to Kafka's default is always fine.

It never looks at values beyond that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from broker.config.group_configs import limits_group_configs
from broker.config.keys import BROKER_CONFIG_DEF
from storage.config_def import ConfigError

# Prefix or whole name → why it is refused.
_REFUSED: dict[str, str] = {
    "sasl.": "SASL is not supported yet",
    "ssl.": "TLS is not supported yet",
    "delegation.token.": "delegation tokens are not supported yet",
    "authorizer.class.name": "authorization is not supported yet",
    "connections.max.reauth.ms": "SASL is not supported yet",
    "principal.builder.class": "Java classes cannot be loaded",
    "security.providers": "Java classes cannot be loaded",
    "client.quota.callback.class": "Java classes cannot be loaded",
    "create.topic.policy.class.name": "Java classes cannot be loaded",
    "alter.config.policy.class.name": "Java classes cannot be loaded",
    "config.providers": "config providers are not supported",
    "security.inter.broker.protocol": "TLS and SASL are not supported yet",
    "controller.quorum.auto.join.enable": "a dynamic quorum is not supported yet",
    "remote.log.storage.system.enable": "tiered storage is not supported",
    "transaction.two.phase.commit.enable": "two-phase commit is not supported",
    "cordoned.log.dirs": "cordoned log directories are not supported yet",
}

# Known to people who come from Kafka before 4.0.
_REMOVED_IN_4_0 = (
    "zookeeper.connect",
    "zookeeper.connection.timeout.ms",
    "zookeeper.session.timeout.ms",
    "inter.broker.protocol.version",
    "log.message.format.version",
    "log.message.timestamp.difference.max.ms",
    "offsets.commit.required.acks",
    "broker.id.generation.enable",
    "control.plane.listener.name",
)

# Keys that some part of Ottla reads. A test finds the reader of each.
SERVED = (
    "add.partitions.to.txn.retry.backoff.max.ms",
    "add.partitions.to.txn.retry.backoff.ms",
    "advertised.listeners",
    "auto.create.topics.enable",
    "auto.leader.rebalance.enable",
    "background.threads",
    "broker.heartbeat.interval.ms",
    "broker.id",
    "broker.rack",
    "broker.session.timeout.ms",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "connections.max.idle.ms",
    "controller.listener.names",
    "controller.quorum.bootstrap.servers",
    "controller.quorum.election.backoff.max.ms",
    "controller.quorum.election.timeout.ms",
    "controller.quorum.fetch.max.bytes",
    "controller.quorum.fetch.snapshot.max.bytes",
    "controller.quorum.fetch.timeout.ms",
    "controller.quorum.request.timeout.ms",
    "controller.quorum.retry.backoff.ms",
    "controller.quorum.voters",
    "default.replication.factor",
    "delete.topic.enable",
    "fetch.max.bytes",
    "group.initial.rebalance.delay.ms",
    "group.max.session.timeout.ms",
    "group.max.size",
    "group.min.session.timeout.ms",
    "inter.broker.listener.name",
    "leader.imbalance.check.interval.seconds",
    "listener.security.protocol.map",
    "listeners",
    "log.cleaner.backoff.ms",
    "log.cleaner.dedupe.buffer.size",
    "log.cleaner.delete.retention.ms",
    "log.cleaner.enable",
    "log.cleaner.io.buffer.load.factor",
    "log.cleaner.io.buffer.size",
    "log.cleaner.io.max.bytes.per.second",
    "log.cleaner.max.compaction.lag.ms",
    "log.cleaner.min.cleanable.ratio",
    "log.cleaner.min.compaction.lag.ms",
    "log.cleaner.threads",
    "log.cleanup.policy",
    "log.dir",
    "log.dir.failure.timeout.ms",
    "log.dirs",
    "log.flush.interval.messages",
    "log.flush.interval.ms",
    "log.flush.offset.checkpoint.interval.ms",
    "log.flush.scheduler.interval.ms",
    "log.flush.start.offset.checkpoint.interval.ms",
    "log.index.interval.bytes",
    "log.index.size.max.bytes",
    "log.initial.task.delay.ms",
    "log.local.retention.bytes",
    "log.local.retention.ms",
    "log.message.timestamp.after.max.ms",
    "log.message.timestamp.before.max.ms",
    "log.message.timestamp.type",
    "log.preallocate",
    "log.retention.bytes",
    "log.retention.check.interval.ms",
    "log.retention.hours",
    "log.retention.minutes",
    "log.retention.ms",
    "log.roll.hours",
    "log.roll.jitter.hours",
    "log.roll.jitter.ms",
    "log.roll.ms",
    "log.segment.bytes",
    "log.segment.delete.delay.ms",
    "max.connections",
    "max.connections.per.ip",
    "max.connections.per.ip.overrides",
    "max.incremental.fetch.session.cache.slots",
    "max.request.partition.size.limit",
    "message.max.bytes",
    "metadata.log.dir",
    "metadata.log.max.record.bytes.between.snapshots",
    "metadata.log.max.snapshot.interval.ms",
    "metadata.log.segment.bytes",
    "metadata.log.segment.ms",
    "metadata.max.idle.interval.ms",
    "min.insync.replicas",
    "node.id",
    "num.io.threads",
    "num.network.threads",
    "num.partitions",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "offset.metadata.max.bytes",
    "offsets.commit.timeout.ms",
    "offsets.load.buffer.size",
    "offsets.retention.check.interval.ms",
    "offsets.retention.minutes",
    "offsets.topic.compression.codec",
    "offsets.topic.num.partitions",
    "offsets.topic.replication.factor",
    "offsets.topic.segment.bytes",
    "process.roles",
    "producer.id.expiration.check.interval.ms",
    "producer.id.expiration.ms",
    "queued.max.request.bytes",
    "queued.max.requests",
    "replica.fetch.backoff.ms",
    "replica.fetch.max.bytes",
    "replica.fetch.min.bytes",
    "replica.fetch.response.max.bytes",
    "replica.fetch.wait.max.ms",
    "replica.high.watermark.checkpoint.interval.ms",
    "replica.lag.time.max.ms",
    "replica.selector.class",
    "replica.socket.timeout.ms",
    "replication.quota.window.num",
    "replication.quota.window.size.seconds",
    "request.timeout.ms",
    "share.coordinator.state.topic.min.isr",
    "share.coordinator.state.topic.num.partitions",
    "share.coordinator.state.topic.replication.factor",
    "share.coordinator.state.topic.segment.bytes",
    "socket.listen.backlog.size",
    "socket.receive.buffer.bytes",
    "socket.request.max.bytes",
    "socket.send.buffer.bytes",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    "transaction.max.timeout.ms",
    "transaction.partition.verification.enable",
    "transaction.remove.expired.transaction.cleanup.interval.ms",
    "transaction.state.log.load.buffer.size",
    "transaction.state.log.min.isr",
    "transaction.state.log.num.partitions",
    "transaction.state.log.replication.factor",
    "transaction.state.log.segment.bytes",
    "transactional.id.expiration.ms",
    "unclean.leader.election.enable",
    "unclean.leader.election.interval.ms",
)

# Guards against nothing and tells nobody anything: of no effect here, so not worth a warning.
_QUIET = (
    "delete.records.purgatory.purge.interval.requests",
    "fetch.purgatory.purge.interval.requests",
    "metric.reporters",
    "producer.purgatory.purge.interval.requests",
    "security.inter.broker.protocol",
)

# Kept and told to clients, but the work that goes by them is a later step.
_NOT_ACTED_ON = (
    "log.local.retention.",
    "log.preallocate",
)


def unknown_key(name: str) -> ConfigError:
    """The refusal of a key that neither Kafka nor Ottla has, with the nearest that exists."""
    if name in _REMOVED_IN_4_0:
        return ConfigError(name, f"{name} was removed in Apache Kafka 4.0; remove it")
    if name.startswith("listener.name."):
        return ConfigError(name, f"{name}: overrides of one listener are not supported yet")
    import difflib  # only where something is wrong: a start must stay fast

    near = difflib.get_close_matches(name, list(BROKER_CONFIG_DEF), n=1, cutoff=0.75)
    hint = f"; did you mean {near[0]}?" if near else ""
    return ConfigError(name, f"unknown configuration key {name}{hint}")


def refuse_what_is_not_served(texts: Mapping[str, str]) -> None:
    """Raise ConfigError for a guarding key set to something else than Kafka's default."""
    for name, text in texts.items():
        if not is_default(name, text):
            reason = _REFUSED.get(name) or next(
                (
                    why
                    for start, why in _REFUSED.items()
                    if start[-1] == "." and name.startswith(start)
                ),
                None,
            )
            if reason is not None:
                raise ConfigError(name, f"{name} is set, but {reason}; remove it")


def ignored_keys(texts: Mapping[str, str]) -> Iterator[str]:
    """One warning for each key that is set to something of no effect here."""
    for name, text in texts.items():
        if is_default(name, text):
            continue
        if name in SERVED and name.startswith(_NOT_ACTED_ON):
            yield f"{name}={text} is kept and told to clients, but has no effect yet"
        elif limits_group_configs(name):
            yield f"{name}={text} applies to configs of groups that Ottla does not support yet"
        elif not (name in SERVED or name in _QUIET or name.startswith("ottla.")):
            yield f"{name}={shown(name, text)} is ignored: Ottla does not support this key yet"


def is_default(name: str, text: str) -> bool:
    """Whether the text means what Kafka takes when the key is absent."""
    key = BROKER_CONFIG_DEF[name]
    if key.required or key.default is None:
        return False
    try:
        return key.parse(text) == key.parse(key.default)
    except ConfigError:
        return False


def shown(name: str, text: str) -> str:
    """A value as it may be printed."""
    return "[hidden]" if BROKER_CONFIG_DEF[name].sensitive else text
