"""The rights of the console's login on the files of this machine, by the ACLs of the cluster.

Files have no ACLs, so the console asks the cluster first. DESCRIBE on a topic allows sizes,
segments and indexes; READ also allows batches, records and bytes. `__cluster_metadata` is not a
topic, so DESCRIBE on the cluster allows all of it.

Owns the answers of the last seconds. Follows KIP-430 (authorized operations).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from client.cluster import ClusterClient
from client.refusals import Refused
from console.segments.kept_answers import KeptAnswers
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode
from protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

METADATA_LOG = "__cluster_metadata"
KEPT_S = 2.0
KEPT_TOPICS_MAX = 1_000
_NO_TOPIC_ID = bytes(16)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The rights of the login on a topic. `topic_id` is None if the cluster reports none."""

    describe: bool
    read: bool
    describe_configs: bool = False
    topic_id: bytes | None = None


NOTHING = Allowed(describe=False, read=False)


def of_operations(bits: int, topic_id: bytes | None) -> Allowed:
    """Return the rights in the bits of authorized operations.

    A negative number means that the broker did not report them: then nothing is allowed.
    """

    def has(operation: Operation) -> bool:
        return bits >= 0 and bool(bits >> operation & 1)

    described = has(Operation.DESCRIBE)
    return Allowed(
        described,
        described and has(Operation.READ),
        has(Operation.DESCRIBE_CONFIGS),
        topic_id if topic_id != _NO_TOPIC_ID else None,
    )


class SegmentRights:
    """The rights of the console's login, read from the cluster and kept for KEPT_S."""

    def __init__(
        self,
        cluster: Callable[[], AbstractContextManager[ClusterClient]],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._all = KeptAnswers(self._ask_all, KEPT_S, 1, now)
        self._topics = KeptAnswers(self._ask_topic, KEPT_S, KEPT_TOPICS_MAX, now)
        self._cluster_id: str | None = None

    def cluster_id(self) -> str | None:
        """Return the id of the cluster. Raises StartError."""
        if self._cluster_id is None:
            self._ask([])
        return self._cluster_id

    def on_all(self) -> dict[str, Allowed]:
        """Return the rights by topic, of the metadata log too, from one Metadata request.

        Raises StartError.
        """
        return self._all.of(None)

    def on(self, topic: str) -> Allowed:
        """Return the rights on a topic. Raises StartError."""
        return self._topics.of(topic)

    def _ask_all(self, _: None) -> dict[str, Allowed]:
        rights = self._ask(None)
        rights[METADATA_LOG] = self._on_metadata_log()
        return rights

    def _ask_topic(self, topic: str) -> Allowed:
        if topic == METADATA_LOG:
            return self._on_metadata_log()
        return self._ask([topic]).get(topic, NOTHING)

    def _ask(self, names: list[str] | None) -> dict[str, Allowed]:
        topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
        request = MetadataRequest(
            topics, allow_auto_topic_creation=False, include_topic_authorized_operations=True
        )
        with self._cluster() as cluster:
            answer = cluster.call(request, MetadataResponse)
        self._cluster_id = answer.cluster_id
        return {topic.name or "": _of(topic) for topic in answer.topics}

    def _on_metadata_log(self) -> Allowed:
        request = DescribeClusterRequest(include_cluster_authorized_operations=True)
        with self._cluster() as cluster:
            answer = cluster.call(request, DescribeClusterResponse)
        if answer.error_code:
            return NOTHING
        own = of_operations(answer.cluster_authorized_operations, None)
        return Allowed(own.describe, own.describe)


def _of(topic: MetadataResponseTopic) -> Allowed:
    if topic.error_code not in (ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE):
        return NOTHING
    return of_operations(topic.topic_authorized_operations, topic.topic_id)


def check_describe(allowed: Allowed, topic: str) -> None:
    """Check the right to describe. Raises Refused, in the same words for a missing topic."""
    if not allowed.describe:
        raise Refused(f"no topic {topic} exists, or the console's login needs Describe on it")


def check_read(allowed: Allowed, topic: str) -> None:
    """Check the rights to describe and to read. Raises Refused."""
    check_describe(allowed, topic)
    if not allowed.read:
        raise Refused(
            f"topic {topic}: to show batches, records and bytes, the console's login needs Read on "
            "the topic"
        )
