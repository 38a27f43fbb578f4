"""Metadata: v0-13.

Behaviour: returns brokers and topics as a client of the connection's listener sees them. A topic
that does not exist is created if the client and `auto.create.topics.enable` allow it; meanwhile the
client gets UNKNOWN_TOPIC_OR_PARTITION and retries. A partition without a reachable leader is
LEADER_NOT_AVAILABLE, or from v6 on LISTENER_NOT_FOUND if the leader is not on this listener. The
`controller_id` is this broker, which forwards admin requests (KIP-590).

A broker in a controlled shutdown is left out as soon as it leads no requested partition (Kafka
names it until it is gone). Some clients ask the broker with the fewest requests in flight for
metadata. That would be the broker that is gone, so these clients would not learn of the new
leaders.

Rights: DESCRIBE on each topic. A denied topic is TOPIC_AUTHORIZATION_FAILED, whether it exists or
not. It is answered without its id or, if it was requested by id, without its name. If all topics
were requested, it is left out. Creating a topic needs CREATE on the cluster or on the topic,
otherwise it is TOPIC_AUTHORIZATION_FAILED as well. No right is needed to see the brokers.

Versions: in v0 an empty list of topics means all topics; from v1 on, null means all and an empty
list none. v1 racks, controller id, internal topics; v2 cluster id; v4 the client may forbid
creation; v5 offline replicas; v7 leader epochs; v8 authorized operations (those of the cluster
until v10); v9 flexible; v10 topic ids in responses; v12 requests by topic id (KIP-516); v13 an
error for the whole response. In v0, unreachable replicas are left out and the partition's error is
REPLICA_NOT_AVAILABLE.
"""

from __future__ import annotations

from collections.abc import Iterable

from broker.apis.auto_topic_creation import AutoTopicCreation
from broker.apis.cluster_view import (
    OPERATIONS_NOT_ASKED,
    ClusterView,
    ImageSource,
)
from broker.apis.encoded_topics import EncodedTopics, KindOfAnswer
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.authorization.rights import Rights
from controller.metadata.image import MetadataImage, TopicImage
from controller.metadata.topic_names import is_internal, topic_name_fault
from controller.requests.rights import allowed_in_slices, creatable_in_slices
from ground.sliced_work import PIECES_AT_ONCE, Pace, Steps, each, in_bulk
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.encoded_items import Items
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from protocol.primitives import ZERO_UUID

TOPIC_IDS_FROM = 12
CLUSTER_OPERATIONS_IN = (8, 10)
WITH_OPERATIONS = 8
"""The pieces of work (`Pace`) that a topic's authorized operations count as."""


