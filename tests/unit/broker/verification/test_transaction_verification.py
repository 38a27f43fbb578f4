"""Which version of a request asks for what."""

from __future__ import annotations

import pytest

from broker.verification.transaction_verification import (
    TransactionSupportedOperation,
    produce_operation,
    txn_offset_commit_operation,
)

OLD = TransactionSupportedOperation.DEFAULT_ERROR
GENERIC = TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED
ADD = TransactionSupportedOperation.ADD_PARTITION


@pytest.mark.parametrize(("version", "operation"), [(3, OLD), (10, OLD), (11, GENERIC), (12, ADD)])
def test_produce_versions(version: int, operation: TransactionSupportedOperation) -> None:
    assert produce_operation(version) is operation


@pytest.mark.parametrize(("version", "operation"), [(0, OLD), (3, OLD), (4, GENERIC), (5, ADD)])
def test_txn_offset_commit_versions(version: int, operation: TransactionSupportedOperation) -> None:
    assert txn_offset_commit_operation(version) is operation


def test_only_the_second_protocol_bumps_epochs() -> None:
    assert [one.supports_epoch_bump for one in (OLD, GENERIC, ADD)] == [False, False, True]
