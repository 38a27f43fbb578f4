"""Topics as a command sees them: the questions to a cluster and what its answers mean.

Owns no connection. Never decides what is printed (`topic_command`). Follows Kafka's `TopicCommand`
4.3, KIP-195 (CreatePartitions), KIP-113 and KIP-827 (sizes of logs), KIP-525 (what was made).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from broker.config.refusals.advice import advice_on
from broker.config.start_error import StartError
from client.cluster import Cluster, partitions_of
from client.configs.settings import TOPIC, configs_by_name
from client.core.leaders import Partition
from client.offsets import ends
from client.refusals import Refused, why
from client.tables import ByteCount
from protocol.errors import ErrorCode
from protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from protocol.messages.metadata import MetadataResponsePartition, MetadataResponseTopic

CHANGE_WITHIN_MS = 30_000
_CLEANUP = "cleanup.policy"


class Listed(NamedTuple):
    """A line of `ottla topic list`. `records` are offsets between the first and the end: a
    compacted topic has fewer, and markers of transactions count; `bytes` of all replicas, None
    where a partition's are not known."""

    topic: str
    partitions: int
    replicas: int
    records: int | None
    bytes: ByteCount | None
    cleanup: str | None


class Placed(NamedTuple):
    """A partition: where it is and what it holds; `bytes` of the leader's log."""

    partition: int
    leader: int | None
    replicas: str
    isr: str
    start: int | None
    end: int | None
    bytes: ByteCount | None


def visible(topics: Iterable[MetadataResponseTopic], *, internal: bool) -> list[str]:
    """Their names in order; those that the cluster keeps for itself only if wanted."""
    return sorted(one.name or "" for one in topics if internal or not one.is_internal)


def listed(cluster: Cluster, names: Sequence[str]) -> list[Listed]:
    """What there is to say about each topic in one line. Raises Refused."""
    topics = cluster.topics(names) if names else {}
    first, last = ends(cluster, topics, partitions_of(topics))
    sizes = log_sizes(cluster, topics)
    policies = _policies(cluster, list(topics))
    rows = []
    for name, topic in sorted(topics.items()):
        own = [(name, one.partition_index) for one in topic.partitions]
        known = all(one in last for one in own)
        records = sum(last[one] - first[one] for one in own) if known else None
        held = [size for one in own for size in sizes.get(one, {}).values()]
        sizes_known = all(one in sizes for one in own)
        rows.append(
            Listed(
                name,
                len(own),
                max((len(one.replica_nodes) for one in topic.partitions), default=0),
                records,
                ByteCount(sum(held)) if sizes_known else None,
                policies.get(name),
            )
        )
    return rows


def placed(
    topic: MetadataResponseTopic,
    first: Mapping[Partition, int],
    last: Mapping[Partition, int],
    sizes: Mapping[Partition, Mapping[int, int]],
) -> list[Placed]:
    """The partitions of a topic, in order."""
    rows = []
    for one in sorted(topic.partitions, key=_index):
        at = (topic.name or "", one.partition_index)
        size = sizes.get(at, {}).get(one.leader_id)
        rows.append(
            Placed(
                one.partition_index,
                None if one.leader_id < 0 else one.leader_id,
                _ids(one.replica_nodes),
                _ids(one.isr_nodes),
                first.get(at),
                last.get(at),
                None if size is None else ByteCount(size),
            )
        )
    return rows


def log_sizes(
    cluster: Cluster, topics: Mapping[str, MetadataResponseTopic]
) -> dict[Partition, dict[int, int]]:
    """Bytes of each partition's logs, by broker. Empty for who may not ask."""
    from protocol.messages.describe_log_dirs import DescribableLogDirTopic

    asked = [
        DescribableLogDirTopic(name, [one.partition_index for one in topic.partitions])
        for name, topic in topics.items()
    ]
    found: dict[Partition, dict[int, int]] = {}
    for node_id in cluster.broker_ids if asked else ():
        request = DescribeLogDirsRequest(asked)
        for folder in cluster.call_at(node_id, request, DescribeLogDirsResponse).results:
            for topic in folder.topics:
                for one in topic.partitions:
                    if not one.is_future_key:
                        at = (topic.name, one.partition_index)
                        found.setdefault(at, {})[node_id] = one.partition_size
    return found


