"""What is prepared is answered as ever, and what is not plainly right is not."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from ottla.plugins.authorizer import Operation
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from tests.unit.broker.apis.fetch.fetch_fixture import Broker, joined
from tests.unit.broker.fake_connection import Reply
from tests.unit.broker.replica_fixture import topic_id_of
from tests.unit.controller.rights_fixture import ListJudge, on_topic

MIB = 1 << 20
SHORT = (11, 12, 13, 16, 18)
CALLS_MAX = 23  # one of them is the test's own


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
def test_records_that_are_there_are_prepared_for(broker: Broker, version: int) -> None:
    broker.replicas.append("t", b"a")
    end = broker.replicas.append("t", b"b", b"c")
    for offset in (0, end):  # and the second time as it is prepared: only the offset is another
        response = broker.fetch(frame({0: offset}, version, max_wait_ms=500), version)
        (data,) = response.responses[0].partitions
        assert (data.error_code, data.high_watermark, data.log_start_offset) == (0, 3, 0)
    assert (broker.at_once, broker.handled, end) == (1, 1, 1)
    for _ in range(2):  # where there is nothing, that is never prepared for
        assert not broker.fetch(frame({1: 0}, version), version).responses[0].partitions[0].records
    assert (broker.at_once, broker.handled) == (1, 3)


@pytest.mark.parametrize("version", SHORT)
def test_a_session_of_one_partition_is_prepared_for(broker: Broker, version: int) -> None:
    for value in (b"a", b"b", b"c"):
        broker.replicas.append("t", value)
    opened = broker.fetch(frame({0: 0}, version, session=(0, 0), max_bytes=1), version)
    session = opened.session_id
    assert session and broker.handled == 1
    for offset in (1, 2):
        broker.fetch(frame({0: offset}, version, session=(session, offset), max_bytes=1), version)
    assert (broker.at_once, broker.handled) == (1, 2)
    # Nothing is there any more: that waits, or is said in no words.
    assert broker.send(frame({0: 3}, version, session=(session, 3), max_wait_ms=500)) == []
    assert (broker.at_once, broker.handled) == (1, 3)


def test_news_of_another_partition_are_handled(broker: Broker) -> None:
    broker.replicas.append("t", b"a")
    session = broker.fetch(frame({0: 0, 1: 0}, session=(0, 0)), 12).session_id
    broker.replicas.append("t", b"b", index=1)
    for epoch in (1, 2):
        named = broker.fetch(frame({0: 0}, session=(session, epoch)), 12).responses[0].partitions
        assert sorted(one.partition_index for one in named) == [0, 1]
    assert broker.at_once == 0


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
    assert (broker.at_once, broker.handled, len(broker.handler.prepared)) == (0, 5, 0)


def test_a_follower_answers_consumers_of_what_is_prepared_too(broker: Broker) -> None:
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
    for _ in range(2):
        response = broker.fetch(encode_request(request, 13, 9, "me"), 13)
        assert response.responses[0].partitions[0].error_code == 0
    assert broker.at_once == 1


@pytest.mark.parametrize("seed", range(30))
def test_what_is_prepared_is_answered_as_ever(tmp_path: Path, seed: int) -> None:
    """Random loads of two brokers, of which one prepares: every byte, count, session."""
    pick = random.Random(seed)
    both = [Broker(tmp_path / "short"), Broker(tmp_path / "long", prepares=False)]
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
        if pick.random() < 0.06:
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
    for broker in both * 2:
        broker.replicas.append("t", b"v")
        broker.send(frame({0: 0}))
    assert both[0].frames() == both[1].frames()
    assert both[0].at_once
    assert both[0].at_once + both[0].handled == both[1].handled
    assert both[0].requests() == both[1].requests()


def test_a_bug_at_once_is_answered_and_the_read_not_tried_again(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> bytes:
        raise KeyError("missing")

    broker.replicas.append("t", b"a")
    assert not broker.fetch(frame({0: 0}), 12).error_code
    monkeypatch.setattr("broker.apis.fetch.prepared.FetchReplyFrames.parts", broken)
    assert broker.fetch(frame({0: 0}), 12).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert (broker.at_once, broker.handled) == (1, 1)
    assert broker.handler.metrics[1].requests == 2


def test_it_takes_few_calls(broker: Broker) -> None:
    """What such a request costs is the calls around its read: a new one needs a reason."""
    calls: list[str] = []

    def count(frame: Any, event: str, _argument: Any) -> None:
        if event == "call":
            calls.append(frame.f_code.co_qualname)

    broker.replicas.append("t", b"a")
    request = frame({0: 0})
    for _ in range(2):
        broker.send(request)  # what happens once has happened
    sys.setprofile(count)
    try:
        reply = broker.send(request)
    finally:
        sys.setprofile(None)
    assert len(reply) == 1
    assert len(calls) <= CALLS_MAX, " ".join(calls)


@pytest.mark.parametrize("version", [12, 13])
@pytest.mark.parametrize("in_session", [False, True])
def test_nobody_is_asked_about_a_fetch_that_is_prepared(
    broker: Broker, version: int, in_session: bool
) -> None:
    judge = ListJudge(on_topic(Operation.READ, "t"))
    broker.handler.admission.judge_by(judge)
    for _ in range(6):
        broker.replicas.append("t", b"v")
    session, epoch = (0, -1), 0
    if in_session:
        opened = broker.fetch(frame({0: 0}, version, session=(0, 0)), version)
        epoch = 1
    for offset in range(6):
        if in_session:
            session = opened.session_id, epoch + offset
        broker.send(frame({0: offset}, version, session=session))
    assert broker.at_once == 5
    assert len(judge.asked) == (2 if in_session else 1)


@pytest.mark.parametrize("version", [12, 13])
def test_a_session_with_a_partition_that_is_denied_is_never_prepared(
    broker: Broker, version: int
) -> None:
    judge = ListJudge(on_topic(Operation.READ, "t"))
    broker.handler.admission.judge_by(judge)
    for _ in range(3):
        broker.replicas.append("t", b"v")
    opened = broker.fetch(frame({0: 0}, version, session=(0, 0)), version)
    judge.allowed.clear()  # though no epoch says so
    for epoch in (1, 2, 3):
        response = broker.fetch(
            frame({0: epoch - 1}, version, session=(opened.session_id, epoch)), version
        )
        (data,) = response.responses[0].partitions
        assert data.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert broker.at_once == 0


def test_what_was_prepared_dies_with_the_epoch(broker: Broker) -> None:
    judge = ListJudge(on_topic(Operation.READ, "t"))
    broker.handler.admission.judge_by(judge)
    broker.replicas.append("t", b"v")
    for _ in range(2):
        broker.send(frame({0: 0}))
    judge.allowed.clear()
    broker.handler.admission.changed()
    for _ in range(2):
        denied = data_of(broker.send(frame({0: 0})), 12)
        assert denied.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert broker.at_once == 1
