"""Calls of the brokers' persisters in a story, as leaders of share-partitions and coordinators of
groups make them.
"""

from __future__ import annotations

from broker.share.persister import Persister
from broker.share.record_state import RecordState
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import StateAnswer, WriteRequest
from broker.share.state_batches import StateBatch
from protocol.errors import ErrorCode
from simulation.machines.sim_broker import SimBroker
from tests.simulation.scenario import Scenario

TOPIC = "__share_group_state"
WITHIN_MS = 40_000
"""More than all attempts of a call take."""
STATE_EPOCH = 3

Reply = tuple[ErrorCode, StateAnswer]


class States:
    """The calls of a story for the partitions of a topic."""

    def __init__(self, story: Scenario) -> None:
        self.story = story
        topic = story.view.newest_image().topics.get("orders")
        assert topic is not None
        self.keys = [SharePartitionKey("g", topic.id, index) for index in sorted(topic.partitions)]
        self.key = self.keys[0]

    def begin(self, asked: SimBroker, name: str, *arguments: object) -> list[Reply]:
        """Make a call at a broker. The reply will be in the list."""
        replies: list[Reply] = []
        call = getattr(persister(asked), name)
        call(*arguments, lambda error, answer: replies.append((error, answer)))
        return replies

    def reply(self, replies: list[Reply]) -> Reply:
        """Wait for a reply."""
        self.story.run_until(lambda: bool(replies), WITHIN_MS)
        return replies[0]

    def call(self, asked: SimBroker, name: str, *arguments: object) -> Reply:
        """Make a call at a broker, and wait for its reply."""
        return self.reply(self.begin(asked, name, *arguments))

    def initialize(self, asked: SimBroker) -> None:
        """Initialize all share-partitions of the topic at once."""
        begun = [self.begin(asked, "initialize", key, STATE_EPOCH, 0) for key in self.keys]
        assert {self.reply(replies)[0] for replies in begun} == {ErrorCode.NONE}

    def writing(self, asked: SimBroker, offset: int, leader_epoch: int = 1) -> list[Reply]:
        """Begin to write that a record is acknowledged."""
        batch = StateBatch(offset, offset, RecordState.ACKNOWLEDGED, 1)
        request = WriteRequest(STATE_EPOCH, leader_epoch, 0, 1, (batch,))
        return self.begin(asked, "write", self.key, request)

    def write(self, asked: SimBroker, offset: int, leader_epoch: int = 1) -> ErrorCode:
        """Write that a record is acknowledged."""
        return self.reply(self.writing(asked, offset, leader_epoch))[0]

    def acknowledged(self, asked: SimBroker, leader_epoch: int = 1) -> set[int]:
        """Return the offsets of the acknowledged records, as a leader reads them."""
        error, answer = self.call(asked, "read", self.key, leader_epoch)
        assert (error, answer.state_epoch) == (ErrorCode.NONE, STATE_EPOCH)
        return {at for batch in answer.batches for at in range(batch.first, batch.last + 1)}

    def coordinator(self) -> SimBroker:
        return self.story.leader(TOPIC)

    def another(self) -> SimBroker:
        """Return a living broker that is not the coordinator."""
        old = self.coordinator()
        return next(node for node in self.story.brokers if node is not old and node.alive)


def persister(broker: SimBroker) -> Persister:
    assert broker.node is not None and broker.node.broker is not None
    return broker.node.broker.parts.shares.persister


def an_earlier_leader_stays_fenced(seed: int) -> None:
    """Tell the story of a leader that writes after the share coordinator has died."""
    story = Scenario(seed)

    def tell() -> None:
        states = States(story)
        states.initialize(story.brokers[0])
        old, asked = states.coordinator(), states.another()
        assert states.write(asked, 1, leader_epoch=1) is ErrorCode.NONE
        assert states.acknowledged(asked, leader_epoch=2) == {1}
        story.kill(old)
        story.new_leader(old, TOPIC)
        asked = states.another()
        assert states.write(asked, 2, leader_epoch=1) is ErrorCode.FENCED_LEADER_EPOCH
        error, _ = states.call(asked, "initialize", states.key, STATE_EPOCH - 1, 0)
        assert error is ErrorCode.FENCED_STATE_EPOCH
        assert states.write(asked, 3, leader_epoch=2) is ErrorCode.NONE
        assert states.acknowledged(asked, leader_epoch=2) == {1, 3}

    story.run(tell)