class MetadataApi:
    """The handler of Metadata."""

    def __init__(
        self,
        metadata: ImageSource,
        cluster_id: str,
        node_id: int,
        auto_create_topics_enable: bool,
        auto_creation: AutoTopicCreation,
        encoded: EncodedTopics,
        answers: SlicedAnswers,
    ) -> None:
        self._metadata = metadata
        self._cluster_id = cluster_id
        self._node_id = node_id
        self._auto_create_topics_enable = auto_create_topics_enable
        self._auto_creation = auto_creation
        self._encoded = encoded
        self._answers = answers

    def apis(self) -> list[Api]:
        return [Api(ApiKey.METADATA, 0, 13, self.handle, refuse_metadata)]

    def handle(self, context: RequestContext, request: MetadataRequest, respond: Respond) -> None:
        """Respond with the brokers and topics of the current metadata image, as the client's
        listener and rights show them. Begin to create missing topics if that is allowed."""
        steps = self._answer(context, request, self._metadata.image)
        self._answers.give(context, request, steps, respond, refuse_metadata)

    def _answer(
        self, context: RequestContext, request: MetadataRequest, image: MetadataImage
    ) -> Steps[MetadataResponse]:
        """Return the response as of `image`, in slices, also if a newer image comes between them. A
        malformed request is INVALID_REQUEST for all.

        Begin to create missing topics if that is allowed.
        """
        version = context.api_version
        if (yield from _is_malformed(request.topics or [], version)):
            return refuse_metadata(request, ErrorCode.INVALID_REQUEST)
        view = ClusterView(image, context.listener_name)
        topics = _TopicAnswers(
            self._encoded, context, image, view, request.include_topic_authorized_operations
        )
        yield from self._add_topics(context, request, image, topics)
        low, high = CLUSTER_OPERATIONS_IN
        operations_asked = request.include_cluster_authorized_operations and low <= version <= high
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(broker.id, broker.host, broker.port, broker.rack)
                for broker in view.lasting_brokers(topics.leaders)
            ],
            cluster_id=self._cluster_id,
            controller_id=view.controller_id(self._node_id),
            topics=topics.topics.array(),
            cluster_authorized_operations=(
                context.rights.operations_on_cluster() if operations_asked else OPERATIONS_NOT_ASKED
            ),
        )

    def _add_topics(
        self,
        context: RequestContext,
        request: MetadataRequest,
        image: MetadataImage,
        answers: _TopicAnswers,
    ) -> Steps[None]:
        """Add the requested topics, or all, to `answers`. Begin to create missing ones if allowed.
        If any is given by id, ignore names, as Kafka does."""
        requested, rights = request.topics, context.rights
        if requested is None or (context.api_version == 0 and not requested):
            yield from _add_all_topics(rights, image, answers)
            return
        ids: dict[bytes, None] = {}
        names: dict[str, None] = {}
        yield from in_bulk(
            lambda slice_topics: ids.update(
                (requested_topic.topic_id, None) for requested_topic in slice_topics
            ),
            requested,
        )
        ids.pop(ZERO_UUID, None)
        if ids:
            yield from _add_topics_by_id(ids, rights, image, answers)
            return
        yield from in_bulk(
            lambda slice_topics: names.update(
                (requested_topic.name or "", None) for requested_topic in slice_topics
            ),
            requested,
        )
        may_describe = yield from allowed_in_slices(
            rights, Operation.DESCRIBE, Resource.TOPIC, names
        )
        missing: list[str] = []
        yield from in_bulk(
            lambda slice_topics: missing.extend(
                name
                for name in slice_topics
                if name in may_describe and image.topics.get(name) is None
            ),
            names,
        )
        errors = yield from self._errors(context, request, missing)
        hidden, uncreated = [], []
        for name in names:
            topic = image.topics.get(name)
            if name not in may_describe:
                hidden.append(name)
            elif topic is not None:
                yield from answers.topic(topic)
            elif errors[name] is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                uncreated.append(name)
            else:
                yield from answers.absent(errors[name], name)
        for name in uncreated:
            yield from answers.refused(name, internal=is_internal(name))
        for name in hidden:
            yield from answers.refused(name)

    def _errors(
        self, context: RequestContext, request: MetadataRequest, missing: list[str]
    ) -> Steps[dict[str, ErrorCode]]:
        """Return the errors of topics that do not exist, by name, and begin to create those that
        may be created."""
        if missing and self._auto_create_topics_enable and request.allow_auto_topic_creation:
            may_create = yield from creatable_in_slices(context.rights, missing)
            return (yield from self._auto_creation.create(missing, may_create, context))
        errors: dict[str, ErrorCode] = {}
        yield from each(
            lambda name: errors.update({name: _error_if_absent(name)}), missing, PIECES_AT_ONCE
        )
        return errors


def _error_if_absent(name: str) -> ErrorCode:
    """Return the error of a topic that does not exist."""
    return (
        ErrorCode.INVALID_TOPIC_EXCEPTION
        if topic_name_fault(name)
        else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )


