"""A follower's fetch that is prepared for is answered, and noted, as ever."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from broker.config.keys import LEADER_RATE
from broker.replication.replica_selector import RACK_AWARE
from broker.replication.replication_quota import LEADER_REPLICAS
from controller.metadata.image import ResourceType
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
    ReplicaState,
)
from protocol.messages.metadata_records import ConfigRecord
from tests.unit.broker.apis.fetch.fetch_fixture import Broker, joined
from tests.unit.broker.fake_connection import Connection, Reply
from tests.unit.broker.replica_fixture import topic_id_of
from tests.unit.controller.rights_fixture import ListJudge, on_cluster

MIB = 1 << 20
REPLICAS = (1, 2, 3)
VERSIONS = (15, 17, 18)
CALLS_MAX = 64  # to wait, and to be answered; some of them are the test's own
REPLICA = ("broker_epoch", "log_end_offset", "log_start_offset", "caught_up_ms")


class Leader(Broker):
    """The leader of "t", with two followers."""

    def __init__(self, folder: Path, prepares: bool = True, **overrides: str) -> None:
        super().__init__(folder, prepares, REPLICAS, **overrides)
        for broker_id in REPLICAS:
            self.replicas.register(broker_id)

    def followers(self) -> list[Any]:
        """What is known of all followers, and what was committed by it."""
        found = []
        for index in range(3):
            partition = self.replicas.manager.partition("t", index)
            if partition is None or partition.followers is None:
                continue
            for replica in partition.followers.replicas.values():
                found.append([getattr(replica, name) for name in REPLICA])
                found.append([replica.session is not None])
            found.append([partition.log.high_watermark, partition.log.log_start_offset])
        return found


class Follower:
    """One follower's frames: its session goes on by itself."""

    def __init__(self, leader: Leader, broker_id: int = 2) -> None:
        self.leader = leader
        self.broker_id = broker_id
        response = response_of(
            leader.send(follower_frame({0: 0}, broker_id, (0, 0)), broker_id - 2)
        )
        self.session_id = response.session_id
        self.epoch = 1

    def fetch(self, wanted: dict[int, int], **options: Any) -> Reply:
        return self.leader.send(self.next(wanted, **options), self.broker_id - 2)

    def next(self, wanted: dict[int, int], **options: Any) -> bytes:
        session = self.session_id, self.epoch
        self.epoch += 1
        return follower_frame(wanted, self.broker_id, session, **options)


def follower_frame(
    wanted: dict[int, int],
    broker_id: int = 2,
    session: tuple[int, int] = (0, -1),
    version: int = 18,
    *,
    leader_epoch: int = 0,
    fetched_epoch: int = 0,
    log_start: int = 0,
    broker_epoch: int = 1,
    partition_max_bytes: int = MIB,
    **options: Any,
) -> bytes:
    """A follower's Fetch of `{partition: offset}`."""
    asked = [
        FetchPartition(index, leader_epoch, offset, fetched_epoch, log_start, partition_max_bytes)
        for index, offset in wanted.items()
    ]
    request = FetchRequest(
        replica_state=ReplicaState(broker_id, broker_epoch),
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchTopic("", topic_id_of("t"), asked)] if asked else [],
        **{"min_bytes": 1, "max_bytes": MIB, **options},
    )
    return encode_request(request, version, 9, f"broker-{broker_id}")


def response_of(reply: Reply, version: int = 18) -> FetchResponse:
    (parts,) = reply
    response = decode_response(ApiKey.FETCH, memoryview(joined(parts))[4:], version)[1]
    assert isinstance(response, FetchResponse)
    return response


def data_of(reply: Reply, version: int = 18) -> PartitionData:
    """Of the one partition of the one answer."""
    return response_of(reply, version).responses[0].partitions[0]


@pytest.fixture
def leader(tmp_path: Path) -> Leader:
    return Leader(tmp_path)


def test_a_trip_is_prepared_for(leader: Leader) -> None:
    followers = [Follower(leader, 2), Follower(leader, 3)]
    partition = leader.replicas.partition("t")
    counted = leader.handler.follower_fetches
    assert counted is not None
    before, requests = leader.handled, counted.requests
    for offset in range(3):
        waiting = [one.fetch({0: offset}, max_wait_ms=500) for one in followers]
        assert waiting == [[], []]
        assert partition.log.high_watermark == offset
        leader.replicas.append("t", b"v")
        leader.replicas.scheduler.run_for(0)
        assert [data_of(one).high_watermark for one in waiting] == [offset, offset]
    # Each of them is known by its first one.
    assert (leader.at_once, leader.handled) == (4, before + 2)
    assert counted.requests == requests + 6
    assert leader.handler.metrics[1].requests == 0


