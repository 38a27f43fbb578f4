"""Proposals of ISRs on their way to a controller that a test plays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.replication.alter_partition_manager import (
    FINAL_ERRORS,
    Altered,
    AlterPartitionManager,
    IsrProposal,
)
from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode
from protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
)

TOPIC, OTHER = b"t" * 16, b"o" * 16


class Controller:
    """Keeps what it was asked; a test answers."""

    def __init__(self) -> None:
        self.scheduler = SimScheduler()
        self.asked: list[tuple[AlterPartitionRequest, Callable[[Any], None]]] = []
        self.manager = AlterPartitionManager(
            self.scheduler, lambda request, done: self.asked.append((request, done)), 1, lambda: 7
        )
        self.answers: list[tuple[int, Altered | ErrorCode]] = []

    def propose(self, index: int, topic: bytes = TOPIC) -> None:
        proposal = IsrProposal(topic, index, 3, 4, [(1, 7), (2, 9)], 0)
        self.manager.submit(proposal, lambda answer: self.answers.append((index, answer)))

    def run(self, ms: float = 0) -> None:
        self.scheduler.run_for(ms)

    def answer(self, *partitions: AlterPartitionResponsePartitionData, error: int = 0) -> None:
        topics = [AlterPartitionResponseTopicData(TOPIC, list(partitions))]
        self.asked[-1][1](AlterPartitionResponse(0, error, topics))


def altered(index: int, error: ErrorCode = ErrorCode.NONE) -> AlterPartitionResponsePartitionData:
    return AlterPartitionResponsePartitionData(index, int(error), 1, 3, [1, 2], 0, 5)


@pytest.fixture
def controller() -> Controller:
    return Controller()


def test_what_is_proposed_in_one_go_is_one_request(controller: Controller) -> None:
    controller.propose(0)
    controller.propose(1)
    controller.propose(0, OTHER)
    controller.run()
    (request, _), *more = controller.asked
    assert not more
    assert (request.broker_id, request.broker_epoch) == (1, 7)
    assert [(t.topic_id, [p.partition_index for p in t.partitions]) for t in request.topics] == [
        (TOPIC, [0, 1]),
        (OTHER, [0]),
    ]
    first = request.topics[0].partitions[0]
    assert (first.leader_epoch, first.partition_epoch) == (3, 4)
    assert [(b.broker_id, b.broker_epoch) for b in first.new_isr_with_epochs] == [(1, 7), (2, 9)]


def test_an_answer_goes_to_its_proposal(controller: Controller) -> None:
    controller.propose(0)
    controller.propose(1)
    controller.run()
    controller.answer(altered(1, ErrorCode.INELIGIBLE_REPLICA), altered(0))
    assert controller.answers == [
        (0, Altered(3, 5, (1, 2))),
        (1, ErrorCode.INELIGIBLE_REPLICA),
    ]
    controller.propose(0)
    controller.run()
    (topic,) = controller.asked[1][0].topics
    assert [one.partition_index for one in topic.partitions] == [0], "none of them waits any more"


def test_one_request_is_under_way_at_a_time(controller: Controller) -> None:
    controller.propose(0)
    controller.run()
    controller.propose(1)
    controller.run(1000)
    assert len(controller.asked) == 1
    controller.answer(altered(0))
    assert [p.partition_index for t in controller.asked[-1][0].topics for p in t.partitions] == [1]


def test_a_partition_has_one_proposal_at_a_time(controller: Controller) -> None:
    controller.propose(0)
    controller.propose(0)
    assert controller.answers == []  # never from within: the caller is not ready yet
    controller.run()
    assert controller.answers == [(0, ErrorCode.OPERATION_NOT_ATTEMPTED)]
    controller.answer(altered(0))
    assert controller.answers[1:] == [(0, Altered(3, 5, (1, 2)))]


@pytest.mark.parametrize("error", FINAL_ERRORS)
def test_a_final_refusal_is_handed_on(controller: Controller, error: ErrorCode) -> None:
    controller.propose(0)
    controller.run()
    controller.answer(altered(0, error))
    controller.run(1000)
    assert controller.answers == [(0, error)]
    assert len(controller.asked) == 1


def test_what_may_pass_is_sent_again(controller: Controller) -> None:
    controller.propose(0)
    controller.run()
    controller.asked[-1][1](None)  # no answer in time
    assert len(controller.asked) == 1
    controller.run(50)
    controller.answer(error=int(ErrorCode.STALE_BROKER_EPOCH))
    controller.run(50)
    controller.answer()  # left out
    controller.run(50)
    controller.answer(altered(0, ErrorCode.UNKNOWN_SERVER_ERROR))
    controller.run(50)
    assert len(controller.asked) == 5
    assert controller.answers == []
    controller.answer(altered(0))
    assert controller.answers == [(0, Altered(3, 5, (1, 2)))]
    controller.run(1000)
    assert len(controller.asked) == 5
