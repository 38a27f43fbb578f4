"""Metadata's answers made in one go, of messages alone: the broker's must be equal to them."""

from __future__ import annotations

from collections.abc import Iterator

from broker.apis.auto_topic_creation import AutoTopicCreation
from broker.apis.cluster_view import (
    NO_BROKER,
    OPERATIONS_NOT_ASKED,
    ClusterView,
    ImageSource,
)
from broker.apis.metadata import refuse_metadata
from broker.requests.context import RequestContext, Respond
from controller.authorization.rights import Rights
from controller.metadata.image import MetadataImage, PartitionRegistration, TopicImage
from controller.metadata.topic_names import is_internal, topic_name_fault
from ground.sliced_work import in_one_go
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.primitives import ZERO_UUID

TOPIC_IDS_FROM = 12
LISTENER_ERRORS_FROM = 6
CLUSTER_OPERATIONS_IN = (8, 10)


class PlainMetadata:
    """As `broker.apis.metadata.MetadataApi`, with nothing kept and in one piece."""

    def __init__(
        self,
        metadata: ImageSource,
        cluster_id: str,
        node_id: int,
        auto_create_topics_enable: bool,
        auto_creation: AutoTopicCreation,
    ) -> None:
        self._metadata = metadata
        self._cluster_id = cluster_id
        self._node_id = node_id
        self._auto_create_topics_enable = auto_create_topics_enable
        self._auto_creation = auto_creation

    def handle(self, context: RequestContext, request: MetadataRequest, respond: Respond) -> None:
        version = context.api_version
        if _is_malformed(request.topics or [], version):
            respond(refuse_metadata(request, ErrorCode.INVALID_REQUEST))
            return
        image = self._metadata.image
        view = ClusterView(image, context.listener_name)
        topics, refused = self._topics(context, request, image, view)
        if request.include_topic_authorized_operations:
            for topic in topics:
                if topic.name is not None:  # whatever is wrong with it
                    bits = context.rights.operations(Resource.TOPIC, topic.name)
                    topic.topic_authorized_operations = bits
        low, high = CLUSTER_OPERATIONS_IN
        operations_asked = request.include_cluster_authorized_operations and low <= version <= high
        respond(
            MetadataResponse(
                brokers=[
                    MetadataResponseBroker(one.id, one.host, one.port, one.rack)
                    for one in view.lasting_brokers(_leaders(topics))
                ],
                cluster_id=self._cluster_id,
                controller_id=view.controller_id(self._node_id),
                topics=topics + refused,
                cluster_authorized_operations=(
                    context.rights.operations_on_cluster()
                    if operations_asked
                    else OPERATIONS_NOT_ASKED
                ),
            )
        )

    def _topics(
        self,
        context: RequestContext,
        request: MetadataRequest,
        image: MetadataImage,
        view: ClusterView,
    ) -> tuple[list[MetadataResponseTopic], list[MetadataResponseTopic]]:
        """What is told of topics, and those that the sender may not describe or create."""
        version = context.api_version
        asked = request.topics
        if asked is None or (version == 0 and not asked):
            shown = _all_topics(context.rights, image)
            return [_described(one, view, version) for one in shown], []
        ids = [one.topic_id for one in asked if one.topic_id != ZERO_UUID]
        if ids:
            # A request by id is one by id altogether, as in Kafka.
            return _by_ids(list(dict.fromkeys(ids)), context, image, view)
        names = list(dict.fromkeys(one.name or "" for one in asked))
        may_describe = context.rights.allowed(Operation.DESCRIBE, Resource.TOPIC, names)
        hidden = [_refused(name) for name in names if name not in may_describe]
        names = [name for name in names if name in may_describe]
        missing = [name for name in names if image.topics.get(name) is None]
        errors = self._errors(context, request, missing)
        topics: list[MetadataResponseTopic] = []
        uncreated: list[MetadataResponseTopic] = []
        for name in names:
            topic = image.topics.get(name)
            if topic is not None:
                topics.append(_described(topic, view, version))
                continue
            absent = MetadataResponseTopic(int(errors[name]), name, is_internal=is_internal(name))
            denied = absent.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
            (uncreated if denied else topics).append(absent)
        return topics, uncreated + hidden

    def _errors(
        self, context: RequestContext, request: MetadataRequest, missing: list[str]
    ) -> dict[str, ErrorCode]:
        """What to say of topics that do not exist; those that may be are on their way then."""
        if missing and self._auto_create_topics_enable and request.allow_auto_topic_creation:
            may_create = _creatable(context.rights, missing)
            wanted = [name for name in missing if name in may_create]
            errors = dict.fromkeys(missing, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            return errors | in_one_go(self._auto_creation.create(wanted, may_create, context))
        return {
            name: (
                ErrorCode.INVALID_TOPIC_EXCEPTION
                if topic_name_fault(name)
                else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
            for name in missing
        }


def _creatable(rights: Rights, names: list[str]) -> set[str]:
    if rights.allows_on_cluster(Operation.CREATE, audited=False):
        return set(names)
    return rights.allowed(Operation.CREATE, Resource.TOPIC, names)


def _all_topics(rights: Rights, image: MetadataImage) -> list[TopicImage]:
    """Those that may be described; of the others nobody hears."""
    topics = image.topics.by_name
    if rights.unlimited:
        return list(topics.values())
    shown = rights.allowed(Operation.DESCRIBE, Resource.TOPIC, topics, audited=False)
    return [topic for name, topic in topics.items() if name in shown]


def _refused(name: str | None, topic_id: bytes = ZERO_UUID) -> MetadataResponseTopic:
    return MetadataResponseTopic(int(ErrorCode.TOPIC_AUTHORIZATION_FAILED), name, topic_id)


def _leaders(topics: list[MetadataResponseTopic]) -> Iterator[int]:
    return (partition.leader_id for topic in topics for partition in topic.partitions)


def _is_malformed(topics: list[MetadataRequestTopic], version: int) -> bool:
    for topic in topics:
        if version < TOPIC_IDS_FROM:
            if topic.name is None or topic.topic_id != ZERO_UUID:
                return True
        elif topic.name is None and topic.topic_id == ZERO_UUID:
            return True
    return False


def _by_ids(
    ids: list[bytes], context: RequestContext, image: MetadataImage, view: ClusterView
) -> tuple[list[MetadataResponseTopic], list[MetadataResponseTopic]]:
    """As `PlainMetadata._topics`. That an id is somebody's is no secret."""
    found = [(topic_id, image.topics.get_by_id(topic_id)) for topic_id in ids]
    names = [topic.name for _, topic in found if topic is not None]
    may_describe = context.rights.allowed(Operation.DESCRIBE, Resource.TOPIC, names)
    topics, refused = [], []
    for topic_id, topic in found:
        if topic is None:
            topics.append(MetadataResponseTopic(int(ErrorCode.UNKNOWN_TOPIC_ID), None, topic_id))
        elif topic.name in may_describe:
            topics.append(_described(topic, view, context.api_version))
        else:
            refused.append(_refused(None, topic_id))
    return topics, refused


def _described(topic: TopicImage, view: ClusterView, version: int) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        0,
        topic.name,
        topic.id,
        is_internal(topic.name),
        [
            _partition(index, partition, view, version)
            for index, partition in topic.partitions.items()
        ],
    )


def _partition(
    index: int, partition: PartitionRegistration, view: ClusterView, version: int
) -> MetadataResponsePartition:
    replicas, isr = list(partition.replicas), list(partition.isr)
    error = ErrorCode.NONE
    if version == 0:
        replicas, isr = view.live(replicas), view.live(isr)
        if len(replicas) < len(partition.replicas) or len(isr) < len(partition.isr):
            error = ErrorCode.REPLICA_NOT_AVAILABLE
    leader = partition.leader
    if view.address(leader) is None:
        elsewhere = version >= LISTENER_ERRORS_FROM and view.is_registered(leader)
        error = ErrorCode.LISTENER_NOT_FOUND if elsewhere else ErrorCode.LEADER_NOT_AVAILABLE
        leader = NO_BROKER
    return MetadataResponsePartition(
        int(error),
        index,
        leader,
        partition.leader_epoch,
        replicas,
        isr,
        view.offline_replicas(partition),
    )
