"""Topics of a cluster: listed, described, created, deleted, and given more partitions.

Owns no connection. Never decides what is printed (`topic_command`). Follows Kafka's `TopicCommand`,
KIP-195 (CreatePartitions), KIP-113 and KIP-827 (sizes of logs), KIP-525 (the partitions and
replicas of a created topic). A producer's topic is created as Kafka's `ProducerMetadata` does it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from broker.config.refusals.advice import advice_on
from broker.config.start_error import StartError
from client.cluster import ClusterClient, partitions_of
from client.configs.settings import BROKER, TOPIC, ConfigResource, configs_by_name, configs_of
from client.core.leaders import Partition
from client.core.operation import RequestStep
from client.offsets import ends
from client.refusals import Refused, why
from client.tables import ByteCount
from protocol.errors import ErrorCode
from protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

CHANGE_WITHIN_MS = 30_000
_CLEANUP = "cleanup.policy"
_AUTO_CREATE = "auto.create.topics.enable"
_UNTIL_CREATED = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE)
"""The errors of a topic that a broker is creating."""


class ListedTopic(NamedTuple):
    """A row of `ottla topic list`.

    `records` counts the offsets of the partitions: a compacted topic has fewer records, and
    transaction markers count. `bytes` is the size of all replicas. Both are None if a partition's
    value is not known; `cleanup` is None if this login may not see configs.
    """

    topic: str
    partitions: int
    replicas: int
    records: int | None
    bytes: ByteCount | None
    cleanup: str | None


class PlacedPartition(NamedTuple):
    """A partition: its leader, replicas, ISR and offsets; `bytes` is the size of the leader's log.

    None: no leader, or not known.
    """

    partition: int
    leader: int | None
    replicas: str
    isr: str
    start: int | None
    end: int | None
    bytes: ByteCount | None


def visible(topics: Iterable[MetadataResponseTopic], *, internal: bool) -> list[str]:
    """Return the sorted names of topics, with those of internal topics only if `internal`."""
    return sorted(topic.name or "" for topic in topics if internal or not topic.is_internal)


def listed(cluster: ClusterClient, names: Sequence[str]) -> list[ListedTopic]:
    """Ask the cluster for the named topics, and return a row for each, sorted by name. Raises
    Refused, also if a topic does not exist."""
    topics = cluster.topics(names) if names else {}
    first, last = ends(cluster, topics, partitions_of(topics))
    sizes = log_sizes(cluster, topics)
    policies = _policies(cluster, list(topics))
    rows = []
    for name, topic in sorted(topics.items()):
        places = [(name, partition.partition_index) for partition in topic.partitions]
        ends_known = all(place in last for place in places)
        records = sum(last[place] - first[place] for place in places) if ends_known else None
        replica_sizes = [size for place in places for size in sizes.get(place, {}).values()]
        sizes_known = all(place in sizes for place in places)
        rows.append(
            ListedTopic(
                name,
                len(places),
                max((len(partition.replica_nodes) for partition in topic.partitions), default=0),
                records,
                ByteCount(sum(replica_sizes)) if sizes_known else None,
                policies.get(name),
            )
        )
    return rows


def placed(
    topic: MetadataResponseTopic,
    first: Mapping[Partition, int],
    last: Mapping[Partition, int],
    sizes: Mapping[Partition, Mapping[int, int]],
) -> list[PlacedPartition]:
    """Return a row for each partition of a topic, in order, from data that the caller has read.

    `first` and `last`: the offsets by partition; `sizes`: the log sizes by partition and broker.
    """
    rows = []
    for partition in sorted(topic.partitions, key=_index):
        at = (topic.name or "", partition.partition_index)
        size = sizes.get(at, {}).get(partition.leader_id)
        rows.append(
            PlacedPartition(
                partition.partition_index,
                None if partition.leader_id < 0 else partition.leader_id,
                _ids(partition.replica_nodes),
                _ids(partition.isr_nodes),
                first.get(at),
                last.get(at),
                None if size is None else ByteCount(size),
            )
        )
    return rows


def log_sizes(
    cluster: ClusterClient, topics: Mapping[str, MetadataResponseTopic]
) -> dict[Partition, dict[int, int]]:
    """Ask each broker for the sizes of its logs, and return the bytes by partition and broker id.

    Empty if this login may not describe the cluster.
    """
    from protocol.messages.describe_log_dirs import DescribableLogDirTopic

    request_topics = [
        DescribableLogDirTopic(name, [partition.partition_index for partition in topic.partitions])
        for name, topic in topics.items()
    ]
    sizes: dict[Partition, dict[int, int]] = {}
    for node_id in cluster.broker_ids if request_topics else ():
        request = DescribeLogDirsRequest(request_topics)
        for folder in cluster.call_at(node_id, request, DescribeLogDirsResponse).results:
            for topic in folder.topics:
                for partition in topic.partitions:
                    if not partition.is_future_key:
                        at = (topic.name, partition.partition_index)
                        sizes.setdefault(at, {})[node_id] = partition.partition_size
    return sizes


def create(
    cluster: ClusterClient,
    names: Sequence[str],
    partitions: int | None,
    replicas: int | None,
    configs: Mapping[str, str],
    *,
    if_not_exists: bool = False,
    dry_run: bool = False,
) -> list[tuple[str, int, int]]:
    """Create topics. Return their names, partition counts and replication factors.

    `partitions` or `replicas` None: the cluster's default. `dry_run`: only check. Raises Refused if
    some could not be created; the error names them, and the topics that were created.
    """
    from protocol.messages.create_topics import (
        CreatableTopic,
        CreatableTopicConfig,
        CreateTopicsRequest,
        CreateTopicsResponse,
    )

    settings = [CreatableTopicConfig(key, value) for key, value in configs.items()]
    request_topics = [
        CreatableTopic(name, partitions or -1, replicas or -1, [], settings)
        for name in dict.fromkeys(names)
    ]
    request = CreateTopicsRequest(request_topics, CHANGE_WITHIN_MS, dry_run)
    created, refused = [], []
    for result in cluster.call(request, CreateTopicsResponse).topics:
        if not result.error_code:
            created.append((result.name, result.num_partitions, result.replication_factor))
        elif not (if_not_exists and result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS):
            refused.append(
                f"topic {result.name}: {_creation_failure(result.error_code, result.error_message)}"
            )
    if refused:
        also = (
            f" ({', '.join(name for name, *_ in created)} made)" if created and not dry_run else ""
        )
        raise Refused("; ".join(refused) + also)
    return created


def create_for_producer(cluster: ClusterClient, name: str) -> int | None:
    """Have a broker create a missing topic, if auto.create.topics.enable allows that.
    Return the created topic's number of partitions, None if nothing was created.

    Raises Refused if this login may not create the topic, or no broker creates it in time.
    """
    (topic,) = cluster.metadata([name]).topics
    if topic.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or not _creates_topics(cluster):
        return None
    request = MetadataRequest([MetadataRequestTopic(name=name)], allow_auto_topic_creation=True)
    step, attempts = RequestStep(request, request.MAX_VERSION), cluster.attempts()
    (topic,) = cluster.run(attempts.settled(lambda: attempts.request(step), _UNTIL_CREATED)).topics
    if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise Refused(
            f"no topic {name}, and no broker has created it: ottla topic create {name} makes it, "
            "or says why not"
        )
    if topic.error_code:
        raise Refused(f"topic {name}: {why(topic.error_code, None, f'Create on topic {name}')}")
    return len(topic.partitions)


def _creates_topics(cluster: ClusterClient) -> bool:
    """Return whether a live broker's auto.create.topics.enable is true, or cannot be seen by this
    login."""
    if not cluster.broker_ids:
        return False
    try:
        broker = ConfigResource(BROKER, str(cluster.broker_ids[0]))
        configs = configs_of(cluster, broker, [_AUTO_CREATE])
    except Refused:
        return True
    return all(config.value == "true" for config in configs)


def delete(cluster: ClusterClient, names: Sequence[str], *, if_exists: bool = False) -> list[str]:
    """Delete topics with all their records. Return the names of those deleted.

    Raises Refused if some could not be deleted; the error names them, and the deleted topics.
    """
    from protocol.messages.delete_topics import (
        DeleteTopicsRequest,
        DeleteTopicsResponse,
        DeleteTopicState,
    )

    wanted = list(dict.fromkeys(names))
    request = DeleteTopicsRequest(
        [DeleteTopicState(name) for name in wanted], wanted, CHANGE_WITHIN_MS
    )
    deleted, refused = [], []
    for result in cluster.call(request, DeleteTopicsResponse).responses:
        name = result.name or ""
        if not result.error_code:
            deleted.append(name)
        elif result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            if not if_exists:
                refused.append(f"no topic {name} (ottla topic list shows all)")
        elif result.error_code == ErrorCode.TOPIC_DELETION_DISABLED:
            refused.append(f"topic {name}: the cluster has delete.topic.enable=false")
        else:
            reason = why(result.error_code, result.error_message, f"Delete on topic {name}")
            refused.append(f"topic {name}: {reason}")
    if refused:
        raise Refused("; ".join(refused) + (f" ({', '.join(deleted)} deleted)" if deleted else ""))
    return deleted


def add_partitions(cluster: ClusterClient, name: str, count: int, *, dry_run: bool = False) -> None:
    """Raise the number of a topic's partitions to `count`, or only check the change if `dry_run`.
    Raises Refused if the cluster rejects it."""
    from protocol.messages.create_partitions import (
        CreatePartitionsRequest,
        CreatePartitionsResponse,
        CreatePartitionsTopic,
    )

    request = CreatePartitionsRequest(
        [CreatePartitionsTopic(name, count, None)], CHANGE_WITHIN_MS, dry_run
    )
    for result in cluster.call(request, CreatePartitionsResponse).results:
        if result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise Refused(f"no topic {name} (ottla topic list shows all)")
        if result.error_code == ErrorCode.INVALID_PARTITIONS and result.error_message:
            raise Refused(f"topic {name}: {result.error_message} Partitions are never taken away")
        if result.error_code:
            reason = why(result.error_code, result.error_message, f"Alter on topic {name}")
            raise Refused(f"topic {name}: {reason}")


def check_names(names: Sequence[str]) -> None:
    """Check the names of topics to create, without asking the cluster. Raises StartError for an
    invalid name."""
    for name in names:
        legal = name and all(
            character.isascii() and (character.isalnum() or character in "._-")
            for character in name
        )
        if not legal or name in (".", "..") or len(name) > 249:
            raise StartError(
                f"a topic cannot be called {name!r}: use up to 249 letters, digits, '.', '_' and "
                "'-'"
            )


def _creation_failure(code: int, message: str | None) -> str:
    """Return the text that says why a topic was not created, with advice, from its error code and
    message."""
    if code == ErrorCode.TOPIC_ALREADY_EXISTS:
        return "it exists already (ottla topic describe shows it; --if-not-exists lets it be)"
    codes_with_messages = (
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_PARTITIONS,
        ErrorCode.INVALID_REPLICATION_FACTOR,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.POLICY_VIOLATION,
    )
    if code in codes_with_messages and message:
        return message + advice_on(message)
    return why(code, message, "Create on it")


def _policies(cluster: ClusterClient, names: Sequence[str]) -> dict[str, str]:
    """Ask for the cleanup.policy of each topic and return it by topic; none if this login may not
    see configs."""
    if not names:
        return {}
    try:
        configs_by_topic = configs_by_name(cluster, TOPIC, names, [_CLEANUP])
    except Refused:
        return {}
    return {name: configs[0].value or "" for name, configs in configs_by_topic.items() if configs}


def _ids(ids: Sequence[int]) -> str:
    """Return the ids with commas between them."""
    return ",".join(map(str, ids))


def _index(partition: MetadataResponsePartition) -> int:
    return partition.partition_index
