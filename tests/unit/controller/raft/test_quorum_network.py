"""`quorum_network`: one request under way, patience after failures, nonsense refused."""

from __future__ import annotations

from typing import Any

import pytest

from controller.raft import raft_messages as m
from controller.raft.quorum_addresses import QuorumAddresses
from controller.raft.quorum_network import BACKOFF_MAX_MS, QuorumNetwork
from controller.raft.quorum_voters import QuorumVoters
from controller.settings import ControllerSettings
from controller.voter_set import ReplicaKey, VoterSet
from ground.ports import Answered, ChannelFailure
from ground.sim_scheduler import SimScheduler
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, encode_response
from protocol.messages import fetch as fetching
from protocol.messages import vote as voting

OWN = ReplicaKey(1, bytes(range(16)))
VOTE = m.Vote(3, OWN, 2, 40, True)
FETCH = m.Fetch(3, OWN, 40, 2)
NOBODY = fetching.LeaderIdAndEpoch(-1, 3)


class Channel:
    """Notes what is sent."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.closed = False

    def send(
        self, request: Any, done: Answered, timeout_ms: float, version: int | None = None
    ) -> None:
        assert timeout_ms == 2_000 and version is None
        self.wire.sent.append((self.wire.scheduler.now_ms, request, done))

    def close(self) -> None:
        self.closed = True


VOTERS = VoterSet.static({1: ("one", 1001), 2: ("two", 1002), 3: ("three", 1003)}, "CONTROLLER")


class Wire:
    """A network of channels that answer when told, and the Raft client behind it."""

    high_watermark: int | None = 38
    is_leader = False

    def __init__(self) -> None:
        self.scheduler = SimScheduler()
        self.sent: list[tuple[float, Any, Answered]] = []
        self.channels: list[tuple[tuple[str, int], Channel]] = []
        self.told: list[m.Event] = []
        self.refusals: list[tuple[int, str]] = []
        settings = ControllerSettings(
            node_id=1,
            cluster_id="c",
            directory_id=bytes(range(16)),
            metadata_log_dir="/d",
            static_voters=VOTERS,
            own_voter=VOTERS.get(1),
            refused_by=lambda *refusal: self.refusals.append(refusal),
            why_no_connection=lambda host, _port: "no such host" if host == "three" else "",
        )
        voters = QuorumVoters(VOTERS)
        addresses = QuorumAddresses(voters, "CONTROLLER")
        self.network = QuorumNetwork(settings, self, self.scheduler, voters, addresses)
        self.network.connect(self)

    def channel(self, host: str, port: int, client_id: str) -> Channel:
        channel = Channel(self)
        self.channels.append(((host, port), channel))
        return channel

    def receive(self, event: m.Received | m.Unreachable) -> None:
        self.told.append(event)

    def can_lead(self, leader_id: int, epoch: int) -> bool:
        return leader_id in (1, 2, 3)

    def fail(self, error: Exception) -> None:
        raise error

    def send(self, message: m.Message, to: int = 2) -> None:
        self.network.send(m.Send(to, message))

    def answer(self, response: Any, failure: ChannelFailure | None = None) -> None:
        """Answer the latest request."""
        self.sent[-1][2](response, failure)

    @property
    def requests(self) -> list[Any]:
        return [request for _, request, _ in self.sent]


def vote_response(code: int = 0, epoch: int = 3, granted: bool = True) -> Any:
    data = voting.VoteResponsePartitionData(0, code, -1, epoch, granted)
    return voting.VoteResponse(0, [voting.VoteResponseTopicData("t", [data])])


def fetch_response(code: int = 0, **fields: Any) -> Any:
    fields.setdefault("current_leader", fetching.LeaderIdAndEpoch(2, 3))
    data = fetching.PartitionData(0, code, 40, **fields)
    return fetching.FetchResponse(
        responses=[fetching.FetchableTopicResponse("t", bytes(16), [data])]
    )


def test_each_message_has_its_request() -> None:
    wire = Wire()
    wire.send(VOTE)
    wire.send(FETCH)
    wire.send(m.BeginQuorumEpoch(3, 1), to=3)
    vote, fetch, begin = wire.requests
    asked = vote.topics[0].partitions[0]
    assert (vote.cluster_id, vote.voter_id, asked.replica_id, asked.pre_vote) == ("c", 2, 1, True)
    assert (asked.replica_epoch, asked.last_offset_epoch, asked.last_offset) == (3, 2, 40)
    assert (asked.replica_directory_id, asked.voter_directory_id) == (bytes(range(16)), bytes(16))
    asked = fetch.topics[0].partitions[0]
    assert (fetch.replica_state.replica_id, fetch.max_wait_ms) == (1, 500)
    assert (asked.fetch_offset, asked.last_fetched_epoch, asked.high_watermark) == (40, 2, 38)
    endpoint = begin.leader_endpoints[0]
    assert (endpoint.name, endpoint.host, endpoint.port) == ("CONTROLLER", "one", 1001)


def test_votes_do_not_wait_behind_a_fetch() -> None:
    wire = Wire()
    wire.send(FETCH)
    wire.send(VOTE)
    assert len(wire.sent) == 2
    assert [address for address, _ in wire.channels] == [("two", 1002)] * 2


def test_of_what_waits_only_the_newest_is_sent() -> None:
    wire = Wire()
    for epoch in (3, 4, 5):
        wire.send(VOTE._replace(epoch=epoch))
    assert len(wire.sent) == 1
    wire.answer(vote_response())
    assert [r.topics[0].partitions[0].replica_epoch for r in wire.requests] == [3, 5]
    assert wire.told == [m.Received(2, m.VoteReply(3, None, True, True))]


def test_failures_are_told_at_once_and_held_back_longer_each_time() -> None:
    wire = Wire()
    waits = []
    for failure in [ChannelFailure.REFUSED] * 7:
        wire.send(VOTE)
        wire.scheduler.run_for(2_000)
        before = wire.scheduler.now_ms
        wire.answer(None, failure)
        assert wire.told[-1] == m.Unreachable(2, refused=True)
        wire.send(VOTE)
        wire.scheduler.run_for(BACKOFF_MAX_MS)
        waits.append(wire.sent[-1][0] - before)
    assert waits == [20, 40, 80, 160, 320, 500, 500]
    wire.answer(vote_response())
    wire.send(VOTE)
    wire.answer(None, ChannelFailure.TIMED_OUT)
    assert wire.told[-1] == m.Unreachable(2, refused=False)


def test_who_does_not_lead_is_not_asked_again_at_once() -> None:
    wire = Wire()
    wire.send(FETCH)
    wire.answer(fetch_response(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert wire.told == [m.Received(2, m.EpochReply(3, 2))]
    wire.send(FETCH)
    assert len(wire.sent) == 1
    wire.scheduler.run_for(20)
    assert len(wire.sent) == 2


def test_who_leaves_counts_as_gone() -> None:
    wire = Wire()
    wire.send(VOTE)
    wire.answer(voting.VoteResponse(ErrorCode.BROKER_NOT_AVAILABLE))
    assert wire.told == [m.Unreachable(2, refused=True)]


@pytest.mark.parametrize(
    "response",
    [
        fetching.FetchResponse(error_code=ErrorCode.INVALID_REQUEST),
        fetching.FetchResponse(),
        fetch_response(ErrorCode.UNKNOWN_SERVER_ERROR),
        fetch_response(records=b"x" * 100),
        fetch_response(snapshot_id=fetching.SnapshotId(7, -1)),
        fetch_response(999),
        fetch_response(current_leader=fetching.LeaderIdAndEpoch(9, 3)),
    ],
    ids=[
        "refused",
        "empty",
        "error",
        "no batch",
        "half a snapshot id",
        "a code that is none",
        "a leader that is no voter",
    ],
)
def test_nonsense_is_no_answer(response: Any, caplog: pytest.LogCaptureFixture) -> None:
    wire = Wire()
    wire.send(FETCH)
    wire.answer(response)
    assert wire.told == [m.Unreachable(2)]
    assert "nonsense" in caplog.text


def test_a_voter_that_does_not_let_this_node_in_is_named_and_asked_more_slowly(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wire = Wire()
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    for message, response in (
        (FETCH, fetching.FetchResponse(error_code=denied)),
        (VOTE, voting.VoteResponse(denied)),
    ):
        wire.send(message)
        wire.answer(response)
    assert wire.told == [m.Unreachable(2), m.Unreachable(2)]
    assert wire.refusals == [(2, "Fetch"), (2, "Vote")]
    assert caplog.text == ""
    asked = len(wire.sent)
    wire.send(FETCH)
    assert len(wire.sent) == asked


def test_answers_are_read_as_they_come_over_the_wire() -> None:
    """Tagged structs that have their default are not on the wire at all."""
    wire = Wire()
    snapshot = fetching.SnapshotId(30, 2)
    diverging = fetching.EpochEndOffset(2, 17)
    expected = m.FetchReply(3, 2, 40, (40, 2))
    for response, reply in (
        (fetch_response(), expected),
        (fetch_response(snapshot_id=snapshot), expected._replace(snapshot=(30, 2))),
        (fetch_response(diverging_epoch=diverging), expected._replace(diverging=(2, 17))),
        (fetch_response(ErrorCode.FENCED_LEADER_EPOCH), m.EpochReply(3, 2)),
    ):
        wire.send(FETCH)
        wire.scheduler.run_for(1_000)
        frame = memoryview(bytes(encode_response(response, 18, 7).joined()))
        wire.answer(decode_response(ApiKey.FETCH, frame[4:], 18)[1])
        (told,) = wire.told
        assert isinstance(told, m.Received)
        assert (type(told.message), told.message) == (type(reply), reply)
        wire.told.clear()


def test_a_fenced_vote_tells_the_later_epoch() -> None:
    wire = Wire()
    wire.send(VOTE)
    wire.answer(vote_response(ErrorCode.FENCED_LEADER_EPOCH, epoch=9, granted=True))
    assert wire.told == [m.Received(2, m.VoteReply(9, None, False, True))]


def test_all_is_told_when_no_end_of_epoch_waits() -> None:
    wire = Wire()
    done: list[bool] = []
    wire.send(m.EndQuorumEpoch(3, 1, (3, 2)), to=2)
    wire.send(m.EndQuorumEpoch(3, 1, (3, 2)), to=3)
    wire.network.when_resignation_acknowledged(lambda: done.append(True))
    for _, _, answered in wire.sent:
        assert not done
        answered(None, ChannelFailure.REFUSED)
    assert done == [True]


def test_closed_means_silent() -> None:
    wire = Wire()
    wire.send(VOTE)
    wire.send(VOTE)
    wire.network.close()
    wire.answer(None, ChannelFailure.LOST)
    wire.scheduler.run_for(5_000)
    assert wire.told == [] and len(wire.sent) == 1
    assert all(channel.closed for _, channel in wire.channels)


def fail_for(wire: Wire, seconds: int, **failures: ChannelFailure | Any) -> None:
    """Ask voters 2 and 3 whenever they may be asked; what comes back is `two` and `three`."""
    end_ms = wire.scheduler.now_ms + seconds * 1_000
    while wire.scheduler.now_ms < end_ms:
        for to, outcome in zip((2, 3), (failures["two"], failures["three"]), strict=True):
            wire.send(FETCH, to)
            if isinstance(outcome, ChannelFailure):
                wire.answer(None, outcome)
            else:
                wire.answer(outcome)
        wire.scheduler.run_for(BACKOFF_MAX_MS)


def test_a_node_that_reaches_no_leader_says_what_came_of_each_voter(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wire = Wire()
    fail_for(wire, 10, two=ChannelFailure.REFUSED, three=ChannelFailure.LOST)
    assert caplog.messages == [
        "no leader of the quorum could be reached for 3 s: 2@two:1002: connection refused; "
        "3@three:1003: no such host. This node tries on; check that these controllers run and can "
        "be reached from here, and that controller.quorum.voters has their addresses"
    ]
    caplog.clear()
    nobody = fetch_response(ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=NOBODY)
    other_cluster = fetching.FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    fail_for(wire, 65, two=nobody, three=other_cluster)
    (line,) = caplog.messages
    assert "2@two:1002: it knows of no leader; 3@three:1003: it belongs to another cluster" in line


def test_lost_connections_to_a_quorum_that_answers_are_no_silence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wire = Wire()
    fail_for(wire, 20, two=fetch_response(), three=ChannelFailure.TIMED_OUT)
    redirected = fetch_response(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    fail_for(wire, 20, two=redirected, three=redirected)
    wire.is_leader = True
    fail_for(wire, 20, two=ChannelFailure.REFUSED, three=ChannelFailure.REFUSED)
    assert caplog.messages == []
