"""Records by requests and answers alone."""

from __future__ import annotations

from simulation.invariants.exchanged_records import (
    LogRead,
    acknowledged_records,
    contents_of,
    fetched_records,
)
from tests.unit.simulation.exchanges import batch, fetched, produced


def test_what_was_acknowledged_and_where() -> None:
    assert list(acknowledged_records(produced(batch(b"a", b"b"), 5))) == [
        (("t", 0), 5, [(None, b"a"), (None, b"b")])
    ]
    assert list(acknowledged_records(produced(batch(b"a"), 5, error=6))) == []
    assert list(acknowledged_records(produced(batch(b"a"), -1))) == []


def test_what_belongs_to_a_transaction_is_left_out() -> None:
    data = batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    assert list(acknowledged_records(produced(data, 5))) == []


def test_what_a_fetch_gave() -> None:
    data = batch(b"a", base=3)
    assert list(fetched_records(fetched(data, 4))) == [(("t", 0), 4, [(3, (None, b"a"))])]
    assert contents_of(None) == []


def test_a_log_is_read_portion_by_portion() -> None:
    log = LogRead(0, 1)
    log.take([["t", 0, 0, 0, b"k", b"v", []]], 2)
    log.take([["t", 0, 1, 0, None, None, []]], 1)
    assert log.end == 2 and log.records == {0: (b"k", b"v"), 1: (None, None)}