def create(
    cluster: Cluster,
    names: Sequence[str],
    partitions: int | None,
    replicas: int | None,
    configs: Mapping[str, str],
    *,
    if_not_exists: bool = False,
    dry_run: bool = False,
) -> list[tuple[str, int, int]]:
    """Make topics; of each that was made its name, partitions and replication factor. None is as
    the cluster has it. Raises Refused for the first that could not be made."""
    from protocol.messages.create_topics import (
        CreatableTopic,
        CreatableTopicConfig,
        CreateTopicsRequest,
        CreateTopicsResponse,
    )

    settings = [CreatableTopicConfig(key, value) for key, value in configs.items()]
    asked = [
        CreatableTopic(name, partitions or -1, replicas or -1, [], settings)
        for name in dict.fromkeys(names)
    ]
    request = CreateTopicsRequest(asked, CHANGE_WITHIN_MS, dry_run)
    made, refused = [], []
    for one in cluster.call(request, CreateTopicsResponse).topics:
        if not one.error_code:
            made.append((one.name, one.num_partitions, one.replication_factor))
        elif not (if_not_exists and one.error_code == ErrorCode.TOPIC_ALREADY_EXISTS):
            refused.append(f"topic {one.name}: {_not_made(one.error_code, one.error_message)}")
    if refused:
        also = f" ({', '.join(name for name, *_ in made)} made)" if made and not dry_run else ""
        raise Refused("; ".join(refused) + also)
    return made


def delete(cluster: Cluster, names: Sequence[str], *, if_exists: bool = False) -> list[str]:
    """Remove topics and all that they hold; the names of those removed. Raises Refused."""
    from protocol.messages.delete_topics import (
        DeleteTopicsRequest,
        DeleteTopicsResponse,
        DeleteTopicState,
    )

    wanted = list(dict.fromkeys(names))
    request = DeleteTopicsRequest(
        [DeleteTopicState(name) for name in wanted], wanted, CHANGE_WITHIN_MS
    )
    gone, refused = [], []
    for one in cluster.call(request, DeleteTopicsResponse).responses:
        name = one.name or ""
        if not one.error_code:
            gone.append(name)
        elif one.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            if not if_exists:
                refused.append(f"no topic {name} (ottla topic list shows all)")
        elif one.error_code == ErrorCode.TOPIC_DELETION_DISABLED:
            refused.append(f"topic {name}: the cluster has delete.topic.enable=false")
        else:
            reason = why(one.error_code, one.error_message, f"Delete on topic {name}")
            refused.append(f"topic {name}: {reason}")
    if refused:
        raise Refused("; ".join(refused) + (f" ({', '.join(gone)} deleted)" if gone else ""))
    return gone


def add_partitions(cluster: Cluster, name: str, count: int, *, dry_run: bool = False) -> None:
    """Let a topic have `count` partitions, more than it has. Raises Refused."""
    from protocol.messages.create_partitions import (
        CreatePartitionsRequest,
        CreatePartitionsResponse,
        CreatePartitionsTopic,
    )

    request = CreatePartitionsRequest(
        [CreatePartitionsTopic(name, count, None)], CHANGE_WITHIN_MS, dry_run
    )
    for one in cluster.call(request, CreatePartitionsResponse).results:
        if one.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise Refused(f"no topic {name} (ottla topic list shows all)")
        if one.error_code == ErrorCode.INVALID_PARTITIONS and one.error_message:
            raise Refused(f"topic {name}: {one.error_message} Partitions are never taken away")
        if one.error_code:
            reason = why(one.error_code, one.error_message, f"Alter on topic {name}")
            raise Refused(f"topic {name}: {reason}")


def check_names(names: Sequence[str]) -> None:
    """Raises StartError for what no topic can be called."""
    for name in names:
        legal = name and all(one.isascii() and (one.isalnum() or one in "._-") for one in name)
        if not legal or name in (".", "..") or len(name) > 249:
            raise StartError(
                f"a topic cannot be called {name!r}: use up to 249 letters, digits, '.', '_' and "
                "'-'"
            )


def _not_made(code: int, message: str | None) -> str:
    if code == ErrorCode.TOPIC_ALREADY_EXISTS:
        return "it exists already (ottla topic describe shows it; --if-not-exists lets it be)"
    known = (
        ErrorCode.INVALID_CONFIG,
        ErrorCode.INVALID_PARTITIONS,
        ErrorCode.INVALID_REPLICATION_FACTOR,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.POLICY_VIOLATION,
    )
    if code in known and message:
        return message + advice_on(message)
    return why(code, message, "Create on it")


def _policies(cluster: Cluster, names: Sequence[str]) -> dict[str, str]:
    """How each topic is cleaned; nothing for who may not see configs."""
    if not names:
        return {}
    try:
        found = configs_by_name(cluster, TOPIC, names, [_CLEANUP])
    except Refused:
        return {}
    return {name: configs[0].value or "" for name, configs in found.items() if configs}


def _ids(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))


def _index(one: MetadataResponsePartition) -> int:
    return one.partition_index
