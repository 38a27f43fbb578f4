"""Transactions in a data folder that Ottla and Apache Kafka open in turn.

What one left committed, aborted or open in `__consumer_offsets` and `__transaction_state`, the
other finds, and goes on with. `test_folder_opens_in_kafka.py` has the same of sequences and ids.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.clients.group_conversation import TOPIC, fetching, prepare
from tests.clients.transactional_offsets_conversation import (
    committing_in_transaction,
    find_transaction_coordinator,
)
from tests.clients.wire_client import WireClient
from tests.compat.opened_folders import opened
from tests.tools.waiting import wait_until

pytestmark = pytest.mark.java

UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT
AGAIN = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)


class Producer:
    """A transactional producer of protocol v2, whose broker may be another one each time."""

    def __init__(self, client: WireClient, name: str) -> None:
        self.name = name
        find_transaction_coordinator(client, name)
        answer = _settled(client, InitProducerIdRequest(name, 600_000, -1, -1), 5)
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch

    @property
    def _identity(self) -> dict[str, Any]:
        return {
            "transactional_id": self.name,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }

    def commit_offset(self, client: WireClient, offset: int) -> None:
        """For the group of the producer's own name."""
        request = committing_in_transaction(self.name, offset, **self._identity)
        deadline = time.monotonic() + 90
        while (code := client.call(request, 5).topics[0].partitions[0].error_code) in AGAIN:
            assert time.monotonic() < deadline, ErrorCode(code).name
            time.sleep(0.02)
        assert code == 0, ErrorCode(code).name

    def end(self, client: WireClient, *, committed: bool) -> None:
        answer = _settled(client, EndTxnRequest(**self._identity, committed=committed), 5)
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        wait_until(lambda: not offset_of(client, self.name)[1], "the offset, without an error")


def _settled(client: WireClient, request: Any, version: int) -> Any:
    deadline = time.monotonic() + 90
    while (answer := client.call(request, version)).error_code in AGAIN:
        assert time.monotonic() < deadline, ErrorCode(answer.error_code).name
        time.sleep(0.02)
    assert answer.error_code == 0, ErrorCode(answer.error_code).name
    return answer


def offset_of(client: WireClient, group: str) -> tuple[int, int]:
    """The stable offset, and the error in its place."""
    answer = client.call(fetching(group, [TOPIC], require_stable=True), 9).groups[0]
    assert answer.error_code == 0, ErrorCode(answer.error_code).name
    partition = answer.topics[0].partitions[0]
    return partition.committed_offset, partition.error_code


def wait_for_groups(client: WireClient, *groups: str) -> None:
    """Until their coordinators have loaded them."""
    deadline = time.monotonic() + 90
    for group in groups:
        find_transaction_coordinator(client, group)
        request = fetching(group, [TOPIC], require_stable=True)
        while client.call(request, 9).groups[0].error_code in AGAIN:
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.mark.parametrize(
    "killed",
    [
        pytest.param(False, id="stopped", marks=pytest.mark.long),
        pytest.param(True, id="killed"),
    ],
)
def test_transactions_pass_from_one_to_the_other(
    ottla_broker_factory: Callable[..., Any], tmp_path: Path, killed: bool
) -> None:
    folder = tmp_path / "data"
    names = ["committed", "aborted", "open"]
    with opened("ottla", folder, ottla_broker_factory, killed) as client:
        prepare(client)
        producers = {name: Producer(client, name) for name in names}
        for producer in producers.values():
            producer.commit_offset(client, 10)
        producers["committed"].end(client, committed=True)
        producers["aborted"].end(client, committed=False)
    expected = {"committed": (10, 0), "aborted": (-1, 0), "open": (-1, UNSTABLE)}
    offset = 10
    for by in ("kafka", "ottla"):
        with opened(by, folder, ottla_broker_factory, killed) as client:
            wait_for_groups(client, *names)
            assert {name: offset_of(client, name) for name in names} == expected
            # What was open with the one is committed with the other, and each goes on.
            producers["open"].end(client, committed=True)
            assert offset_of(client, "open") == (offset, 0)
            offset += 10
            for name in names:
                producers[name].commit_offset(client, offset)
            producers["committed"].end(client, committed=True)
            producers["aborted"].end(client, committed=False)
            expected["committed"] = (offset, 0)
