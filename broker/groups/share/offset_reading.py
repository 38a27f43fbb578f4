"""The reading of a share group's offsets for DescribeShareGroupOffsets.

    the share coordinator: start offsets ──► the partitions' leaders: end offsets ──► lags

Owns one reading and the form of its answer. A partition without a state is no error: its start
offset and lag are -1. Never changes anything. Follows Kafka's
`GroupCoordinatorService.describeShareGroupOffsets` (KIP-932, KIP-1226).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from broker.groups.share.error_texts import text_of
from broker.groups.share.ports import EndOffset, SharePorts
from broker.groups.share.state_rounds import StateAnswers, ask_all
from broker.share.state.share_log import UNINITIALIZED, SharePartitionKey
from broker.share.state.share_state_shard import NO_STATE, StateAnswer
from controller.metadata.image import TopicsImage
from ground.sliced_work import Pace, Steps
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)

DescribedOffsets: TypeAlias = Sequence[tuple[str, Sequence[int]]]
"""The topics to read by name, with their partitions."""
Answers: TypeAlias = list[DescribeShareGroupOffsetsResponseTopic]


class OffsetReading:
    """A reading of the offsets of a group. `topics`: those that exist."""

    def __init__(
        self, group_id: str, described: DescribedOffsets, ports: SharePorts, topics: TopicsImage
    ) -> None:
        self._group_id = group_id
        self._described = described
        self._ports = ports
        self._topics = topics

    def keys(self) -> Steps[list[SharePartitionKey]]:
        """Return the share-partitions of topics that exist."""
        pace, keys = Pace(), list[SharePartitionKey]()
        for name, partitions in self._described:
            topic = self._topics.get(name)
            if topic is None:
                continue
            for index in partitions:
                if pace.is_full():
                    yield None
                keys.append(SharePartitionKey(self._group_id, topic.id, index))
        return keys

    def read(
        self,
        keys: Sequence[SharePartitionKey],
        done: Callable[[StateAnswers, Mapping[TopicPartition, EndOffset]], None],
    ) -> None:
        """Ask for the states, and for the end offsets of partitions that were consumed. Then pass
        both on."""

        def with_states(states: StateAnswers) -> None:
            """Ask for the end offsets, if need be."""
            consumed = [
                TopicPartition(topic.name, key.partition)
                for key, answer in states.items()
                if _has_lag(*answer) and (topic := self._topics.get_by_id(key.topic_id))
            ]
            if consumed:
                self._ports.end_offsets.ask(consumed, lambda ends: done(states, ends))
            else:
                done(states, {})

        ask_all(keys, self._ports.states.summary, with_states)

    def answers(
        self, states: StateAnswers, ends: Mapping[TopicPartition, EndOffset]
    ) -> Steps[Answers]:
        """Return the start offset and the lag of each partition. Topics that do not exist come
        last."""
        pace, answers, unknown = Pace(), list[DescribeShareGroupOffsetsResponseTopic](), []
        for name, partitions in self._described:
            topic = self._topics.get(name)
            answer = DescribeShareGroupOffsetsResponseTopic(name)
            for index in partitions:
                if pace.is_full():
                    yield None
                if topic is None:
                    answer.partitions.append(_partition(index, NO_STATE, None))
                    continue
                error, state = states[SharePartitionKey(self._group_id, topic.id, index)]
                has_lag = _has_lag(error, state)
                end = ends[TopicPartition(name, index)] if has_lag else None
                shown = state if error is ErrorCode.NONE else NO_STATE
                answer.partitions.append(_partition(index, shown, end))
            if topic is None:
                unknown.append(answer)
            else:
                answer.topic_id = topic.id
                answers.append(answer)
        return [*answers, *unknown]


def _has_lag(error: ErrorCode, state: StateAnswer) -> bool:
    """Return whether a leader has written a start offset, so that the partition has a lag."""
    written = UNINITIALIZED not in (state.start_offset, state.final_count)
    return error is ErrorCode.NONE and written


def _partition(
    index: int, state: StateAnswer, end: EndOffset | None
) -> DescribeShareGroupOffsetsResponsePartition:
    """Return the answer for a partition. `end` None: it has no lag."""
    if isinstance(end, ErrorCode):
        return DescribeShareGroupOffsetsResponsePartition(
            index, error_code=end, error_message=text_of(end)
        )
    lag = UNINITIALIZED if end is None else end - state.start_offset - state.final_count
    return DescribeShareGroupOffsetsResponsePartition(
        index, state.start_offset, state.leader_epoch, lag
    )
