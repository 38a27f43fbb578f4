"""The ports of share groups in tests: states in a dictionary, and end offsets that a test sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from broker.groups.share.ports import EndOffset, SharePorts, StateReply
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import NO_STATE, StateAnswer
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode


class FakeStates:
    """The states of share-partitions. With `held` a list, answers wait in it until they are
    called; `failure` is the error of every request, `failures` that of some partitions."""

    def __init__(self) -> None:
        self.states: dict[SharePartitionKey, StateAnswer] = {}
        self.asked: list[tuple[str, SharePartitionKey]] = []
        self.held: list[Callable[[], None]] | None = None
        self.failure = ErrorCode.NONE
        self.failures: dict[int, ErrorCode] = {}

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int, reply: StateReply
    ) -> None:
        """Replace the state; a known start offset has nothing delivered."""

        def change() -> StateAnswer:
            final_count = -1 if start_offset == -1 else 0
            self.states[key] = StateAnswer(state_epoch, 0, start_offset, final_count)
            return NO_STATE

        self._answer("initialize", key, change, reply)

    def summary(self, key: SharePartitionKey, reply: StateReply) -> None:
        """Read the state."""
        self._answer("summary", key, lambda: self.states.get(key, NO_STATE), reply)

    def delete(self, key: SharePartitionKey, reply: StateReply) -> None:
        """Delete the state."""
        self._answer("delete", key, lambda: self.states.pop(key, NO_STATE), reply)

    def release(self) -> None:
        """Give all held answers, and hold no more."""
        held, self.held = self.held or [], None
        for answer in held:
            answer()

    def _answer(
        self,
        name: str,
        key: SharePartitionKey,
        change: Callable[[], StateAnswer],
        reply: StateReply,
    ) -> None:
        self.asked.append((name, key))

        def answer() -> None:
            failure = self.failures.get(key.partition, self.failure)
            if failure is ErrorCode.NONE:
                reply(ErrorCode.NONE, change())
            else:
                reply(failure, StateAnswer(message="no"))

        if self.held is None:
            answer()
        else:
            self.held.append(answer)


class FakeEndOffsets:
    """End offsets; a partition without one is LEADER_NOT_AVAILABLE."""

    def __init__(self) -> None:
        self.offsets: dict[TopicPartition, int] = {}

    def ask(
        self,
        partitions: Sequence[TopicPartition],
        done: Callable[[Mapping[TopicPartition, EndOffset]], None],
    ) -> None:
        """Answer at once."""
        none = ErrorCode.LEADER_NOT_AVAILABLE
        done({partition: self.offsets.get(partition, none) for partition in partitions})


class FakeShares:
    """Fakes of both ports."""

    def __init__(self) -> None:
        self.states = FakeStates()
        self.end_offsets = FakeEndOffsets()

    def ports(self) -> SharePorts:
        """Return the ports."""
        return SharePorts(self.states, self.end_offsets)
