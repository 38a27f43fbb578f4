"""What a read_committed consumer gets: below the last stable offset, with what it has to skip."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.replication.transaction_marker import TransactionMarkerRequest
from protocol.errors import ErrorCode
from tests.unit.broker.apis.fetch.fetch_fixture import Fetch, offsets

READ_COMMITTED = 1


class Transactions(Fetch):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.partition = self.replicas.create("t")

    def send_records(self, pid: int, sequence: int = 0, epoch: int = 0) -> None:
        batch = self.replicas.batch(
            b"v",
            producer_id=pid,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        info = self.partition.append_as_leader(batch, 1, self.replicas.scheduler.wall_ms())
        assert not isinstance(info, ErrorCode) and not info.error
        self.partition.changed()

    def end(self, pid: int, *, commit: bool) -> None:
        marker = TransactionMarkerRequest(pid, 0, 0, commit)
        info = self.partition.append_end_txn_marker(marker, self.replicas.scheduler.wall_ms())
        assert not isinstance(info, ErrorCode) and not info.error
        self.partition.changed()

    def read(self, offset: int = 0, **options: int) -> tuple[list[int], list[tuple[int, int]]]:
        """Base offsets of the batches, and (producer id, first offset) of what was aborted."""
        self.send({("t", 0): offset}, isolation=READ_COMMITTED, **options)  # type: ignore[arg-type]
        one = self.one()
        assert not one.error_code and one.aborted_transactions is not None
        aborted = [(each.producer_id, each.first_offset) for each in one.aborted_transactions]
        return offsets(one), aborted


@pytest.fixture
def fetch(tmp_path: Path) -> Transactions:
    return Transactions(tmp_path)


def test_a_reader_of_committed_records_stops_at_an_open_transaction(fetch: Transactions) -> None:
    fetch.replicas.append("t", b"a")
    fetch.send_records(1)
    fetch.replicas.append("t", b"b")
    assert fetch.read() == ([0], [])
    assert (fetch.one().high_watermark, fetch.one().last_stable_offset) == (3, 1)
    fetch.send({("t", 0): 0})
    assert offsets(fetch.one()) == [0, 1, 2]
    assert fetch.one().aborted_transactions is None


def test_aborted_transactions_are_named_with_the_records(fetch: Transactions) -> None:
    fetch.send_records(1)
    fetch.send_records(2)
    fetch.end(2, commit=False)
    fetch.end(1, commit=True)
    fetch.send_records(2, sequence=1)
    fetch.end(2, commit=False)
    assert fetch.read() == ([0, 1, 2, 3, 4, 5], [(2, 1), (2, 4)])
    assert fetch.read(3) == ([3, 4, 5], [(2, 4)])
    assert fetch.read(6) == ([], [])


def test_a_batch_that_does_not_fit_says_nothing_of_transactions(fetch: Transactions) -> None:
    """Apache Kafka lists no transactions for it either."""
    fetch.replicas.create("u")
    fetch.replicas.append("u", b"a")
    fetch.send_records(1)
    fetch.end(1, commit=False)
    fetch.send({("u", 0): 0, ("t", 0): 0}, isolation=READ_COMMITTED, partition_max_bytes=1)
    told = fetch.partitions()
    assert told["u", 0].aborted_transactions == []
    assert told["t", 0].aborted_transactions is None


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("session", [False, True])
def test_a_parked_fetch_is_answered_by_the_marker(
    fetch: Transactions, commit: bool, session: bool
) -> None:
    number = (0, 0) if session else (0, -1)
    if session:
        fetch.send({("t", 0): 0}, session=number, isolation=READ_COMMITTED)
        number = (fetch.answers[-1].session_id, 1)
    answered = len(fetch.answers)
    fetch.send({("t", 0): 0}, session=number, isolation=READ_COMMITTED, max_wait_ms=500)
    fetch.send_records(1)
    assert len(fetch.answers) == answered
    fetch.end(1, commit=commit)
    assert len(fetch.answers) == answered + 1
    one = fetch.one()
    assert (offsets(one), one.last_stable_offset) == ([0, 1], 2)
    assert bool(one.aborted_transactions) is not commit


def test_a_damaged_transaction_index_is_an_error_of_the_partition(fetch: Transactions) -> None:
    fetch.send_records(1)
    fetch.end(1, commit=False)
    (segment,) = fetch.partition.log.segments
    Path(segment.path(".txnindex")).write_bytes(b"\0" * 33)
    segment._aborted = None
    fetch.send({("t", 0): 0}, isolation=READ_COMMITTED)
    assert fetch.one().error_code == ErrorCode.CORRUPT_MESSAGE
