"""Which partitions are asked for before an append, and what becomes of the answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from broker.verification.append_verification import (
    AppendVerification,
    Errors,
    Guards,
    produce_error,
)
from broker.verification.transaction_verification import (
    PartitionErrorsCallback,
    TransactionSupportedOperation,
    produce_operation,
)
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from storage.log.verification_state import VerificationGuard

VERIFY = produce_operation(11)
ADD = produce_operation(12)


class FakePartition:
    def __init__(self, index: int, found: VerificationGuard | ErrorCode | None) -> None:
        self.topic, self.index, self.found = "t", index, found

    def maybe_start_transaction_verification(self, *asked: Any) -> Any:
        assert asked == (7, 5, 1, True)
        return self.found


class Verifier:
    def __init__(self) -> None:
        self.asked: list[tuple[TopicPartition, ...]] = []
        self.done: list[PartitionErrorsCallback] = []

    def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        operation: TransactionSupportedOperation,
        done: PartitionErrorsCallback,
    ) -> None:
        assert (transactional_id, producer_id, producer_epoch) == ("id", 7, 1)
        self.asked.append(tuple(partitions))
        self.done.append(done)


def verify(
    verification: AppendVerification,
    *found: VerificationGuard | ErrorCode | None,
    operation: TransactionSupportedOperation = ADD,
) -> list[tuple[Errors, Guards]]:
    partitions: Any = {FakePartition(index, one): 5 for index, one in enumerate(found)}
    answers: list[tuple[Errors, Guards]] = []
    verification.verify("id", 7, 1, partitions, operation, lambda *answer: answers.append(answer))
    return answers


def test_only_those_are_asked_for_whose_transaction_has_not_begun() -> None:
    verifier, guard = Verifier(), VerificationGuard()
    answers = verify(
        AppendVerification(verifier, True), None, guard, ErrorCode.NOT_LEADER_OR_FOLLOWER
    )
    assert answers == []
    asked = TopicPartition("t", 1)
    assert verifier.asked == [(asked,)]
    verifier.done[0]({asked: ErrorCode.INVALID_TXN_STATE})
    errors, guards = answers[0]
    assert errors == {
        asked: ErrorCode.INVALID_TXN_STATE,
        ("t", 2): ErrorCode.NOT_LEADER_OR_FOLLOWER,
    }
    assert guards == {asked: guard}


def test_nobody_is_asked_when_all_have_begun() -> None:
    verifier = Verifier()
    assert verify(AppendVerification(verifier, True), None, None) == [({}, {})]
    assert verifier.asked == []


@pytest.mark.parametrize(
    ("enabled", "operation", "asks"),
    [(True, VERIFY, True), (False, VERIFY, False), (False, ADD, True)],
)
def test_the_config_turns_off_questions_but_no_additions(
    enabled: bool, operation: TransactionSupportedOperation, asks: bool
) -> None:
    class Partition(FakePartition):
        def maybe_start_transaction_verification(self, *asked: Any) -> Any:
            return self.found

    verifier = Verifier()
    answers: list[tuple[Errors, Guards]] = []
    partitions: Any = {Partition(0, VerificationGuard()): 5}
    verification = AppendVerification(verifier, not enabled)
    verification.set_enabled(enabled)
    verification.verify("id", 7, 1, partitions, operation, lambda *answer: answers.append(answer))
    assert bool(verifier.asked) is asks
    assert answers == ([] if asks else [({}, {})])


def test_errors_that_an_old_client_would_not_retry_become_one_that_it_does() -> None:
    concurrent = ErrorCode.CONCURRENT_TRANSACTIONS
    assert produce_error(concurrent, VERIFY)[0] is ErrorCode.NOT_ENOUGH_REPLICAS
    assert produce_error(concurrent, ADD) == (concurrent, None), "it knows this one"
    for error in (
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    ):
        code, words = produce_error(error, ADD)
        assert code is ErrorCode.NOT_ENOUGH_REPLICAS
        assert words and words.endswith(f"Underlying error: {error.name}")
    assert produce_error(ErrorCode.INVALID_TXN_STATE, ADD) == (
        ErrorCode.INVALID_TXN_STATE,
        "Partition was not added to the transaction",
    )
    abortable = ErrorCode.TRANSACTION_ABORTABLE
    assert produce_error(abortable, ADD) == (abortable, None)
