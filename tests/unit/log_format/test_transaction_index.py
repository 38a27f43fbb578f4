"""The format of `.txnindex`."""

from __future__ import annotations

import pytest

from log_format.transaction_index import AbortedTxn, decode_transactions, encode_transactions

ONE = AbortedTxn(producer_id=5, first_offset=10, last_offset=20, last_stable_offset=15)


def test_an_entry_lies_as_kafka_lays_it() -> None:
    data = encode_transactions([ONE])
    assert data.hex() == ("00000000000000000005000000000000000a0000000000000014000000000000000f")
    later = encode_transactions([ONE._replace(last_offset=21)])
    assert decode_transactions(data + later) == [ONE, ONE._replace(last_offset=21)]
    assert decode_transactions(data * 2) is None, "markers lie one behind the other"
    assert decode_transactions(b"") == []


@pytest.mark.parametrize(
    "damaged",
    [
        encode_transactions([ONE])[:-1],
        b"\0\1" + encode_transactions([ONE])[2:],
        encode_transactions([ONE._replace(first_offset=21)]),
        encode_transactions([ONE._replace(first_offset=-1)]),
    ],
)
def test_damage_is_seen(damaged: bytes) -> None:
    assert decode_transactions(damaged) is None
