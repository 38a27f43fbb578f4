"""The checks that ShareFetch and ShareAcknowledge have in common, before a session is looked up.

Owns nothing. The order of the checks decides which error a client gets. Follows Kafka's `KafkaApis`
(KIP-932).
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import RequestContext
from broker.share.share_partition_manager import SharePartitionManager
from controller.authorization.rights import Rights
from controller.requests.rights import allowed_in_slices
from ground.sliced_work import Steps
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode

MEMBER_ID_MAX = 36
"""The most characters of a member id: those of a UUID."""


def refusal_of(
    manager: SharePartitionManager,
    context: RequestContext,
    group_id: str | None,
    member_id: str | None,
) -> ErrorCode | None:
    """Return why a member's request is rejected, None if it may go on.

    UNSUPPORTED_VERSION: the cluster has no share groups. INVALID_REQUEST: no group id, or a wrong
    member id. GROUP_AUTHORIZATION_FAILED: no READ on the group.
    """
    if not manager.is_enabled:
        return ErrorCode.UNSUPPORTED_VERSION
    if group_id is None:
        return ErrorCode.INVALID_REQUEST
    if not context.rights.allows(Operation.READ, Resource.GROUP, group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    if not member_id or len(member_id) > MEMBER_ID_MAX:
        return ErrorCode.INVALID_REQUEST
    return None


def readable_topics(
    rights: Rights, replicas: ReplicaManager, topic_ids: Iterable[bytes]
) -> Steps[Container[str]]:
    """Return the names of those topics that the member may READ; topics that do not exist are left
    out. `topic_ids` may repeat an id."""
    topics = replicas.image.topics
    names = [
        topic.name for topic_id in topic_ids if (topic := topics.get_by_id(topic_id)) is not None
    ]
    return (yield from allowed_in_slices(rights, Operation.READ, Resource.TOPIC, names))
