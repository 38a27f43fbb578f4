"""What one Fetch may read: for a consumer topic by topic, for a follower all or nothing.

Owns the verdicts of one request, and that they are asked for anew when it has waited and they may
be others (`Rights.stand_since`). All partitions of a session are judged at each fetch, also those
that the request does not name.

Follows `handleFetchRequest` of Kafka's `KafkaApis` 4.3, which judges once, when the request comes.
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
    """Of whoever sent one Fetch."""

    def judge(self, keys: Collection[FetchKey], pace: Pace) -> Steps[bool]:
        """Ask about all of these partitions; whether all may be told of."""

    def may_read(self, wanted: FetchPartition) -> bool:
        """Whether this one may be told of. Yes where there is no such topic: that is told."""

    def renew(self) -> None:
        """It has waited: let what may be judged otherwise now be judged anew."""


class ConsumerRights:
    """READ on each topic."""

    def __init__(self, rights: Rights, replicas: ReplicaManager) -> None:
        self._rights = rights
        self._replicas = replicas
        self._epoch = rights.epoch
        self._may_read: dict[bytes | str, bool] = {}
        """By the topic's name or id, as the request has it."""

    def judge(self, keys: Collection[FetchKey], pace: Pace) -> Steps[bool]:
        """See `FetchRights`."""
        # A session may have many partitions: little is done for each.
        indexes: dict[bytes | str, list[int]] = {}
        for topic, index in keys:
            if pace.is_full():
                yield None
            indexes.setdefault(topic, []).append(index)
        topics = iter(indexes.items())
        all_allowed = True
        while some := list(islice(topics, PIECES_AT_ONCE)):
            if pace.is_full(len(some)):
                yield None
            all_allowed = self._judge(some) and all_allowed
        return all_allowed

    def _judge(self, topics: Iterable[tuple[bytes | str, list[int]]]) -> bool:
        """Ask about some topics, each with its partitions; whether all may be told of."""
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
        """See `FetchRights`."""
        topic = wanted.key[0]
        if topic not in self._may_read:
            self._judge([(topic, [wanted.key[1]])])
        return self._may_read.get(topic, True)

    def renew(self) -> None:
        """See `FetchRights`."""
        if not self._rights.stand_since(self._epoch):
            self._epoch = self._rights.epoch
            self._may_read.clear()

    def _name_of(self, topic: bytes | str, indexes: Iterable[int]) -> str | None:
        """Return the name of a topic of which these partitions are asked for; None: it has none."""
        if isinstance(topic, str):
            return topic
        known = self._replicas.image.topics.get_by_id(topic)
        if known is not None:
            return known.name
        for index in indexes:  # it may be on its way out
            partition = self._replicas.partition_by_id(topic, index)
            if partition is not None:
                return partition.topic
        return None


class FollowerRights:
    """CLUSTER_ACTION on the cluster: it reads all, or nothing."""

    def __init__(self, rights: Rights, allowed_as_of: int | None = None) -> None:
        """`allowed_as_of`: the epoch of the judgement by which this fetch is allowed already."""
        self._rights = rights
        self._epoch = rights.epoch if allowed_as_of is None else allowed_as_of
        self._allowed: bool | None = None if allowed_as_of is None else True

    def judge(self, keys: Collection[FetchKey], pace: Pace) -> Steps[bool]:
        """See `FetchRights`."""
        yield from ()
        return self._is_allowed()

    def may_read(self, wanted: FetchPartition) -> bool:
        """See `FetchRights`."""
        return self._is_allowed()

    def renew(self) -> None:
        """See `FetchRights`."""
        if not self._rights.stand_since(self._epoch):
            self._epoch = self._rights.epoch
            self._allowed = None

    def _is_allowed(self) -> bool:
        if self._allowed is None:
            self._allowed = self._rights.allows_on_cluster(Operation.CLUSTER_ACTION)
        return self._allowed
