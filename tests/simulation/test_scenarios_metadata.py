"""Named scenarios of metadata under failovers of the controller (C1, C8).

Whoever changes topics here knows for each what may be: after an answer one thing, after an error or
none the thing before or the thing after it, never a part of it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from unittest.mock import patch

import pytest

from controller.decisions import producer_ids_control
from controller.metadata.image import MetadataImage
from protocol.api_keys import ApiKey
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.init_producer_id import InitProducerIdRequest
from simulation.machines.layout import Layout
from simulation.network.sim_network import Exchange
from simulation.sim_client import Waits
from tests.simulation.scenario import Scenario
from tests.simulation.sim_actor import SimActor

pytestmark = pytest.mark.slow

TOPIC = 2
SET = 0
PAIR = ("retention.ms", "segment.ms")
"""Configs that are always changed together: one of them alone is half a change."""
CONVERGE_WITHIN_MS = 10_000.0
CHANGES = (
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.CREATE_PARTITIONS,
)

State = tuple[int, str] | None
"""A topic: how many partitions, the value of each of `PAIR`; or its absence."""


@dataclass(slots=True)
class TopicKnowledge:
    """What may be of a topic."""

    may_be: set[State] = field(default_factory=lambda: {None})
    sure: bool = True

    @property
    def state(self) -> State:
        (only,) = self.may_be
        return only


class Churner(SimActor):
    """Creates, grows, alters and deletes topics of its own; leaves alone what it is not sure of."""

    def __init__(self, name: str, *where: object) -> None:
        super().__init__(name, *where)  # type: ignore[arg-type]
        self.told: dict[str, TopicKnowledge] = {}
        self.errors = 0
        self._value = 86_400_000

    def life(self) -> Waits:
        while not self.stopping:
            yield 5.0 + self.chance.random() * 60.0
            there = [name for name, told in self.told.items() if told.sure and told.state]
            if len(there) < 3:
                yield from self._create()
                continue
            work = self.chance.choice([self._alter, self._alter, self._grow, self._delete])
            yield from work(self.chance.choice(there))

    def _create(self) -> Waits:
        name, count, value = (
            f"{self.name}-{len(self.told)}",
            self.chance.randint(1, 4),
            self._next(),
        )
        self.told[name] = TopicKnowledge()
        configs = [CreatableTopicConfig(key, value) for key in PAIR]
        request = CreateTopicsRequest([CreatableTopic(name, count, 2, configs=configs)], 2_000)
        response = yield from self.call(request, 7)
        self._take(name, (count, value), response and response.topics[0].error_code)

    def _grow(self, name: str) -> Waits:
        count, value = self.told[name].state or (0, "")
        request = CreatePartitionsRequest([CreatePartitionsTopic(name, count + 1, None)], 2_000)
        response = yield from self.call(request, 3)
        self._take(name, (count + 1, value), response and response.results[0].error_code)

    def _alter(self, name: str) -> Waits:
        count, value = self.told[name].state or (0, "")
        value = self._next()
        changes = [AlterableConfig(key, SET, value) for key in PAIR]
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(TOPIC, name, changes)])
        response = yield from self.call(request, 1)
        self._take(name, (count, value), response and response.responses[0].error_code)

    def _delete(self, name: str) -> Waits:
        request = DeleteTopicsRequest([DeleteTopicState(name)], [name], 2_000)
        response = yield from self.call(request, 6)
        self._take(name, None, response and response.responses[0].error_code)

    def _take(self, name: str, after: State, error: int | None) -> None:
        told = self.told[name]
        if error == 0:
            told.may_be = {after}
            return
        told.may_be.add(after)
        told.sure = False
        self.errors += 1

    def _next(self) -> str:
        self._value += 1
        return str(self._value)


class KillTheController:
    """Kills the active controller soon after some node has got a change."""

    def __init__(self, story: Scenario, chance: random.Random) -> None:
        self.story = story
        self.chance = chance
        self.armed = False
        story.network.watch(self)

    def handled(self, exchange: Exchange) -> None:
        if self.armed and exchange.key in CHANGES:
            self.armed = False
            self.story.world.call_later(self.chance.random() * 15.0, self._kill)

    def _kill(self) -> None:
        node = self.story.view.active_controller()
        if node is None:
            self.armed = True
        else:
            self.story.kill(node)

    def sent(self, exchange: Exchange) -> None: ...
    def answered(self, exchange: Exchange) -> None: ...
    def received(self, exchange: Exchange) -> None: ...
    def unanswered(self, exchange: Exchange) -> None: ...


@pytest.mark.long(sample=1)
@pytest.mark.parametrize(
    ("seed", "layout"),
    [(1, Layout.combined(3)), (2, Layout.apart(3, 3))],
    ids=["combined", "apart"],
)
def test_c1_metadata_churn_while_the_active_controller_dies_twenty_times(
    seed: int, layout: Layout
) -> None:
    story = Scenario(seed, layout=layout)
    admins: list[Churner] = []

    def tell() -> None:
        trap = KillTheController(story, random.Random(seed))
        admins.extend(story.add(Churner, f"churner-{number}") for number in range(2))
        for _ in range(20):
            story.controller()
            trap.armed = True
            story.run_until(lambda: any(not one.alive for one in story.brokers), 20_000)
            dead = [one for one in story.brokers if not one.alive]
            story.controller()
            story.run_for(200)
            story.start(*dead)
            _converge(story)
        for admin in admins:
            admin.stopping = True
        story.run_until(lambda: all(admin.done for admin in admins), 20_000)
        story.run_for(5_000)  # what a broker still passes on, it has passed on
        _converge(story)
        images = [one.node.image for one in story.brokers if one.node is not None]
        assert len({image.offset for image in images}) == 1
        for image in images:
            for admin in admins:
                _check(image, admin)

    story.run(tell)
    assert sum(len(admin.told) for admin in admins) >= 20
    controllers_only = layout.brokers < len(layout.nodes)  # who asks need not hear of it
    assert controllers_only or any(admin.errors for admin in admins)


def _converge(story: Scenario) -> None:
    """All nodes know, in time, what somebody knows now."""
    newest = story.view.newest_image().offset

    def known() -> bool:
        nodes = [one.node for one in story.brokers]
        return all(node is not None and node.image.offset >= newest for node in nodes)

    story.run_until(known, CONVERGE_WITHIN_MS)


def _check(image: MetadataImage, admin: Churner) -> None:
    for name, told in admin.told.items():
        found = _state(image, name)
        assert found in told.may_be, f"{name} is {found}, must be in {told.may_be}"


def _state(image: MetadataImage, name: str) -> State:
    topic = image.topics.get(name)
    configs = image.config(TOPIC, name)
    if topic is None:
        assert not configs, f"configs of {name}, which does not exist: {configs}"
        return None
    assert sorted(topic.partitions) == list(range(len(topic.partitions)))
    first, second = (configs.get(key) for key in PAIR)
    assert first == second, f"half a change of {name}: {configs}"
    return len(topic.partitions), str(first)


class IdCollector(SimActor):
    """Asks for producer ids without a pause."""

    def __init__(self, name: str, *where: object) -> None:
        super().__init__(name, *where)  # type: ignore[arg-type]
        self.found: list[int] = []

    def life(self) -> Waits:
        while not self.stopping:
            response = yield from self.call(InitProducerIdRequest(None, 60_000), 4)
            if response is not None and not response.error_code:
                self.found.append(response.producer_id)


class Recreator(SimActor):
    """Creates one topic over and over, and notes its ids."""

    def __init__(self, name: str, *where: object) -> None:
        super().__init__(name, *where)  # type: ignore[arg-type]
        self.found: list[bytes] = []

    def life(self) -> Waits:
        while not self.stopping:
            create = CreateTopicsRequest([CreatableTopic("phoenix", 1, 2)], 2_000)
            response = yield from self.call(create, 7)
            if response is not None and not response.topics[0].error_code:
                self.found.append(response.topics[0].topic_id)
            delete = DeleteTopicsRequest([DeleteTopicState("phoenix")], ["phoenix"], 2_000)
            yield from self.call(delete, 6)
            yield 20.0


def _more_given(story: Scenario, collectors: list[IdCollector], recreator: Recreator) -> None:
    """Wait until some more of each kind of id is given."""

    def given() -> int:
        return sum(len(one.found) for one in collectors)

    producers, topics = given(), len(recreator.found)
    story.run_until(lambda: given() > producers + 10, 20_000)
    story.run_until(lambda: len(recreator.found) > topics, 20_000)


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_c8_no_id_is_given_twice_over_ten_failovers_of_the_controller(seed: int) -> None:
    """Producer ids (KAFKA-15552), topic ids, broker epochs; blocks so small that some broker waits
    for one whenever the controller dies."""
    story = Scenario(seed)
    chance = random.Random(seed)
    collectors: list[IdCollector] = []
    recreators: list[Recreator] = []

    def tell() -> None:
        collectors.extend(story.add(IdCollector, f"collector-{number}") for number in range(3))
        recreators.append(story.add(Recreator, "recreator"))
        for _ in range(10):
            story.controller()
            _more_given(story, collectors, recreators[0])
            story.run_for(chance.random() * 20.0)
            dead = story.controller()
            story.kill(dead)
            story.run_for(chance.random() * 300.0)
            story.start(dead)

    with patch.object(producer_ids_control, "BLOCK_SIZE", 5):
        story.run(tell)
    found = [one for collector in collectors for one in collector.found]
    assert len(found) >= 100
    assert len(set(found)) == len(found)
    topic_ids = recreators[0].found
    assert len(topic_ids) >= 10
    assert len(set(topic_ids)) == len(topic_ids)
    epochs = [epoch for node in story.brokers for epoch in node.epochs]
    assert len(epochs) >= 13
    assert len(set(epochs)) == len(epochs)
