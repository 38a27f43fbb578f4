"""What an interceptor sees of a batch, and what becomes of its answers."""

from __future__ import annotations

from typing import Any

import pytest

from broker.plugins.interception import REFUSALS_MAX, Interceptor
from broker.plugins.loop_calls import LoopCalls
from ground.sliced_work import in_one_go
from ottla.plugins.interceptor import ProducedRecord, ProduceInterceptor
from protocol.compression import Codec
from protocol.records import RecordBatchBuilder


class Refusing(ProduceInterceptor):
    """Refuses values that begin with `no`."""

    def __init__(self) -> None:
        self.seen: list[ProducedRecord] = []

    def refusal(self, record: ProducedRecord) -> str | None:
        self.seen.append(record)
        if record.value == b"fail":
            raise KeyError("x")
        if record.value == b"nonsense":
            return 7  # type: ignore[return-value]
        return "it says no" if (record.value or b"").startswith(b"no") else None


def batch(*values: bytes | None, codec: int = Codec.NONE) -> memoryview:
    builder = RecordBatchBuilder(compression=codec)
    for at, value in enumerate(values):
        builder.append(b"k", value, 1_000 + at, [("h", b"1"), ("n", None)])
    return memoryview(builder.build())


def look(records: memoryview) -> tuple[Refusing, Any]:
    refusing = Refusing()
    interceptor = Interceptor(refusing, LoopCalls("acme:I", lambda: 0.0))
    return refusing, in_one_go(interceptor.check("t", 3, records))


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.ZSTD])
def test_it_sees_each_record_whole(codec: int) -> None:
    refusing, errors = look(batch(b"a", None, codec=codec))
    assert errors == []
    headers = (("h", b"1"), ("n", None))
    assert refusing.seen == [
        ProducedRecord("t", 3, b"k", b"a", headers, 1_000),
        ProducedRecord("t", 3, b"k", None, headers, 1_001),
    ]


def test_its_refusals_are_told_by_index() -> None:
    _, errors = look(batch(b"a", b"no", b"b", b"not"))
    assert errors == [(1, "it says no"), (3, "it says no")]


def test_one_that_fails_or_gives_nonsense_refuses(caplog: pytest.LogCaptureFixture) -> None:
    _, errors = look(batch(b"fail", b"nonsense"))
    assert [index for index, _ in errors] == [0, 1]
    assert "acme:I failed" in caplog.messages


def test_it_is_not_asked_about_more_than_can_be_told() -> None:
    refusing, errors = look(batch(*[b"no"] * (REFUSALS_MAX + 5)))
    assert len(errors) == len(refusing.seen) == REFUSALS_MAX


def test_a_long_batch_takes_several_slices() -> None:
    steps = Interceptor(Refusing(), LoopCalls("acme:I", lambda: 0.0)).check(
        "t", 0, batch(*[b"a"] * 250)
    )
    assert sum(1 for _ in steps) == 2


def test_what_is_no_batch_is_left_to_the_log() -> None:
    damaged = batch(b"a", b"b")
    damaged[61] = 0x7F  # the first record's length
    for records in (memoryview(b"nonsense"), damaged):
        assert look(records)[1] == []
