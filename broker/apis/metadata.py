"""Metadata: v0-13.

Behaviour: brokers and topics as a client of the connection's listener sees them. A topic that does
not exist is created when the client and `auto.create.topics.enable` allow it; the client is told
UNKNOWN_TOPIC_OR_PARTITION meanwhile and asks again. A partition without a reachable leader says
LEADER_NOT_AVAILABLE, or LISTENER_NOT_FOUND from v6 where the leader is not on this listener. The
`controller_id` is this broker, which passes requests on (KIP-590).

A broker in a controlled shutdown is not named any more once it leads nothing that was asked about
(Kafka names it until it is gone): some clients ask the broker with the fewest requests under way
for metadata, which is the one that is gone, and learn of no other leader until it is back.

Needs DESCRIBE on each topic. Without it a topic is TOPIC_AUTHORIZATION_FAILED, whether it is there
or not, without its id, or without its name where it was asked for by id; where all are asked for it
is left out. To create a topic needs CREATE on the cluster or on the topic, or it is
TOPIC_AUTHORIZATION_FAILED, too. Brokers are shown to everybody.

Versions: all topics are an empty list in v0 and null from v1 on, where an empty list is none. v1
racks, controller id, internal topics; v2 cluster id; v4 the client may forbid creation; v5 offline
replicas; v7 leader epochs; v8 authorized operations (those of the cluster until v10); v9 flexible;
v10 topic ids in answers; v12 topics asked for by id (KIP-516); v13 an error for the whole answer.
In v0 replicas that cannot be reached are left out and said to be REPLICA_NOT_AVAILABLE.
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
"""Pieces of work that it is to find out what may be done to a topic."""


class MetadataApi:
    """Where everything is."""

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
        steps = self._answer(context, request, self._metadata.image)
        self._answers.give(context, request, steps, respond, refuse_metadata)

    def _answer(
        self, context: RequestContext, request: MetadataRequest, image: MetadataImage
    ) -> Steps[MetadataResponse]:
        """As of `image`, whatever has changed when the last slice is done."""
        version = context.api_version
        if (yield from _is_malformed(request.topics or [], version)):
            return refuse_metadata(request, ErrorCode.INVALID_REQUEST)
        view = ClusterView(image, context.listener_name)
        told = _Told(
            self._encoded, context, image, view, request.include_topic_authorized_operations
        )
        yield from self._tell_topics(context, request, image, told)
        low, high = CLUSTER_OPERATIONS_IN
        operations_asked = request.include_cluster_authorized_operations and low <= version <= high
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(one.id, one.host, one.port, one.rack)
                for one in view.lasting_brokers(told.leaders)
            ],
            cluster_id=self._cluster_id,
            controller_id=view.controller_id(self._node_id),
            topics=told.topics.array(),
            cluster_authorized_operations=(
                context.rights.operations_on_cluster() if operations_asked else OPERATIONS_NOT_ASKED
            ),
        )

    def _tell_topics(
        self,
        context: RequestContext,
        request: MetadataRequest,
        image: MetadataImage,
        told: _Told,
    ) -> Steps[None]:
        asked, rights = request.topics, context.rights
        if asked is None or (context.api_version == 0 and not asked):
            yield from _tell_all(rights, image, told)
            return
        ids: dict[bytes, None] = {}
        names: dict[str, None] = {}
        yield from in_bulk(lambda some: ids.update((one.topic_id, None) for one in some), asked)
        ids.pop(ZERO_UUID, None)
        if ids:
            # A request by id is one by id altogether, as in Kafka.
            yield from _tell_ids(ids, rights, image, told)
            return
        yield from in_bulk(lambda some: names.update((one.name or "", None) for one in some), asked)
        may_describe = yield from allowed_in_slices(
            rights, Operation.DESCRIBE, Resource.TOPIC, names
        )
        missing: list[str] = []
        yield from in_bulk(
            lambda some: missing.extend(
                name for name in some if name in may_describe and image.topics.get(name) is None
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
                yield from told.topic(topic)
            elif errors[name] is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                uncreated.append(name)
            else:
                yield from told.absent(errors[name], name)
        for name in uncreated:
            yield from told.refused(name, internal=is_internal(name))
        for name in hidden:
            yield from told.refused(name)

    def _errors(
        self, context: RequestContext, request: MetadataRequest, missing: list[str]
    ) -> Steps[dict[str, ErrorCode]]:
        """What to say of topics that do not exist; those that may be are on their way then."""
        if missing and self._auto_create_topics_enable and request.allow_auto_topic_creation:
            may_create = yield from creatable_in_slices(context.rights, missing)
            return (yield from self._auto_creation.create(missing, may_create, context))
        errors: dict[str, ErrorCode] = {}
        yield from each(lambda name: errors.update({name: _absence(name)}), missing, PIECES_AT_ONCE)
        return errors


def _absence(name: str) -> ErrorCode:
    return (
        ErrorCode.INVALID_TOPIC_EXCEPTION
        if topic_name_fault(name)
        else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )


class _Told:
    """What one answer tells of topics."""

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
        """Brokers that lead any of them; of interest only while one is leaving."""

    def _operations(self, name: str) -> int:
        if not self._with_operations:
            return OPERATIONS_NOT_ASKED
        return self._context.rights.operations(Resource.TOPIC, name)

    def _kind(self, operations: int) -> KindOfAnswer:
        kind = self._kinds.get(operations)
        if kind is None:
            listener, version = self._context.listener_name, self._context.api_version
            kind = self._encoded.kind(self._image, listener, version, operations)
            self._kinds[operations] = kind
        return kind

    def _count_leaders(self, topic: TopicImage) -> None:
        self.leaders.update([one.leader for one in topic.partitions.values()])

    def all_topics(self) -> Steps[None]:
        """All that there are, for one who may do everything."""
        topics, version = self._image.topics, self._context.api_version
        operations = self._operations("")
        data = yield from self._encoded.all_topics(
            self._kind(operations), topics, self._view, version, operations
        )
        self.topics.add_encoded(data, len(topics.by_name))
        if self._view.has_leaving_broker:
            for topic in topics.by_name.values():
                if self._pace.is_full():
                    yield None
                self._count_leaders(topic)

    def topic(self, topic: TopicImage) -> Steps[None]:
        """One that the sender may describe."""
        if self._pace.is_full(WITH_OPERATIONS if self._with_operations else 1):
            yield None
        operations = self._operations(topic.name)
        self.topics.add_encoded(
            (
                yield from self._encoded.topic(
                    self._kind(operations),
                    topic,
                    self._view,
                    self._context.api_version,
                    operations,
                    self._pace,
                )
            )
        )
        if self._view.has_leaving_broker:
            self._count_leaders(topic)

    def absent(self, error: ErrorCode, name: str) -> Steps[None]:
        """One that does not exist."""
        if self._pace.is_full(WITH_OPERATIONS if self._with_operations else 1):
            yield None
        operations = self._operations(name)  # whatever is wrong with it
        internal = is_internal(name)
        self.topics.add(
            MetadataResponseTopic(int(error), name, ZERO_UUID, internal, [], operations)
        )

    def unknown_id(self, topic_id: bytes) -> Steps[None]:
        """An id that is nobody's."""
        if self._pace.is_full():
            yield None
        self.topics.add(MetadataResponseTopic(int(ErrorCode.UNKNOWN_TOPIC_ID), None, topic_id))

    def refused(
        self, name: str | None, topic_id: bytes = ZERO_UUID, *, internal: bool = False
    ) -> Steps[None]:
        """One that the sender may not know of, or may not create."""
        if self._pace.is_full():
            yield None
        error = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        self.topics.add(MetadataResponseTopic(error, name, topic_id, internal))