def test_what_is_there_already_is_answered_at_once(leader: Leader) -> None:
    follower = Follower(leader)
    leader.replicas.append("t", b"a")
    for _ in range(2):
        assert data_of(follower.fetch({0: 0}, max_wait_ms=500)).records
    assert leader.at_once == 1


def test_on_another_listener_it_is_refused(leader: Leader) -> None:
    """A fetch in a replica's name moves the high watermark (CVE-2018-1288)."""
    follower = Follower(leader)
    leader.replicas.append("t", b"a")
    for _ in range(2):
        follower.fetch({0: 0})
    assert leader.at_once == 1
    leader.connections[0] = Connection("ELSEWHERE")
    refused = response_of(follower.fetch({0: 1}))
    assert refused.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    replica = leader.replicas.partition("t").followers.replicas[2]  # type: ignore[union-attr]
    assert (replica.log_end_offset, leader.at_once) == (0, 1)


def test_a_wait_ends_with_the_high_watermark_it_was_not_told(leader: Leader) -> None:
    followers = [Follower(leader, 2), Follower(leader, 3)]
    leader.replicas.append("t", b"a")
    for one in followers:
        one.fetch({0: 0}, max_wait_ms=500)
    waiting = [one.fetch({0: 1}, max_wait_ms=500) for one in followers]
    assert (waiting, leader.at_once) == ([[], []], 2)
    leader.replicas.scheduler.run_for(500)
    assert [data_of(one).high_watermark for one in waiting] == [1, 1]
    assert [bytes(data_of(one).records or b"") for one in waiting] == [b"", b""]


def test_a_log_start_that_moved_is_told_at_once(leader: Leader) -> None:
    followers = [Follower(leader, 2), Follower(leader, 3)]
    leader.replicas.append("t", b"a")
    for offset in (0, 1):
        waiting = [one.fetch({0: offset}, max_wait_ms=500) for one in followers]
    assert waiting == [[], []]
    leader.replicas.partition("t").delete_records(1)
    leader.replicas.scheduler.run_for(0)
    assert [data_of(one).log_start_offset for one in waiting] == [1, 1]


def test_news_of_another_partition_come_with_it(leader: Leader) -> None:
    follower = Follower(leader)
    follower.fetch({0: 0, 1: 0}, max_wait_ms=0)
    follower.fetch({}, max_wait_ms=0)
    leader.replicas.append("t", b"v")
    follower.fetch({0: 0}, max_wait_ms=500)
    waiting = follower.fetch({0: 1}, max_wait_ms=500)
    assert (waiting, leader.at_once) == ([], 1)
    for index in (1, 0):
        leader.replicas.append("t", b"v", index=index)
    leader.replicas.scheduler.run_for(0)
    named = response_of(waiting).responses[0].partitions
    assert sorted(one.partition_index for one in named) == [0, 1]


@pytest.mark.parametrize("how", ["moved", "deleted"])
def test_a_wait_ends_where_the_leadership_does(leader: Leader, how: str) -> None:
    follower = Follower(leader)
    leader.replicas.append("t", b"a")
    follower.fetch({0: 0}, max_wait_ms=500)
    waiting = follower.fetch({0: 1}, max_wait_ms=500)
    assert (waiting, leader.at_once) == ([], 1)
    if how == "moved":
        leader.replicas.move_leader("t", 2)
        expected = ErrorCode.FENCED_LEADER_EPOCH
    else:
        leader.replicas.delete("t")
        expected = ErrorCode.UNKNOWN_TOPIC_ID
    leader.replicas.scheduler.run_for(0)
    assert data_of(waiting).error_code == expected


def test_what_is_refused_or_unknown_is_handled(leader: Leader) -> None:
    leader.replicas.append("t", b"a")
    errors = [
        max(
            data.error_code
            for topic in response_of(Follower(leader).fetch(wanted, **options)).responses
            for data in topic.partitions
        )
        for wanted, options in (
            ({7: 0}, {}),
            ({0: 5}, {"fetched_epoch": -1}),
            ({0: 0}, {"leader_epoch": 9}),
            ({0: 0}, {"broker_epoch": 0}),
        )
    ]
    assert errors == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ]
    follower = Follower(leader)
    follower.epoch += 1  # one was lost
    assert response_of(follower.fetch({0: 0})).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert leader.at_once == 0