class _TopicAnswers:
    """The topics of one response."""

    __slots__ = (
        "_context",
        "_encoded",
        "_image",
        "_kinds",
        "_pace",
        "_view",
        "_with_operations",
        "leaders",
        "topics",
    )

    def __init__(
        self,
        encoded: EncodedTopics,
        context: RequestContext,
        image: MetadataImage,
        view: ClusterView,
        with_operations: bool,
    ) -> None:
        self._encoded = encoded
        self._context = context
        self._image = image
        self._view = view
        self._with_operations = with_operations
        self._pace = Pace()
        self._kinds: dict[int, KindOfAnswer] = {}
        self.topics = Items[MetadataResponseTopic](context.api_version)
        self.leaders: set[int] = set()
        """The leaders of these topics' partitions; noted only while a broker is leaving."""

    def _authorized_operations(self, name: str) -> int:
        """Return the operations on the topic that the sender may do, as bits; OPERATIONS_NOT_ASKED
        if they are not requested."""
        if not self._with_operations:
            return OPERATIONS_NOT_ASKED
        return self._context.rights.operations(Resource.TOPIC, name)

    def _kind_of_answer(self, operations: int) -> KindOfAnswer:
        """Return the encoded topics for this client's listener, version and operations; cached."""
        kind = self._kinds.get(operations)
        if kind is None:
            listener, version = self._context.listener_name, self._context.api_version
            kind = self._encoded.kind(self._image, listener, version, operations)
            self._kinds[operations] = kind
        return kind

    def _note_leaders(self, topic: TopicImage) -> None:
        """Add the leaders of the topic's partitions to `leaders`."""
        self.leaders.update([partition.leader for partition in topic.partitions.values()])

    def all_topics(self) -> Steps[None]:
        """Add all topics of the image to the response, for a sender with unlimited rights."""
        topics, version = self._image.topics, self._context.api_version
        operations = self._authorized_operations("")
        data = yield from self._encoded.all_topics(
            self._kind_of_answer(operations), topics, self._view, version, operations
        )
        self.topics.add_encoded(data, len(topics.by_name))
        if self._view.has_leaving_broker:
            for topic in topics.by_name.values():
                if self._pace.is_full():
                    yield None
                self._note_leaders(topic)

    def topic(self, topic: TopicImage) -> Steps[None]:
        """Add a topic that the sender may DESCRIBE to the response. While a broker is leaving, add
        its leaders to `leaders`."""
        if self._pace.is_full(WITH_OPERATIONS if self._with_operations else 1):
            yield None
        operations = self._authorized_operations(topic.name)
        self.topics.add_encoded(
            (
                yield from self._encoded.topic(
                    self._kind_of_answer(operations),
                    topic,
                    self._view,
                    self._context.api_version,
                    operations,
                    self._pace,
                )
            )
        )
        if self._view.has_leaving_broker:
            self._note_leaders(topic)

    def absent(self, error: ErrorCode, name: str) -> Steps[None]:
        """Add to the response a topic that does not exist, with its error."""
        if self._pace.is_full(WITH_OPERATIONS if self._with_operations else 1):
            yield None
        operations = self._authorized_operations(name)  # whatever the error is
        internal = is_internal(name)
        self.topics.add(
            MetadataResponseTopic(int(error), name, ZERO_UUID, internal, [], operations)
        )

    def unknown_id(self, topic_id: bytes) -> Steps[None]:
        """Add UNKNOWN_TOPIC_ID for a topic id that no topic has."""
        if self._pace.is_full():
            yield None
        self.topics.add(MetadataResponseTopic(int(ErrorCode.UNKNOWN_TOPIC_ID), None, topic_id))

    def refused(
        self, name: str | None, topic_id: bytes = ZERO_UUID, *, internal: bool = False
    ) -> Steps[None]:
        """Add TOPIC_AUTHORIZATION_FAILED for a topic that the sender may not DESCRIBE, or may not
        create."""
        if self._pace.is_full():
            yield None
        error = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        self.topics.add(MetadataResponseTopic(error, name, topic_id, internal))


def _add_all_topics(rights: Rights, image: MetadataImage, answers: _TopicAnswers) -> Steps[None]:
    """Add all topics that the sender may DESCRIBE; the others are left out."""
    if rights.unlimited:
        yield from answers.all_topics()
        return
    topics = image.topics.by_name
    shown = yield from allowed_in_slices(
        rights, Operation.DESCRIBE, Resource.TOPIC, topics, audited=False
    )
    for name, topic in topics.items():
        if name in shown:
            yield from answers.topic(topic)


def _add_topics_by_id(
    ids: Iterable[bytes], rights: Rights, image: MetadataImage, answers: _TopicAnswers
) -> Steps[None]:
    """Add topics that are requested by id. Whether an id exists needs no right."""
    names: list[str] = []
    yield from in_bulk(
        lambda slice_ids: names.extend(
            topic.name
            for requested_id in slice_ids
            if (topic := image.topics.get_by_id(requested_id)) is not None
        ),
        ids,
    )
    may_describe = yield from allowed_in_slices(rights, Operation.DESCRIBE, Resource.TOPIC, names)
    refused = []
    for topic_id in ids:
        topic = image.topics.get_by_id(topic_id)
        if topic is None:
            yield from answers.unknown_id(topic_id)
        elif topic.name in may_describe:
            yield from answers.topic(topic)
        else:
            refused.append(topic_id)
    for topic_id in refused:
        yield from answers.refused(None, topic_id)


def _is_malformed(topics: list[MetadataRequestTopic], version: int) -> Steps[bool]:
    """Return True if a topic has neither name nor id; in old versions, an id or no name."""

    def is_wrong(topic: MetadataRequestTopic) -> bool:
        if version < TOPIC_IDS_FROM:
            return topic.name is None or topic.topic_id != ZERO_UUID
        return topic.name is None and topic.topic_id == ZERO_UUID

    wrong: set[bool] = set()
    yield from in_bulk(lambda slice_topics: wrong.update(map(is_wrong, slice_topics)), topics)
    return True in wrong


def refuse_metadata(request: MetadataRequest, error: ErrorCode) -> MetadataResponse:
    """Return a response with `error` for every requested topic."""
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(int(error), topic.name or "", topic.topic_id)
            for topic in request.topics or []
        ],
        error_code=int(error),
    )
