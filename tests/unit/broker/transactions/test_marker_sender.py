from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker.transactions.marker_sender import (
    RETRY_BACKOFF_MAX_MS,
    Leader,
    MarkerSender,
    NoLeaderReason,
    PendingMarkers,
)
from ground.ports import ChannelFailure
from ground.sim_scheduler import SimScheduler
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from tests.unit.broker.transactions.desk import A0, A1, B0, answered

Done = Callable[[Any, ChannelFailure | None], None]


class Channel:
    """One connection; a test answers what was sent."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.sent: list[tuple[WriteTxnMarkersRequest, Done]] = []
        self.closed = False

    def send(self, request: Any, done: Done, timeout_ms: float, version: int | None = None) -> None:
        self.sent.append((request, done))

    def close(self) -> None:
        self.closed = True
        for _, done in self.sent:
            done(None, ChannelFailure.LOST)
        self.sent = []

    def answer(self, error: ErrorCode = ErrorCode.NONE) -> list[tuple[str, list[int]]]:
        request, done = self.sent.pop(0)
        done(answered(request, error), None)
        return [(t.name, t.partition_indexes) for m in request.markers for t in m.topics]

    def fail(self) -> None:
        self.sent.pop(0)[1](None, ChannelFailure.REFUSED)


class Post:
    """A sender on broker 1, and its world."""

    def __init__(self) -> None:
        self.scheduler = SimScheduler()
        self.leaders: dict[TopicPartition, Leader | NoLeaderReason] = {}
        self.channels: dict[str, Channel] = {}
        self.here: list[tuple[WriteTxnMarkersRequest, Any]] = []
        self.done: list[str] = []
        self.refused_by: list[tuple[int, str]] = []
        self.sender = MarkerSender(
            self.scheduler,
            self,
            1,
            self.leaders.__getitem__,
            self._local,
            30_000,
            lambda *refusal: self.refused_by.append(refusal),
        )

    def _local(
        self, request: WriteTxnMarkersRequest, respond: Callable[[WriteTxnMarkersResponse], None]
    ) -> None:
        self.here.append((request, respond))

    def channel(self, host: str, port: int, client_id: str) -> Channel:
        assert client_id == "broker-1-txn-marker-sender"
        return self.channels.setdefault(host, Channel(host))

    def lead(self, node_id: int, *partitions: TopicPartition) -> None:
        for partition in partitions:
            self.leaders[partition] = (node_id, f"host-{node_id}", 9092)

    def send(self, name: str, *partitions: TopicPartition, producer_id: int = 7) -> PendingMarkers:
        pending = PendingMarkers(
            name,
            producer_id,
            3,
            True,
            2,
            lambda: 11,
            dict.fromkeys(partitions),
            lambda: self.done.append(name),
        )
        self.sender.send(pending)
        return pending

    def settle(self, ms: float = 0) -> None:
        self.scheduler.run_for(ms)


def test_each_broker_is_told_of_its_partitions_and_all_must_answer() -> None:
    post = Post()
    post.lead(2, A0, B0)
    post.lead(3, A1)
    post.send("t", A0, A1, B0)
    post.settle()
    assert post.channels["host-2"].answer() == [("a", [0]), ("b", [0])]
    assert post.done == []
    assert post.channels["host-3"].answer() == [("a", [1])]
    assert post.done == ["t"]


def test_what_gathers_while_a_request_is_on_its_way_goes_in_the_next() -> None:
    post = Post()
    post.lead(2, A0, B0)
    post.send("first", A0)
    post.settle()
    post.send("second", A0, producer_id=8)
    post.send("third", B0, producer_id=9)
    post.settle()
    channel = post.channels["host-2"]
    assert len(channel.sent) == 1
    channel.answer()
    post.settle()
    assert channel.answer() == [("a", [0]), ("b", [0])]
    assert post.done == ["first", "second", "third"]


def test_this_broker_is_told_without_the_network() -> None:
    post = Post()
    post.lead(1, A0)
    post.send("t", A0)
    post.settle()
    ((request, respond),) = post.here
    assert request.markers[0].coordinator_epoch == 11
    respond(answered(request, ErrorCode.NONE))
    assert post.done == ["t"] and post.channels == {}


def test_nothing_to_tell_is_done_later() -> None:
    post = Post()
    post.send("t")
    assert post.done == []
    post.settle()
    assert post.done == ["t"]


def test_a_refused_partition_is_tried_again_where_it_is_led_then() -> None:
    post = Post()
    post.lead(2, A0, A1)
    post.send("t", A0, A1)
    post.settle()
    post.lead(3, A1)
    post.channels["host-2"].answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    post.settle(100)
    assert post.channels["host-3"].answer() == [("a", [1])]
    assert post.channels["host-2"].answer() == [("a", [0])]
    assert post.done == ["t"]


def test_a_broker_that_does_not_take_us_for_one_is_told_of_and_asked_again() -> None:
    post = Post()
    post.lead(2, A0)
    post.send("t", A0)
    post.settle()
    post.channels["host-2"].answer(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    assert post.refused_by == [(2, "WRITE_TXN_MARKERS")]
    post.settle(RETRY_BACKOFF_MAX_MS)
    post.channels["host-2"].answer()
    assert (post.done, len(post.refused_by)) == (["t"], 1)


def test_a_dead_broker_is_asked_ever_more_seldom_until_it_is_back() -> None:
    post = Post()
    post.lead(2, A0)
    post.send("t", A0)
    waits = []
    for _ in range(8):
        post.settle(2 * RETRY_BACKOFF_MAX_MS)
        channel = post.channels["host-2"]
        channel.fail()
        start = post.scheduler.now_ms
        while not channel.sent:
            assert post.scheduler.step()
        waits.append(post.scheduler.now_ms - start)
    assert waits == sorted(waits) and waits[0] < 50 and waits[-1] == RETRY_BACKOFF_MAX_MS
    channel.answer()
    assert post.done == ["t"]


def test_a_partition_without_a_leader_waits_for_one() -> None:
    post = Post()
    post.leaders[A0] = NoLeaderReason.FOR_NOW
    post.send("t", A0)
    post.settle(5_000)
    assert post.channels == {} and post.sender.unknown_destination_count == 1
    post.lead(2, A0)
    post.sender.metadata_changed()
    post.settle()
    post.channels["host-2"].answer()
    assert post.done == ["t"] and post.sender.unknown_destination_count == 0


def test_a_deleted_partition_is_dropped() -> None:
    post = Post()
    post.lead(2, A0)
    post.leaders[A1] = NoLeaderReason.FOR_GOOD
    post.send("t", A0, A1)
    post.settle()
    post.channels["host-2"].answer()
    assert post.done == ["t"]
    post.leaders[A0] = NoLeaderReason.FOR_NOW
    post.send("u", A0)
    post.settle(100)
    post.leaders[A0] = NoLeaderReason.FOR_GOOD
    post.settle(1_000)
    assert post.done == ["t", "u"]


def test_a_leader_that_moves_while_its_broker_hangs_is_told_at_once() -> None:
    post = Post()
    post.lead(2, A0, A1)
    post.send("t", A0, A1)
    post.settle()
    post.lead(3, A0)
    post.sender.metadata_changed()
    post.settle()
    assert post.channels["host-3"].answer() == [("a", [0])]
    assert post.done == []
    post.channels["host-2"].answer()
    assert post.done == ["t"]
    post.settle(5_000)
    assert post.channels["host-3"].sent == []


def test_a_newer_coordinator_ends_it() -> None:
    for error in (ErrorCode.TRANSACTION_COORDINATOR_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH):
        post = Post()
        post.lead(2, A0)
        pending = post.send("t", A0)
        post.settle()
        post.channels["host-2"].answer(error)
        post.settle(5_000)
        assert post.done == [] and pending.cancelled
        assert post.channels["host-2"].sent == []


def test_a_cancelled_decision_is_not_sent_any_more() -> None:
    post = Post()
    post.lead(2, A0, B0)
    post.send("t", A0)
    post.settle()
    waiting = post.send("u", B0, producer_id=8)
    waiting.cancelled = True
    post.channels["host-2"].answer()
    post.settle(5_000)
    assert post.channels["host-2"].sent == [] and post.done == ["t"]


def test_an_address_that_changed_is_connected_to_anew() -> None:
    post = Post()
    post.lead(2, A0)
    post.send("t", A0)
    post.settle()
    post.leaders[B0] = (2, "elsewhere", 9092)
    post.leaders[A0] = (2, "elsewhere", 9092)
    post.send("u", B0, producer_id=8)
    assert post.channels["host-2"].closed
    post.settle(1_000)
    post.channels["elsewhere"].answer()
    post.settle(1_000)
    if post.channels["elsewhere"].sent:
        post.channels["elsewhere"].answer()
    assert sorted(post.done) == ["t", "u"]


def test_after_a_stop_nothing_is_sent() -> None:
    post = Post()
    post.lead(2, A0)
    post.leaders[B0] = NoLeaderReason.FOR_NOW
    post.send("t", A0, B0)
    post.settle()
    post.sender.stop()
    assert post.channels["host-2"].closed
    post.lead(2, B0)
    post.settle(5_000)
    assert post.channels["host-2"].sent == [] and post.done == []