def test_a_bug_is_answered_and_the_read_not_tried_again(
    leader: Leader, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> bytes:
        raise KeyError("missing")

    follower = Follower(leader)
    leader.replicas.append("t", b"a")
    assert data_of(follower.fetch({0: 0})).records
    monkeypatch.setattr("broker.apis.fetch.prepared_follower.FetchReplyFrames.parts", broken)
    answer = response_of(follower.fetch({0: 0}))
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert leader.handled == 2


@pytest.mark.parametrize("seed", range(40))
def test_what_is_prepared_is_answered_and_noted_as_ever(tmp_path: Path, seed: int) -> None:
    """Random loads of two leaders, of which one prepares: every byte, session, replica."""
    pick = random.Random(seed)
    overrides = {"replica.selector.class": RACK_AWARE} if seed % 3 == 0 else {}
    both = [
        Leader(tmp_path / "short", **overrides),
        Leader(tmp_path / "long", prepares=False, **overrides),
    ]
    for one in both:
        one.replicas.replay(ConfigRecord(ResourceType.BROKER, "1", LEADER_RATE, "100"))
    epochs: dict[tuple[int, int], int] = {}  # of (follower, session)
    has: dict[tuple[int, int], int] = {}  # of (follower, partition)
    options: dict[str, int] = {}
    version = 18
    for _ in range(150):
        chance = pick.random()
        if chance < 0.3:
            index, values = pick.choice([0, 0, 0, 1]), [b"v" * pick.randrange(1, 300)]
            for one in both:
                if one.replicas.partition("t", index).is_leader:
                    one.replicas.append("t", *values, index=index)
        elif chance < 0.5:
            wait_ms = pick.choice([0, 0, 0, 1, 100, 600])
            for one in both:
                one.replicas.scheduler.run_for(wait_ms)
        elif chance < 0.55:
            change(pick, both)
        else:
            broker_id = pick.choice([2, 3])
            session = 0, pick.choice([0, 0, -1])
            known = [key for key in epochs if key[0] == broker_id]
            if known and pick.random() < 0.95:
                key = known[-1] if pick.random() < 0.95 else pick.choice(known)
                session = key[1], pick.choice([epochs[key]] * 20 + [-1, 0, 7])
            if pick.random() < 0.05:
                version = pick.choice(VERSIONS)
            if pick.random() < 0.1:
                options = {
                    "partition_max_bytes": pick.choice([1, 200, MIB, MIB]),
                    "leader_epoch": pick.choice([-1, 0, 0, 0, 3]),
                    "fetched_epoch": pick.choice([-1, 0, 0, 0]),
                    "log_start": pick.choice([0, 0, 1]),
                    "broker_epoch": pick.choice([-1, 0, 1, 1, 1]),
                    "min_bytes": pick.choice([0, 1, 1, 150, 5000]),
                    "max_bytes": pick.choice([1, 300, MIB, MIB]),
                }
            partitions = [0] if pick.random() < 0.85 else pick.sample(range(3), pick.randrange(3))
            wanted = {i: next_offset(pick, both[0], has, (broker_id, i)) for i in partitions}
            frame = follower_frame(
                wanted,
                broker_id,
                session,
                version,
                max_wait_ms=pick.choice([0, 500, 500]),
                **options,
            )
            replies = [one.send(frame, broker_id - 2) for one in both]
            if session[0] and session[1] > 0:
                epochs[broker_id, session[0]] = session[1] + 1
            if replies[0]:
                response = response_of(replies[0], version)
                if session == (0, 0) and response.session_id:
                    epochs[broker_id, response.session_id] = 1
        assert both[0].frames() == both[1].frames()
        assert both[0].counts() == both[1].counts()
        assert both[0].sessions() == both[1].sessions()
        assert both[0].followers() == both[1].followers()
    assert both[0].at_once + both[0].handled == both[1].handled
    assert both[0].requests() == both[1].requests()


def next_offset(
    pick: random.Random, leader: Leader, has: dict[tuple[int, int], int], key: tuple[int, int]
) -> int:
    """Mostly one that goes on, as far as there is something; at times any."""
    partition = leader.replicas.manager.partition("t", key[1])
    end = partition.log.log_end_offset if partition is not None else 0
    if pick.random() < 0.05:
        return pick.randrange(8)
    has[key] = min(end, has.get(key, 0) + pick.choice([0, 1, 1, 5]))
    return has[key]


def change(pick: random.Random, both: list[Leader]) -> None:
    """Something else than records and fetches."""
    what = pick.choice(["start", "start", "throttle", "throttle", "epoch", "restart"])
    throttled = pick.choice(["", "0:1,0:2", "*"])
    leader, epoch = pick.choice([1, 1, 2]), pick.choice([1, 2])
    for one in both:
        partition = one.replicas.partition("t")
        if what == "start" and partition.is_leader:
            partition.delete_records(partition.log.high_watermark)
        elif what == "throttle":
            one.replicas.replay(ConfigRecord(ResourceType.TOPIC, "t", LEADER_REPLICAS, throttled))
        elif what == "epoch":
            one.replicas.move_leader("t", leader)
        elif what == "restart":
            one.replicas.register(2, epoch)


def test_it_takes_few_calls(leader: Leader) -> None:
    """What each batch costs a leader for each follower: a new call needs a reason."""
    calls: list[str] = []

    def count(frame: Any, event: str, _argument: Any) -> None:
        if event == "call":
            calls.append(frame.f_code.co_qualname)

    follower = Follower(leader)
    for offset in range(3):
        request = follower.next({0: offset}, max_wait_ms=500)
        calls.clear()  # what happens once has happened
        sys.setprofile(count)
        try:
            reply = leader.send(request)
        finally:
            sys.setprofile(None)
        leader.replicas.append("t", b"v")
        sys.setprofile(count)
        try:
            leader.replicas.scheduler.run_for(0)
        finally:
            sys.setprofile(None)
        assert len(reply) == 1
    assert len(calls) <= CALLS_MAX, f"{len(calls)}: {' '.join(calls)}"


class Revocable(Leader):
    """One whose followers are judged, by a list that can change."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.judge = ListJudge(on_cluster(Operation.CLUSTER_ACTION))
        self.handler.admission.judge_by(self.judge)

    def revoke(self) -> None:
        self.judge.allowed.clear()
        self.handler.admission.changed()


def waiting_for_records(leader: Leader) -> Reply:
    """A fetch that waits and was prepared, of the second of two rounds."""
    follower = Follower(leader)
    leader.replicas.append("t", b"a")
    follower.fetch({0: 0}, max_wait_ms=500)
    waiting = follower.fetch({0: 1}, max_wait_ms=500)
    assert (waiting, leader.at_once) == ([], 1)
    return waiting


@pytest.mark.parametrize("woken", [True, False])  # at its deadline it goes the general way
def test_nobody_is_asked_about_a_fetch_that_is_prepared(tmp_path: Path, woken: bool) -> None:
    leader = Revocable(tmp_path)
    waiting = waiting_for_records(leader)
    assert len(leader.judge.asked) == 2  # as the session was opened, and before it was prepared
    if woken:
        leader.replicas.append("t", b"b")
    leader.replicas.scheduler.run_for(500)
    assert len(response_of(waiting).responses) == woken
    assert len(leader.judge.asked) == 2


@pytest.mark.parametrize("woken", [True, False])
def test_one_that_waits_is_judged_anew_where_others_judge(tmp_path: Path, woken: bool) -> None:
    leader = Revocable(tmp_path)
    waiting = waiting_for_records(leader)
    leader.revoke()
    if woken:
        leader.replicas.append("t", b"b")
    leader.replicas.scheduler.run_for(500)
    data = data_of(waiting)
    assert (data.error_code, data.records) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, b"")


def test_one_that_waits_goes_on_where_others_judge_the_same(tmp_path: Path) -> None:
    leader = Revocable(tmp_path)
    waiting = waiting_for_records(leader)
    leader.handler.admission.changed()
    asked = len(leader.judge.asked)
    leader.replicas.append("t", b"b")
    leader.replicas.scheduler.run_for(0)
    assert data_of(waiting).records
    assert len(leader.judge.asked) == asked + 1


def test_the_next_one_after_a_revocation_is_denied(tmp_path: Path) -> None:
    leader = Revocable(tmp_path)
    follower = Follower(leader)
    leader.replicas.append("t", b"a")
    for _ in range(2):
        follower.fetch({0: 0}, max_wait_ms=500)
    leader.revoke()
    replica = leader.replicas.partition("t").followers.replicas[2]  # type: ignore[union-attr]
    assert data_of(follower.fetch({0: 1})).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert (replica.log_end_offset, leader.at_once) == (0, 1)
