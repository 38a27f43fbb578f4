"""What a consumer makes of fetched batches."""

from __future__ import annotations

import pytest

from protocol.control_records import ControlRecordType, build_transaction_marker
from protocol.messages.fetch import AbortedTransaction
from tests.simulation.fetched_batches import bounds_of, committed_of, records_of
from tests.unit.simulation.exchanges import batch


def transaction(base: int, value: bytes) -> bytes:
    return batch(
        value, base=base, producer_id=7, producer_epoch=0, base_sequence=base,
        is_transactional=True,
    )  # fmt: skip


def marker(base: int, kind: ControlRecordType) -> bytes:
    return bytes(
        build_transaction_marker(
            kind, producer_id=7, producer_epoch=0, coordinator_epoch=0, timestamp_ms=0,
            base_offset=base,
        )
    )  # fmt: skip


def test_a_whole_fetch_has_records_and_bounds() -> None:
    data = batch(b"a", b"b") + batch(b"c", base=2) + batch(b"d", base=3)[:-1]
    assert records_of(data) == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert bounds_of(data) == (0, 3)
    assert bounds_of(None) is None and records_of(b"") == []
    with pytest.raises(ValueError, match="after offset 0 comes 5"):
        bounds_of(batch(b"a") + batch(b"b", base=5))


@pytest.mark.parametrize("kind", [ControlRecordType.ABORT, ControlRecordType.COMMIT])
def test_who_reads_what_is_committed_is_not_given_what_was_aborted(kind: ControlRecordType) -> None:
    data = transaction(0, b"x") + batch(b"plain", base=1) + marker(2, kind) + transaction(3, b"y")
    aborted = [AbortedTransaction(7, 0)] if kind is ControlRecordType.ABORT else []
    found = committed_of(data, aborted)
    assert found[-2:] == [(1, b"plain"), (3, b"y")]
    assert len(found) == (2 if aborted else 3) and len(records_of(data)) == 3
