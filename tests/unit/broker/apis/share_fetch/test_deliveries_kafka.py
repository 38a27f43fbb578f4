"""The scripts of `tests.golden.share_delivery_cases`, with the answers of an Apache Kafka."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from broker.replication.transaction_marker import TransactionMarkerRequest
from protocol.errors import ErrorCode
from tests.golden.share_delivery_cases import RECORDED, SCRIPTS, Talk
from tests.unit.broker.apis.share_fetch.share_fixture import ShareLeader

PRODUCER = 1


class LeaderTalk(ShareLeader):
    """The conversation with a leader in process (`Talk`)."""

    sequence = 0

    def transaction(self, records: int, *, commit: bool) -> None:
        """Append a transaction to partition 0."""
        batch = self.replicas.batch(
            *[b"v"] * records,
            producer_id=PRODUCER,
            producer_epoch=0,
            base_sequence=self.sequence,
            is_transactional=True,
        )
        self.sequence += records
        partition = self.replicas.partition("t")
        now_ms = self.scheduler.wall_ms()
        info = partition.append_as_leader(batch, 1, now_ms)
        assert not isinstance(info, ErrorCode) and not info.error
        marker = TransactionMarkerRequest(PRODUCER, 0, 0, commit)
        info = partition.append_end_txn_marker(marker, now_ms)
        assert not isinstance(info, ErrorCode) and not info.error
        partition.changed()

    def delete_before(self, offset: int) -> None:
        """Delete the records of partition 0 before an offset."""
        error, _ = self.replicas.partition("t").delete_records(offset)
        assert error is ErrorCode.NONE

    def settle(self) -> None:
        """Do nothing: writes are done at once."""

    def fetch(self, *arguments: object, **options: object) -> None:
        """Send a ShareFetch, and let its time pass."""
        super().fetch(*arguments, **options)  # type: ignore[arg-type]
        self.scheduler.run_for(500)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_deliveries_are_those_of_kafka(script: Callable[[Talk], None], tmp_path: Path) -> None:
    talk = LeaderTalk(tmp_path, partitions=3)
    script(talk)
    recorded = json.loads(RECORDED.read_text())[script.__name__]
    assert talk.seen == recorded
