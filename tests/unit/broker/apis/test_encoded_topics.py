"""What is kept of topics for Metadata: the same bytes as made anew, in slices, within its bound."""

from __future__ import annotations

import random
from typing import Any

import pytest

from broker.apis import encoded_topics
from broker.apis.auto_topic_creation import AutoTopicCreation
from broker.apis.encoded_topics import KIND_BYTES, EncodedTopics
from broker.apis.metadata import MetadataApi
from broker.config.parse import single_node_config
from controller.authorization.rights import UNLIMITED, Rights
from controller.metadata.image import MetadataImage
from ground.sliced_work import PIECES_AT_ONCE
from ottla.plugins.authorizer import Operation
from protocol.frames.message_codec import encode_response
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponsePartition,
)
from protocol.messages.metadata_records import PartitionChangeRecord, RemoveTopicRecord
from tests.unit.broker.apis.api_fixture import CLUSTER_ID, LOST, NODE_ID, Cluster, context
from tests.unit.broker.apis.plain_metadata import PlainMetadata
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import Allowed, on_cluster, on_topic, rights_of

NAMES = [f"topic-{number}" for number in range(12)] + ["__consumer_offsets", "in valid"]
"""What is asked for: not all of it is there."""
LISTENERS = ("PLAINTEXT", "OUTSIDE")


class World:
    """A cluster that changes at random, the API that keeps answers, and the one that does not."""

    def __init__(self, seed: int, max_bytes: int) -> None:
        self.chance = random.Random(seed)
        self.cluster = Cluster([1, 2, 3])
        self.encoded = EncodedTopics(max_bytes)
        self.turns = Turns()
        self.created: list[list[str]] = [[], []]
        settings = CLUSTER_ID, NODE_ID, True
        self.api = MetadataApi(
            self.cluster, *settings, self._creation(0), self.encoded, self.turns.answers
        )
        self.plain = PlainMetadata(self.cluster, *settings, self._creation(1))

    def _creation(self, number: int) -> AutoTopicCreation:
        def create(_context: object, request: Any, respond: Any) -> None:
            self.created[number] += [topic.name for topic in request.topics]
            respond(None)

        return AutoTopicCreation(single_node_config(), create, lambda *_: None)

    def change(self) -> None:
        """Some change of what Metadata tells."""
        chance, brokers = self.chance, [1, 2, 3]
        what = chance.randrange(8)
        here = list(self.cluster.image.topics.by_name)
        gone = [name for name in NAMES[:-1] if name not in here]
        if what == 0:
            listeners = chance.choice([LISTENERS, LISTENERS[:1]])
            rack, fenced = chance.choice([None, "r1"]), chance.random() < 0.3
            broker_id = chance.choice(brokers)
            self.cluster.register(broker_id, fenced=fenced, rack=rack, listeners=listeners)
        elif what == 1:
            self.cluster.shut_down(chance.choice(brokers))
        elif what == 2 and here:
            topic = self.cluster.image.topics.by_name[chance.choice(here)]
            self.cluster.replay(RemoveTopicRecord(topic.id))
        elif what < 5 and here:
            topic = self.cluster.image.topics.by_name[chance.choice(here)]
            leader = chance.choice([-1, *brokers])
            self.cluster.replay(PartitionChangeRecord(0, topic.id, leader=leader))
        elif gone:
            self.cluster.topic(
                chance.choice(gone),
                chance.randint(1, 3),
                replicas=chance.sample([*brokers, 9], 2),
                isr=[chance.choice(brokers)],
                leader=chance.choice([-1, 9, *brokers]),
                directory=chance.choice([LOST, bytes(16), b"\7" * 16]),
            )

    def rights(self) -> Rights:
        """Of somebody: who may do everything, or some of it."""
        chance = self.chance
        if chance.random() < 0.4:
            return UNLIMITED
        allowed: set[Allowed] = set()
        for operation in (Operation.DESCRIBE, Operation.CREATE, Operation.READ):
            allowed |= on_topic(operation, *chance.sample(NAMES, 7))
        for operation in (Operation.DESCRIBE, Operation.CREATE, Operation.ALTER):
            if chance.random() < 0.4:
                allowed |= on_cluster(operation)
        return rights_of(allowed)

    def request(self, version: int) -> MetadataRequest:
        """Some request that this version can say."""
        chance = self.chance
        topics: list[MetadataRequestTopic] | None = None
        if chance.random() < 0.6:
            topics = [
                MetadataRequestTopic(name=name)
                for name in chance.sample(NAMES, chance.randrange(5))
            ]
        elif version >= 12 and chance.random() < 0.5:
            ids = [*self.cluster.image.topics.by_id, b"u" * 16]
            topics = [MetadataRequestTopic(chance.choice(ids), None) for _ in range(4)]
        elif version == 0:
            topics = []
        return MetadataRequest(topics, *(chance.random() < 0.5 for _ in range(3)))

    def compare(self) -> None:
        """One request by both: the same bytes."""
        version = self.chance.randrange(14)
        request, rights = self.request(version), self.rights()
        asked = context(3, version, self.chance.choice(LISTENERS), rights)
        answers: list[bytes] = []

        def respond(response: Any) -> None:
            answers.append(encode_response(response, version, 7).joined())

        self.api.handle(asked, request, respond)
        self.plain.handle(asked, request, respond)
        self.turns.run()
        kept, plain = answers
        assert kept == plain, (version, request)
        assert self.created[0] == self.created[1]


@pytest.mark.parametrize("max_bytes", [0, 3 * KIND_BYTES, 1024 * 1024])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_kept_is_what_would_be_made_anew(seed: int, max_bytes: int) -> None:
    world = World(seed, max_bytes)
    for _ in range(120):
        world.change()
        for _ in range(4):
            world.compare()
        assert world.encoded.size <= max(max_bytes, KIND_BYTES)


