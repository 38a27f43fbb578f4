"""The sender of AlterPartition, which proposes new ISRs to the controller (KIP-497).

Owns the unanswered proposals, at most one for each partition that this broker leads. It sends one
request at a time, with all waiting proposals. It sends a proposal again until the controller has
decided; the leader that proposed it ignores an answer that came too late.

Never knows what an ISR means. Follows Kafka's `AlterPartitionManager`.
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

# The errors that end a proposal. After any other error it is sent again.
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
class IsrProposal:
    """A proposed ISR, with each member's broker epoch at its last fetch (-1: unknown; KIP-903)."""

    topic_id: bytes
    index: int
    leader_epoch: int
    partition_epoch: int
    isr: list[tuple[int, int]]
    leader_recovery_state: int


@dataclass(frozen=True, slots=True)
class Altered:
    """A partition as the controller has it after an accepted proposal."""

    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]


Decided = Callable[[Altered | ErrorCode], None]


class AlterPartitionManager:
    """The ISR proposals of this broker and their answers."""

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
        self._waiting: dict[PartitionKey, tuple[IsrProposal, Decided]] = {}
        self._under_way = False

    def submit(self, proposal: IsrProposal, decided: Decided) -> None:
        """Send a proposal to the controller, in a later turn. `decided` is called once, later, with
        the controller's decision.

        The decision is OPERATION_NOT_ATTEMPTED if an older proposal for this partition has no
        answer yet.
        """
        key = (proposal.topic_id, proposal.index)
        if key in self._waiting:
            self._scheduler.call_soon(lambda: decided(ErrorCode.OPERATION_NOT_ATTEMPTED))
            return
        self._waiting[key] = (proposal, decided)
        if not self._under_way:
            # Proposals of the same turn, as after the loss of a follower, share a request.
            self._under_way = True
            self._scheduler.call_soon(self._send)

    def _send(self) -> None:
        """Send all waiting proposals in one request. If there are none, note that no request is
        under way."""
        sent = dict(self._waiting)
        if not sent:
            self._under_way = False
            return
        request = self._request([proposal for proposal, _ in sent.values()])
        self._to_controller(request, lambda response: self._answered(sent, response))

    def _request(self, proposals: list[IsrProposal]) -> AlterPartitionRequest:
        """Return the request with these proposals, grouped by topic."""
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
        sent: Mapping[PartitionKey, tuple[IsrProposal, Decided]],
        response: AlterPartitionResponse | None,
    ) -> None:
        """Pass the controller's decisions to the leaders that proposed, then send the waiting
        proposals.

        If the answer is missing or an error, or leaves a proposal undecided, sending waits for
        RETRY_BACKOFF_MS.
        """
        must_retry = True
        if response is None:
            _log.warning("the controller has not answered AlterPartition; sending it again")
        elif response.error_code:
            code = ErrorCode(response.error_code).name
            _log.warning("the controller refused AlterPartition: %s; sending it again", code)
        else:
            must_retry = self._take(sent, response)
        if must_retry:
            self._scheduler.call_later(RETRY_BACKOFF_MS, self._send)
        else:
            self._send()

    def _take(
        self,
        sent: Mapping[PartitionKey, tuple[IsrProposal, Decided]],
        response: AlterPartitionResponse,
    ) -> bool:
        """Remove each decided proposal and call its `decided`. Return whether some proposals must
        be sent again."""
        answers = {
            (topic.topic_id, partition.partition_index): partition
            for topic in response.topics
            for partition in topic.partitions
        }
        must_retry = False
        for key, (proposal, decided) in sent.items():
            answer = answers.get(key)
            outcome = None if answer is None else _outcome(answer)
            if outcome is None:
                code = "no answer" if answer is None else ErrorCode(answer.error_code).name
                _log.warning(
                    "AlterPartition of partition %d: %s; sending it again", proposal.index, code
                )
                must_retry = True
                continue
            del self._waiting[key]
            decided(outcome)
        return must_retry


def _outcome(answer: AlterPartitionResponsePartitionData) -> Altered | ErrorCode | None:
    """Return the new state of the partition, or a final error. None: propose it again."""
    if not answer.error_code:
        return Altered(answer.leader_epoch, answer.partition_epoch, tuple(answer.isr))
    error = ErrorCode(answer.error_code)
    return error if error in FINAL_ERRORS else None
