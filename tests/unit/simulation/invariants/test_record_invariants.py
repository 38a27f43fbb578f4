"""Histories that are made up, one anomaly each."""

from __future__ import annotations

import pytest

from ground.sim_scheduler import SimScheduler
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.delete_topics import DeleteTopicsRequest
from simulation.invariants import record_invariants
from simulation.invariants.exchanged_records import Content, LogRead
from simulation.invariants.invariant import Promises
from simulation.invariants.record_invariants import (
    BatchesAreOnce,
    NothingAboveTheHighWatermark,
    RecordsAreKept,
)
from simulation.sim_trace import Violation
from tests.unit.simulation.exchanges import (
    answered_exchange,
    batch,
    fetched,
    produced,
    started,
    write,
)


class Final:
    """What the last reader found in t-0."""

    def __init__(self, records: dict[int, Content], start: int = 0) -> None:
        self.partitions = {(bytes(16), 0): LogRead(start, 100, records)}
        self.names = {(bytes(16), 0): "t"}


def kept() -> RecordsAreKept:
    return RecordsAreKept(SimScheduler(), Promises())


def test_what_was_acknowledged_is_there() -> None:
    one = kept()
    one.received(produced(batch(b"a", b"b"), 0))
    one.received(produced(batch(b"zero"), 7, acks=0))
    one.at_end(Final({0: (None, b"a"), 1: (None, b"b")}))
    one.at_end(Final({1: (None, b"b")}, start=1))
    with pytest.raises(Violation, match="I1: b'b' was acknowledged .* 1 of t-0, .* nothing at the"):
        one.at_end(Final({0: (None, b"a")}))
    with pytest.raises(Violation, match="there is b'x' at the end"):
        one.at_end(Final({0: (None, b"x"), 1: (None, b"b")}))


def test_an_offset_has_one_content() -> None:
    one = kept()
    one.received(produced(batch(b"a"), 0))
    one.received(fetched(batch(b"a"), 1))
    with pytest.raises(Violation, match="I2: offset 0 of t-0 held b'a', b'x' is read by client"):
        one.received(fetched(batch(b"x"), 1))


def test_topics_that_lose_records_by_intent_are_left_out() -> None:
    for request in (
        DeleteTopicsRequest(topic_names=["t"]),
        CreateTopicsRequest(
            [CreatableTopic("t", configs=[CreatableTopicConfig("cleanup.policy", "compact")])]
        ),
    ):
        one = kept()
        one.sent(answered_exchange(request))
        one.received(produced(batch(b"a"), 0))
        one.at_end(Final({}))


def test_nobody_is_given_what_is_above_the_high_watermark() -> None:
    one = NothingAboveTheHighWatermark(SimScheduler(), Promises())
    one.received(fetched(batch(b"a", b"b"), 2))
    with pytest.raises(Violation, match="I6: client is given 1 of t-0, above 1"):
        one.received(fetched(batch(b"a", b"b"), 1))


def test_a_numbered_batch_is_there_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run = started(brokers=1)
    write(run, b"a", b"b")
    one = BatchesAreOnce(run.world, run.promises)
    one.node_served(run.brokers[0])
    one.at_end(None)
    (broker,) = run.brokers
    partition = broker.replicas.partition("t", 0)
    assert partition is not None
    found = record_invariants._batches(partition)
    assert [batch.base_sequence for batch in found] == [0, 1]
    monkeypatch.setattr(record_invariants, "_batches", lambda _: [*found, found[0]])
    with pytest.raises(Violation, match="I3: .* has batch 0 of producer"):
        one.at_end(None)
