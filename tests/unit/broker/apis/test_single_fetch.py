"""The short way answers as the long one does, and leaves to it what it does not know."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.message_codec import decode_response, encode_request
from protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from tests.unit.broker.apis.fetch_fixture import Broker, joined
from tests.unit.broker.fake_connection import Reply
from tests.unit.broker.replica_fixture import topic_id_of

MIB = 1 << 20
SHORT = (11, 12, 13, 16, 18)
CALLS_MAX = 19  # one of them is the test's own


def frame(
    wanted: dict[int, int],
    version: int = 12,
    *,
    session: tuple[int, int] = (0, -1),
    partition_max_bytes: int = MIB,
    leader_epoch: int = -1,
    fetched_epoch: int = -1,
    client_id: str = "me",
    **options: Any,
) -> bytes:
    """A Fetch of `{partition: offset}`."""
    by_id = version >= 13
    asked = [
        FetchPartition(
            index, leader_epoch, offset, fetched_epoch, partition_max_bytes=partition_max_bytes
        )
        for index, offset in wanted.items()
    ]
    topic = FetchTopic("" if by_id else "t", topic_id_of("t") if by_id else bytes(16), asked)
    fields = {"min_bytes": 1, "max_bytes": MIB, **options}
    request = FetchRequest(
        session_id=session[0],
        session_epoch=session[1],
        topics=[topic] if asked else [],
        **fields,
    )
    return encode_request(request, version, 9, client_id)


def data_of(reply: Reply, version: int) -> PartitionData:
    """Of the one partition of the one answer."""
    (parts,) = reply
    response = decode_response(ApiKey.FETCH, memoryview(joined(parts))[4:], version)[1]
    assert isinstance(response, FetchResponse)
    return response.responses[0].partitions[0]


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    return Broker(tmp_path)


@pytest.mark.parametrize("version", SHORT)
def test_records_that_are_there_go_the_short_way(broker: Broker, version: int) -> None:
    broker.replicas.append("t", b"a")
    end = broker.replicas.append("t", b"b", b"c")
    for offset in (0, end):  # and the second time at once, as only the offset is another
        response = broker.fetch(frame({0: offset}, version, max_wait_ms=500), version)
        (data,) = response.responses[0].partitions
        assert (data.error_code, data.high_watermark, data.log_start_offset) == (0, 3, 0)
    assert (broker.short_way, broker.at_once, broker.long_way, end) == (1, 1, 0, 1)
    assert broker.fetch(frame({1: 0}, version), version).responses[0].partitions[0].records == b""
    assert (broker.short_way, broker.at_once, broker.long_way) == (1, 1, 1)


@pytest.mark.parametrize("version", SHORT)
def test_a_session_of_one_partition_goes_the_short_way(broker: Broker, version: int) -> None:
    for value in (b"a", b"b", b"c"):
        broker.replicas.append("t", value)
    opened = broker.fetch(frame({0: 0}, version, session=(0, 0), max_bytes=1), version)
    session = opened.session_id
    assert session and broker.long_way == 1
    for offset in (1, 2):
        broker.fetch(frame({0: offset}, version, session=(session, offset), max_bytes=1), version)
    assert (broker.short_way, broker.at_once, broker.long_way) == (1, 1, 1)
    # Nothing is there any more: that waits, or is said in no words.
    assert broker.send(frame({0: 3}, version, session=(session, 3), max_wait_ms=500)) == []
    assert (broker.short_way, broker.at_once, broker.long_way) == (1, 1, 2)


@pytest.mark.parametrize("version", SHORT)
def test_at_the_end_a_reader_without_a_session_waits_the_short_way(
    broker: Broker, version: int
) -> None:
    broker.replicas.append("t", b"a")
    for offset in (1, 2):  # and as well for the second time
        waiting = broker.send(frame({0: offset}, version, max_wait_ms=500))
        assert waiting == []
        broker.replicas.append("t", b"other", index=1)
        assert waiting == []
        broker.replicas.append("t", b"b")
        assert data_of(waiting, version).high_watermark == offset + 1
    assert (broker.short_way, broker.long_way) == (2, 0)
    assert broker.handler.metrics[1].requests == 2


@pytest.mark.parametrize("version", SHORT)
def test_a_wait_that_ends_with_nothing_is_answered_the_long_way(
    broker: Broker, version: int
) -> None:
    waiting = broker.send(frame({0: 0}, version, max_wait_ms=500))
    broker.replicas.scheduler.run_for(499)
    assert waiting == []
    broker.replicas.scheduler.run_for(1)
    data = data_of(waiting, version)
    assert (data.error_code, data.high_watermark, bytes(data.records or b"")) == (0, 0, b"")
    assert (broker.short_way, broker.long_way) == (1, 1)
    assert broker.handler.metrics[1].requests == 1


def test_a_wait_ends_where_its_partition_does(broker: Broker) -> None:
    broker.replicas.create("moves", replicas=[1, 2])
    wanted = FetchPartition(0, 0, 0, partition_max_bytes=MIB)
    topics = [FetchTopic("", topic_id_of("moves"), [wanted])]
    request = FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=MIB, topics=topics)
    moves = broker.send(encode_request(request, 13, 9, "me"))
    goes = broker.send(frame({0: 0}, max_wait_ms=500), connection=1)
    assert (moves, goes, broker.short_way) == ([], [], 2)
    broker.replicas.move_leader("moves", 2)
    assert data_of(moves, 13).error_code == ErrorCode.FENCED_LEADER_EPOCH
    broker.replicas.delete("t")
    assert data_of(goes, 12).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    "options", [{"min_bytes": 0}, {"min_bytes": 100}, {"max_wait_ms": 0}, {"session": (0, 0)}]
)
def test_other_waits_go_the_long_way(broker: Broker, options: dict[str, Any]) -> None:
    broker.send(frame({0: 0}, **{"max_wait_ms": 500, **options}))
    assert (broker.short_way, broker.long_way) == (0, 1)


def test_readers_are_forgotten_when_there_are_many(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.apis.single_fetch.READERS_MAX", 2)
    broker.replicas.append("t", b"a")
    for turn in range(3):
        for most in range(3):
            request = frame({0: 0}, partition_max_bytes=MIB + most)
            assert broker.fetch(request, 12).responses[0].partitions[0].records, turn
    assert broker.long_way == 0


def test_a_reader_with_a_long_name_is_answered_and_not_remembered(broker: Broker) -> None:
    broker.replicas.append("t", b"a")
    request = frame({0: 0}, client_id="c" * 600)
    broker.connections[0].at_once = None
    assert joined(broker.send(request)[0])
    assert (broker.short_way, broker.long_way) == (1, 0)
    assert not broker.single._readers


def test_news_of_another_partition_go_the_long_way(broker: Broker) -> None:
    broker.replicas.append("t", b"a")
    session = broker.fetch(frame({0: 0, 1: 0}, session=(0, 0)), 12).session_id
    broker.replicas.append("t", b"b", index=1)
    named = broker.fetch(frame({0: 0}, session=(session, 1)), 12).responses[0].partitions
    assert sorted(one.partition_index for one in named) == [0, 1]
    assert broker.short_way == 0


def test_what_is_refused_or_unknown_goes_the_long_way(broker: Broker) -> None:
    broker.replicas.append("t", b"a")
    errors = [
        broker.fetch(one, 12).responses[0].partitions[0].error_code
        for one in (
            frame({7: 0}),
            frame({0: 5}),
            frame({0: 0}, leader_epoch=9),
            frame({0: 0}, leader_epoch=0, fetched_epoch=5),
        )
    ]
    assert errors[:3] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    ]
    assert broker.fetch(frame({0: 0}, session=(5, 1)), 12).error_code
    assert (broker.short_way, broker.long_way) == (0, 5)


def test_a_follower_answers_consumers_the_short_way_too(broker: Broker) -> None:
    broker.replicas.create("f", replicas=[1, 2], isr=[1, 2])
    partition = broker.replicas.partition("f")
    broker.replicas.append("f", b"x")
    partition.log.high_watermark = 1
    broker.replicas.move_leader("f", 2)
    assert not partition.is_leader
    wanted = FetchPartition(0, -1, 0, partition_max_bytes=MIB)
    request = FetchRequest(
        min_bytes=1, topics=[FetchTopic("", topic_id_of("f"), [wanted])], max_bytes=MIB
    )
    response = broker.fetch(encode_request(request, 13, 9, "me"), 13)
    assert response.responses[0].partitions[0].error_code == 0
    assert broker.short_way == 1


@pytest.mark.parametrize("seed", range(30))
def test_both_ways_answer_the_same(tmp_path: Path, seed: int) -> None:
    """Random loads of two brokers, of which one has the short way: every byte, count, session."""
    pick = random.Random(seed)
    both = [Broker(tmp_path / "short"), Broker(tmp_path / "long", quick=False)]
    session_version: dict[int, int] = {}
    epochs: dict[int, int] = {}
    options: dict[str, int] = {}
    sessionless_version = 12
    for _ in range(120):
        if pick.random() < 0.3:
            index, values = (
                pick.randrange(3),
                [b"v" * pick.randrange(1, 300)] * pick.randrange(1, 3),
            )
            for broker in both:
                broker.replicas.append("t", *values, index=index)
            continue
        if pick.random() < 0.1:
            wait_ms = pick.choice([1, 100, 600])
            for broker in both:
                broker.replicas.scheduler.run_for(wait_ms)
            continue
        if pick.random() < 0.1:
            sessionless_version = pick.choice(SHORT)
        version = sessionless_version
        session = (0, pick.choice([-1, -1, -1, 0]))
        if epochs and pick.random() < 0.4:
            session_id = pick.choice(list(epochs))
            version = session_version[session_id]
            session = session_id, pick.choice([epochs[session_id]] * 8 + [-1, 0, 7])
        count = pick.choice([1, 1, 1, 1, 0, 2])
        partitions = pick.sample(range(3), count) if pick.random() < 0.3 else [0]
        wanted = {i: pick.randrange(8) for i in partitions}
        if pick.random() < 0.15:
            options = {
                "partition_max_bytes": pick.choice([1, 200, MIB]),
                "leader_epoch": pick.choice([-1, 0, 0, 3]),
                "fetched_epoch": pick.choice([-1, -1, 0]),
                "max_wait_ms": pick.choice([0, 500]),
                "min_bytes": pick.choice([0, 1, 150, 5000]),
                "max_bytes": pick.choice([1, 300, MIB]),
                "isolation_level": pick.choice([0, 1]),
            }
        request = frame(wanted, version, session=session, **options)
        connection = int(pick.random() < 0.2)
        answers = [broker.send(request, connection) for broker in both]
        if answers[0]:
            response = decode_response(
                ApiKey.FETCH, memoryview(joined(answers[0][0]))[4:], version
            )[1]
            if not response.error_code and response.session_id:
                session_version[response.session_id] = version
                epochs[response.session_id] = 1 if session[0] == 0 else session[1] + 1
        assert both[0].frames() == both[1].frames()
        assert both[0].counts() == both[1].counts()
        assert both[0].sessions() == both[1].sessions()
    assert both[0].short_way
    one = both[0]
    ways = one.short_way + one.at_once + one.long_way - one.after_waiting
    assert ways == both[1].long_way
    assert both[0].handler.metrics == both[1].handler.metrics


def test_a_bug_is_answered_and_the_read_not_tried_again(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> bytes:
        raise KeyError("missing")

    broker.replicas.append("t", b"a")
    monkeypatch.setattr("broker.apis.single_fetch.FetchAnswer.parts", broken)
    answer = broker.fetch(frame({0: 0}), 12)
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert broker.long_way == 0


def test_a_bug_at_once_is_answered_and_the_read_not_tried_again(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> bytes:
        raise KeyError("missing")

    broker.replicas.append("t", b"a")
    assert not broker.fetch(frame({0: 0}), 12).error_code
    monkeypatch.setattr("broker.apis.single_fetch.FetchAnswer.parts", broken)
    assert broker.fetch(frame({0: 0}), 12).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert (broker.short_way, broker.long_way) == (1, 0)
    assert broker.handler.metrics[1].requests == 2


def test_it_takes_few_calls(broker: Broker) -> None:
    """What such a request costs is the calls around its read: a new one needs a reason."""
    calls: list[str] = []

    def count(frame: Any, event: str, _argument: Any) -> None:
        if event == "call":
            calls.append(frame.f_code.co_qualname)

    broker.replicas.append("t", b"a")
    request = frame({0: 0})
    broker.send(request)  # what happens once has happened
    sys.setprofile(count)
    try:
        reply = broker.send(request)
    finally:
        sys.setprofile(None)
    assert len(reply) == 1
    assert len(calls) <= CALLS_MAX, " ".join(calls)
