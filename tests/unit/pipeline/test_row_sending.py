"""What an executor sends of a batch of rows, and where."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from pipeline import row_sending
from pipeline.row_sending import COLUMNS, SendRows


class Remembering:
    """A sender that sends nothing."""

    sent: dict[str, list[tuple[Any, ...]]] = {}

    def __init__(self, settings: dict[str, str], topic: str) -> None:
        assert settings == {"bootstrap.servers": "k:1"}
        self._own = self.sent.setdefault(topic, [])
        self.acknowledged = 0

    def send(self, *record: Any) -> None:
        self._own.append(record)

    def flush(self) -> None:
        self.acknowledged = len(self._own)


def batch(*rows: tuple[Any, ...]) -> Any:
    kinds = [
        pa.binary(),
        pa.binary(),
        pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
        pa.int64(),
        pa.int32(),
        pa.string(),
    ]
    columns = zip(*rows, strict=True)
    arrays = [pa.array(one, kind) for one, kind in zip(columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, list(COLUMNS))


@pytest.mark.parametrize(("same_partitions", "partition"), [(True, 4), (False, -1)])
def test_keys_headers_and_timestamps(
    monkeypatch: pytest.MonkeyPatch, same_partitions: bool, partition: int
) -> None:
    monkeypatch.setattr(row_sending, "Sender", Remembering)
    monkeypatch.setattr(Remembering, "sent", {})
    headers = [{"key": "h", "value": b"x"}, {"key": "n", "value": None}]
    given = [
        batch((b"k", b"v", headers, 7, 4, None)),
        batch((None, None, None, None, 4, None), (None, b"{}", None, 1, 4, "{half")),
    ]
    send = SendRows({"bootstrap.servers": "k:1"}, "t", "dead", same_partitions, "a.json")
    (done,) = send(given)
    assert done.to_pylist() == [{"sent": 2, "refused": 1}]
    assert Remembering.sent == {
        "t": [
            (b"k", b"v", 7, [("h", b"x"), ("n", None)], partition),
            (None, None, 0, [], partition),
        ],
        "dead": [
            (None, b"{half", 0, [("reason", row_sending._REASON), ("source", b"a.json")]),
        ],
    }


def test_without_a_misfit_nothing_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_sending, "Sender", Remembering)
    monkeypatch.setattr(Remembering, "sent", {})
    (done,) = SendRows({"bootstrap.servers": "k:1"}, "t", "dead", False, "x")([])
    assert done.to_pylist() == [{"sent": 0, "refused": 0}] and list(Remembering.sent) == ["t"]