def _tell_all(rights: Rights, image: MetadataImage, told: _Told) -> Steps[None]:
    """Those that may be described; of the others nobody hears."""
    if rights.unlimited:
        yield from told.all_topics()
        return
    topics = image.topics.by_name
    shown = yield from allowed_in_slices(
        rights, Operation.DESCRIBE, Resource.TOPIC, topics, audited=False
    )
    for name, topic in topics.items():
        if name in shown:
            yield from told.topic(topic)


def _tell_ids(
    ids: Iterable[bytes], rights: Rights, image: MetadataImage, told: _Told
) -> Steps[None]:
    """Topics asked for by their ids. That an id is somebody's is no secret."""
    names: list[str] = []
    yield from in_bulk(
        lambda some: names.extend(
            topic.name for one in some if (topic := image.topics.get_by_id(one)) is not None
        ),
        ids,
    )
    may_describe = yield from allowed_in_slices(rights, Operation.DESCRIBE, Resource.TOPIC, names)
    refused = []
    for topic_id in ids:
        topic = image.topics.get_by_id(topic_id)
        if topic is None:
            yield from told.unknown_id(topic_id)
        elif topic.name in may_describe:
            yield from told.topic(topic)
        else:
            refused.append(topic_id)
    for topic_id in refused:
        yield from told.refused(None, topic_id)


def _is_malformed(topics: list[MetadataRequestTopic], version: int) -> Steps[bool]:
    def is_wrong(topic: MetadataRequestTopic) -> bool:
        if version < TOPIC_IDS_FROM:
            return topic.name is None or topic.topic_id != ZERO_UUID
        return topic.name is None and topic.topic_id == ZERO_UUID

    wrong: set[bool] = set()
    yield from in_bulk(lambda some: wrong.update(map(is_wrong, some)), topics)
    return True in wrong


def refuse_metadata(request: MetadataRequest, error: ErrorCode) -> MetadataResponse:
    """The response that says `error` for every topic asked for."""
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(int(error), one.name or "", one.topic_id)
            for one in request.topics or []
        ],
        error_code=int(error),
    )
