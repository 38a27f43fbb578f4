"""The rights of one Fetch: for a consumer topic by topic, for a follower all or nothing.

Owns the authorizer's answers for one request. After a wait the authorizer is asked again if its
answers may have changed (`Rights.stand_since`). Each fetch checks all partitions of its session,
also those that the request does not name.

Follows `handleFetchRequest` of Kafka's `KafkaApis`, which checks only when the request arrives.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice
from typing import Protocol

from broker.replication.fetch_session import FetchKey, FetchPartition
from broker.replication.replica_manager import ReplicaManager
from controller.authorization.rights import Rights
from ground.sliced_work import PIECES_AT_ONCE, Pace, Steps
from ottla.plugins.authorizer import Operation, Resource


class FetchRights(Protocol):
    """The rights of the sender of one Fetch."""

    def judge(self, keys: Collection[FetchKey], pace: Pace) -> Steps[bool]:
        """Ask the authorizer about all of these partitions, and return whether the sender may read
        all of them."""

    def may_read(self, wanted: FetchPartition) -> bool:
        """Return whether the sender may read this partition.

        True if the topic does not exist, because the response then reports that.
        """

    def renew(self) -> None:
        """Forget answers that may have changed while the fetch waited. Later checks ask the
        authorizer again."""


class ConsumerRights:
    """READ on each topic (`FetchRights`)."""

    def __init__(self, rights: Rights, replicas: ReplicaManager) -> None:
        self._rights = rights
        self._replicas = replicas
        self._epoch = rights.epoch
        self._may_read: dict[bytes | str, bool] = {}
        """The authorizer's answers, by the topic's name or id as the request has it."""

    def judge(self, keys: Collection[FetchKey], pace: Pace) -> Steps[bool]:
        """Judge partitions, and return True if all may be read. The verdicts are kept for
        `may_read`.
        """
        # A session may have many partitions, so the work for each is kept small.
        indexes: dict[bytes | str, list[int]] = {}
        for topic, index in keys:
            if pace.is_full():
                yield None
            indexes.setdefault(topic, []).append(index)
        topics = iter(indexes.items())
        all_allowed = True
        while slice_topics := list(islice(topics, PIECES_AT_ONCE)):
            if pace.is_full(len(slice_topics)):
                yield None
            all_allowed = self._judge(slice_topics) and all_allowed
        return all_allowed

    def _judge(self, topics: Iterable[tuple[bytes | str, list[int]]]) -> bool:
        """Ask the authorizer about these topics, and keep its verdicts. Return whether all of them
        may be read."""
        names: dict[bytes | str, str] = {}
        counts: dict[str, int] = {}
        for topic, indexes in topics:
            name = self._name_of(topic, indexes)
            if name is not None:
                names[topic] = name
                counts[name] = counts.get(name, 0) + len(indexes)
        allowed = self._rights.allowed_of(Operation.READ, Resource.TOPIC, counts)
        for topic, name in names.items():
            self._may_read[topic] = name in allowed
        return len(allowed) == len(counts)

    def may_read(self, wanted: FetchPartition) -> bool:
        """Return the kept verdict on the topic; a new topic is judged first. True if the topic id
        is unknown."""
        topic = wanted.key[0]
        if topic not in self._may_read:
            self._judge([(topic, [wanted.key[1]])])
        return self._may_read.get(topic, True)

    def renew(self) -> None:
        """Drop all verdicts if the client's rights have changed since."""
        if not self._rights.stand_since(self._epoch):
            self._epoch = self._rights.epoch
            self._may_read.clear()

    def _name_of(self, topic: bytes | str, indexes: Iterable[int]) -> str | None:
        """Return the topic's name; None if neither the image nor these partitions have it."""
        if isinstance(topic, str):
            return topic
        topic_image = self._replicas.image.topics.get_by_id(topic)
        if topic_image is not None:
            return topic_image.name
        for index in indexes:  # a topic that is being deleted may still have replicas here
            partition = self._replicas.partition_by_id(topic, index)
            if partition is not None:
                return partition.topic
        return None


class FollowerRights:
    """CLUSTER_ACTION on the cluster, for all partitions or none (`FetchRights`)."""

    def __init__(self, rights: Rights, allowed_as_of: int | None = None) -> None:
        """`allowed_as_of` is the epoch of the rights by which this fetch is allowed already."""
        self._rights = rights
        self._epoch = rights.epoch if allowed_as_of is None else allowed_as_of
        self._allowed: bool | None = None if allowed_as_of is None else True

    def judge(self, keys: Collection[FetchKey], pace: Pace) -> Steps[bool]:
        """Return True if the follower has CLUSTER_ACTION, the right to all partitions."""
        yield from ()
        return self._is_allowed()

    def may_read(self, wanted: FetchPartition) -> bool:
        """Return whether the follower has CLUSTER_ACTION, whatever the partition."""
        return self._is_allowed()

    def renew(self) -> None:
        """Drop the verdict if the follower's rights have changed since."""
        if not self._rights.stand_since(self._epoch):
            self._epoch = self._rights.epoch
            self._allowed = None

    def _is_allowed(self) -> bool:
        """Return the kept verdict on CLUSTER_ACTION; ask the authorizer if there is none."""
        if self._allowed is None:
            self._allowed = self._rights.allows_on_cluster(Operation.CLUSTER_ACTION)
        return self._allowed
