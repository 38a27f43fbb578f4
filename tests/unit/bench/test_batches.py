"""librdkafka without its binding: what does not arrive is said, and what it does not know."""

from __future__ import annotations

import pytest

from bench.batches import BatchProducer
from bench.librdkafka import Lot

NOBODY = "127.0.0.1:1"


def test_deliveries_that_fail_end_the_load() -> None:
    lot = Lot([b"a", b"b"])
    settings = {"message.timeout.ms": 100, "log_level": 0, "linger.ms": 0}
    with (
        BatchProducer(NOBODY, **settings) as producer,
        pytest.raises(RuntimeError, match="deliveries failed: Local: Message timed out"),
    ):
        producer.load("t", [lot], 0.01)


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(ValueError, match='No such configuration property: "no.such"'):
        BatchProducer(NOBODY, **{"no.such": 1})
