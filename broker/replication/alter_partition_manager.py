"""Proposals of new ISRs on their way to the controller: AlterPartition (KIP-497).

Owns what was proposed and not yet answered: at most one proposal a partition, one request at a
time, which carries all that wait. What fails for no fault of the proposal is sent again until the
controller has decided; the leader that proposed it ignores an answer that has become old.

Never knows what an ISR means. The number that wait is bounded by the partitions that this broker
leads. Follows Kafka's `AlterPartitionManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from broker.replication.to_controller import ToController
from ground.ports import Scheduler
from protocol.errors import ErrorCode
from protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    BrokerState,
)

_log = logging.getLogger(f"ottla.{__name__}")

RETRY_BACKOFF_MS = 50

PartitionKey = tuple[bytes, int]  # topic id, index

# The controller's last word about a proposal. Anything else may pass: it is sent again.
FINAL_ERRORS = (
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INELIGIBLE_REPLICA,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.NEW_LEADER_ELECTED,
    ErrorCode.OPERATION_NOT_ATTEMPTED,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A new ISR, with the epoch that each of its members fetched in (-1: not known; KIP-903)."""

    topic_id: bytes
    index: int
    leader_epoch: int
    partition_epoch: int
    isr: list[tuple[int, int]]
    leader_recovery_state: int


@dataclass(frozen=True, slots=True)
class Altered:
    """A partition as the controller has it after a proposal that it took."""

    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]


Decided = Callable[[Altered | ErrorCode], None]


class AlterPartitionManager:
    """Sends this broker's proposals, and hands out the answers."""

    def __init__(
        self,
        scheduler: Scheduler,
        to_controller: ToController,
        node_id: int,
        broker_epoch: Callable[[], int],
    ) -> None:
        self.broker_epoch = broker_epoch
        self._scheduler = scheduler
        self._to_controller = to_controller
        self._node_id = node_id
        self._waiting: dict[PartitionKey, tuple[Proposal, Decided]] = {}
        self._under_way = False

    def submit(self, proposal: Proposal, decided: Decided) -> None:
        """Propose. `decided` is called once, later: with OPERATION_NOT_ATTEMPTED where an older
        proposal for this partition has no answer yet."""
        key = (proposal.topic_id, proposal.index)
        if key in self._waiting:
            self._scheduler.call_soon(lambda: decided(ErrorCode.OPERATION_NOT_ATTEMPTED))
            return
        self._waiting[key] = (proposal, decided)
        if not self._under_way:
            # What is proposed in one go, as when a follower is lost, goes in one request.
            self._under_way = True
            self._scheduler.call_soon(self._send)

    def _send(self) -> None:
        sent = dict(self._waiting)
        if not sent:
            self._under_way = False
            return
        request = self._request([proposal for proposal, _ in sent.values()])
        self._to_controller(request, lambda response: self._answered(sent, response))

    def _request(self, proposals: list[Proposal]) -> AlterPartitionRequest:
        topics: dict[bytes, AlterPartitionRequestTopicData] = {}
        for proposal in proposals:
            topic = topics.get(proposal.topic_id)
            if topic is None:
                topic = topics[proposal.topic_id] = AlterPartitionRequestTopicData(
                    proposal.topic_id
                )
            topic.partitions.append(
                AlterPartitionRequestPartitionData(
                    proposal.index,
                    proposal.leader_epoch,
                    [],
                    [BrokerState(broker, epoch) for broker, epoch in proposal.isr],
                    proposal.leader_recovery_state,
                    proposal.partition_epoch,
                )
            )
        return AlterPartitionRequest(self._node_id, self.broker_epoch(), list(topics.values()))

    def _answered(
        self,
        sent: Mapping[PartitionKey, tuple[Proposal, Decided]],
        response: AlterPartitionResponse | None,
    ) -> None:
        again = True
        if response is None:
            _log.warning("the controller has not answered AlterPartition; sending it again")
        elif response.error_code:
            code = ErrorCode(response.error_code).name
            _log.warning("the controller refused AlterPartition: %s; sending it again", code)
        else:
            again = self._take(sent, response)
        if again:
            self._scheduler.call_later(RETRY_BACKOFF_MS, self._send)
        else:
            self._send()

    def _take(
        self,
        sent: Mapping[PartitionKey, tuple[Proposal, Decided]],
        response: AlterPartitionResponse,
    ) -> bool:
        """Hand out the answers; whether some must be sent again."""
        answers = {
            (topic.topic_id, partition.partition_index): partition
            for topic in response.topics
            for partition in topic.partitions
        }
        again = False
        for key, (proposal, decided) in sent.items():
            answer = answers.get(key)
            outcome = None if answer is None else _outcome(answer)
            if outcome is None:
                code = "no answer" if answer is None else ErrorCode(answer.error_code).name
                _log.warning(
                    "AlterPartition of partition %d: %s; sending it again", proposal.index, code
                )
                again = True
                continue
            del self._waiting[key]
            decided(outcome)
        return again


def _outcome(answer: AlterPartitionResponsePartitionData) -> Altered | ErrorCode | None:
    if not answer.error_code:
        return Altered(answer.leader_epoch, answer.partition_epoch, tuple(answer.isr))
    error = ErrorCode(answer.error_code)
    return error if error in FINAL_ERRORS else None
