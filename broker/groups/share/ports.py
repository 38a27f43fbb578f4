"""The ports of share groups: the states of share-partitions, and the end offsets of partitions.

Owns only the interfaces. The share coordinator has the states, and the leaders of the partitions
have the offsets: this broker or others. Follows Kafka's `Persister` and `PartitionMetadataClient`
(KIP-932).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from broker.coordinator.outcome import ReplyWithError
from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import StateAnswer
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode

StateReply = ReplyWithError[StateAnswer]
EndOffset = int | ErrorCode
"""The high watermark of a partition, or the error without one."""


class ShareStates(Protocol):
    """The states of share-partitions. Each call is answered once: at once, later, or with an error
    if the share coordinator cannot be reached."""

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int, reply: StateReply
    ) -> None:
        """Replace a state by an empty one; `start_offset` -1: the leader chooses the start."""

    def summary(self, key: SharePartitionKey, reply: StateReply) -> None:
        """Read the state without its batches."""

    def delete(self, key: SharePartitionKey, reply: StateReply) -> None:
        """Delete the state; a state that is not there is no error."""


class EndOffsets(Protocol):
    """The end offsets of partitions, as consumers without transactions see them."""

    def ask(
        self,
        partitions: Sequence[TopicPartition],
        done: Callable[[Mapping[TopicPartition, EndOffset]], None],
    ) -> None:
        """Call `done` once, with the end offset of each partition or the error without one."""


class SharePorts(NamedTuple):
    """The ports of a node's share groups."""

    states: ShareStates
    end_offsets: EndOffsets