class Many:
    """A cluster of many topics, and the answers to one who asks for all of them."""

    def __init__(self, topics: int, max_bytes: int = 1 << 30) -> None:
        self.cluster = Cluster()
        self.names = [f"topic-{number}" for number in range(topics)]
        for name in self.names:
            self.cluster.topic(name)
        self.encoded = EncodedTopics(max_bytes)
        self.turns = Turns()
        creation = AutoTopicCreation(single_node_config(), self._create, lambda *_: None)
        self.api = MetadataApi(
            self.cluster, CLUSTER_ID, NODE_ID, False, creation, self.encoded, self.turns.answers
        )
        self.plain = PlainMetadata(self.cluster, CLUSTER_ID, NODE_ID, False, creation)

    def _create(self, *_: object) -> None:
        raise AssertionError("nothing is created")

    def ask(self, request: MetadataRequest, rights: Rights = UNLIMITED) -> list[bytes]:
        """What is answered, when it is."""
        answers: list[bytes] = []
        self.api.handle(
            context(3, 12, rights=rights),
            request,
            lambda response: answers.append(encode_response(response, 12, 7).joined()),
        )
        return answers

    def plainly(self, request: MetadataRequest, rights: Rights = UNLIMITED) -> bytes:
        """The answer as made in one go."""
        answers: list[bytes] = []
        self.plain.handle(
            context(3, 12, rights=rights),
            request,
            lambda response: answers.append(encode_response(response, 12, 7).joined()),
        )
        return answers[0]


TOPICS = 4 * PIECES_AT_ONCE
ALL = MetadataRequest(None)


def count_made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One for each partition that is written down from now on."""
    made: list[int] = []
    plain = encoded_topics.partition_answer

    def counted(*args: Any) -> MetadataResponsePartition:
        made.append(1)
        return plain(*args)

    monkeypatch.setattr(encoded_topics, "partition_answer", counted)
    return made


@pytest.fixture(scope="module")
def image() -> MetadataImage:
    """Of many topics."""
    return Many(TOPICS).cluster.image


@pytest.fixture
def many(image: MetadataImage) -> Many:
    """Nobody has asked yet."""
    many = Many(0)
    many.cluster.image = image
    many.names = list(image.topics.by_name)
    return many


def test_all_topics_come_in_slices_and_then_at_once(
    many: Many, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = count_made(monkeypatch)
    first, second = many.ask(ALL), many.ask(ALL)
    assert (first, second, made) == ([], [], [])
    most: list[int] = []

    def count() -> None:
        most.append(len(made))
        made.clear()

    turns = many.turns.run(count)
    assert turns >= TOPICS // PIECES_AT_ONCE and 0 < max(most) <= PIECES_AT_ONCE
    assert sum(most) == TOPICS  # once, for both
    assert first == second == [many.plainly(ALL)]
    assert many.ask(ALL) == first and not made  # nobody waits


def test_one_topic_that_changes_is_one_that_is_made(
    many: Many, monkeypatch: pytest.MonkeyPatch
) -> None:
    many.ask(ALL)
    many.turns.run()
    topic = many.cluster.image.topics.by_name[many.names[7]]
    many.cluster.replay(PartitionChangeRecord(0, topic.id, leader=-1))
    made = count_made(monkeypatch)
    answers = many.ask(ALL)
    many.turns.run()
    assert answers == [many.plainly(ALL)] and len(made) == 1


def test_a_long_answer_is_of_the_moment_when_it_was_asked_for(many: Many) -> None:
    expected = many.plainly(ALL)
    answers = many.ask(ALL)
    changed = iter(many.names)

    def change() -> None:
        name = next(changed)
        many.cluster.replay(RemoveTopicRecord(many.cluster.image.topics.by_name[name].id))

    many.turns.run(change)
    assert answers == [expected]
    later = many.ask(ALL)
    many.turns.run()
    assert later == [many.plainly(ALL)] != answers


def test_who_may_see_some_gets_them_in_slices_too(many: Many) -> None:
    rights = rights_of(on_topic(Operation.DESCRIBE, *many.names[::2]))
    request = MetadataRequest(None, include_topic_authorized_operations=True)
    answers = many.ask(request, rights)
    assert many.turns.run() > TOPICS // PIECES_AT_ONCE
    assert answers == [many.plainly(request, rights)]


def test_many_names_come_in_slices(many: Many) -> None:
    request = MetadataRequest([MetadataRequestTopic(name=name) for name in [*many.names, "none"]])
    answers = many.ask(request)
    assert many.turns.run() >= TOPICS // PIECES_AT_ONCE
    assert answers == [many.plainly(request)]


def test_a_topic_of_many_partitions_is_made_in_slices() -> None:
    many = Many(0)
    many.cluster.topic("wide", TOPICS)
    answers = many.ask(ALL)
    assert answers == [] and many.turns.run() >= TOPICS // PIECES_AT_ONCE - 1
    assert answers == [many.plainly(ALL)]


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    many = Many(8, max_bytes=8_000)
    for version in (1, 5, 7):
        many.api.handle(context(3, version), ALL, lambda _: None)
    kept = [kind[1] for kind in many.encoded._kinds]
    assert 0 < many.encoded.size <= 8_000 and kept == [5, 7]


def test_topics_that_are_gone_are_not_kept(many: Many) -> None:
    many.ask(ALL)
    many.turns.run()
    full = many.encoded.size
    for name in many.names[:-1]:
        many.cluster.replay(RemoveTopicRecord(many.cluster.image.topics.by_name[name].id))
    many.ask(ALL)
    many.turns.run()
    assert many.encoded.size < full / 100
