"""`raft_apis` and `raft_fetches`: answer by answer as Apache Kafka's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.raft.raft_apis import API_KEYS, EPOCHS_AHEAD, LAST_EPOCH
from controller.raft.raft_fetches import MAX_WAITING
from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from protocol.api_keys import ApiKey, messages_of
from protocol.errors import ErrorCode
from protocol.frames.message_codec import (
    decode,
    decode_response,
    encode_request,
    encode_response,
    read_request_header,
    skip_header_tags,
)
from protocol.messages import begin_quorum_epoch as begin
from protocol.messages import describe_quorum as describe
from protocol.messages import end_quorum_epoch as end
from protocol.messages import fetch_snapshot as snapshots
from protocol.messages import vote as voting
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.golden import raft_cases
from tests.quorum import quorum_world
from tests.quorum.quorum_world import Context, QuorumNode, QuorumWorld
from tests.unit.controller.rights_fixture import ListJudge, on_cluster, rights_of


def leader(**settings: Any) -> QuorumNode:
    world = QuorumWorld("apis", 1, 0, **settings).start()
    world.wait_for_leader()
    world.propose()
    world.world.run_for(500)
    return world.nodes[1]


def ask(node: QuorumNode, request: Any, version: int) -> list[Any]:
    """The answers so far, over the codec."""
    answers: list[Any] = []

    def respond(response: Any) -> None:
        frame = memoryview(bytes(encode_response(response, version, 7).joined()))
        answers.append(decode_response(ApiKey(request.API_KEY), frame[4:], version)[1])

    frame = memoryview(bytes(encode_request(request, version, 7, "me")))[4:]
    *_, pos = read_request_header(frame)
    if version >= type(request).FLEXIBLE_FROM:
        pos = skip_header_tags(frame, pos)
    node.apis.handle(Context(version), decode(type(request), frame, pos, version), respond)
    return answers


def answered(node: QuorumNode, request: Any, version: int) -> Any:
    answers = ask(node, request, version)
    node.world.world.run_for(100)
    (answer,) = answers
    return answer


KAFKA_FAILS = {
    "snapshot that is not there, v0": ErrorCode.SNAPSHOT_NOT_FOUND,
    "snapshot that is not there, v1": ErrorCode.SNAPSHOT_NOT_FOUND,
    "snapshot, another topic": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    "snapshot in an earlier epoch": ErrorCode.FENCED_LEADER_EPOCH,
    "snapshot in a later epoch": ErrorCode.UNKNOWN_LEADER_EPOCH,
    "snapshot without an epoch": ErrorCode.FENCED_LEADER_EPOCH,
    "snapshot in an epoch below none": ErrorCode.FENCED_LEADER_EPOCH,
}
"""Kafka answers UNKNOWN_SERVER_ERROR: it does not fill in the records of a refusal, which may
not be null. Ottla answers what it means."""
KAFKA_STEPS_DOWN = "vote of a later epoch, a shorter log"
"""Kafka follows the epoch of a node that is no voter."""


def test_all_answers_are_those_of_kafka(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.quorum.quorum_world.CLUSTER_ID", raft_cases.CLUSTER_ID)
    recorded = json.loads(raft_cases.RECORDED.read_text())
    node = leader()
    assert node.raft.epoch == raft_cases.EPOCH
    differing = {}
    for name, request, version in raft_cases.cases():
        answer = answered(node, request, version)
        if name in KAFKA_FAILS:
            assert recorded[name]["error_code"] == ErrorCode.UNKNOWN_SERVER_ERROR
            assert answer.topics[0].partitions[0].error_code == KAFKA_FAILS[name], name
        elif name == KAFKA_STEPS_DOWN:
            epochs = [one["topics"][0]["partitions"][0]["leader_epoch"]
                      for one in (recorded[name], raft_cases.comparable(answer))]  # fmt: skip
            assert epochs == [request.topics[0].partitions[0].replica_epoch, raft_cases.EPOCH]
        elif (ours := raft_cases.comparable(answer)) != recorded[name]:
            differing[name] = (ours, recorded[name])
    assert not differing
    assert len(recorded) == len(raft_cases.cases())


# --- Fetch that waits ----------------------------------------------------------------------------


def fetch(node: QuorumNode, **fields: Any) -> Any:
    """What a replica asks that has all and knows all."""
    epoch, end = node.raft.epoch, node.raft.end_offset
    values = {
        "current_leader_epoch": epoch,
        "fetch_offset": end,
        "last_fetched_epoch": epoch,
        "high_watermark": end,
        **fields,
    }
    replica = values.pop("replica", 9)
    return raft_cases._fetch(replica, quorum_world.CLUSTER_ID, max_wait_ms=500, **values)


def partition(answer: Any) -> Any:
    return answer.responses[0].partitions[0]


def test_a_fetch_of_nothing_new_waits_its_time() -> None:
    node = leader()
    world = node.world.world
    answers = ask(node, fetch(node), 18)
    world.run_for(499)
    assert answers == []
    world.run_for(2)
    assert partition(answers[0]).error_code == 0 and not partition(answers[0]).records


def test_a_consumer_may_read_what_is_committed_or_not() -> None:
    """Who is no replica leaves the replica's state out, and it is then not on the wire."""
    node = leader()
    request = fetch(node, replica=-1, fetch_offset=0, last_fetched_epoch=0)
    assert partition(answered(node, request, 18)).records


def test_a_fetch_is_answered_when_the_log_grows_though_nothing_is_committed() -> None:
    node = leader()
    answers = ask(node, fetch(node), 18)
    before = node.raft.high_watermark
    node.propose("more")
    assert partition(answers[0]).records
    assert partition(answers[0]).high_watermark == before
    node.world.world.run_for(1_000)
    assert len(answers) == 1


@pytest.mark.parametrize(("version", "waits"), [(17, True), (18, False)])
def test_a_fetch_is_answered_when_more_is_committed_than_it_knows(
    version: int, waits: bool
) -> None:
    """KIP-1166; before version 18 nobody says what it knows, and so it waits."""
    node = leader()
    request = fetch(node, high_watermark=node.raft.end_offset - 1)
    if version < 18:
        request.topics[0].partitions[0].high_watermark = 2**63 - 1
    answers = ask(node, request, version)
    assert bool(answers) is not waits


def test_a_fetch_is_sent_away_when_the_epoch_ends() -> None:
    world = QuorumWorld("apis", 3, 0).start()
    node = world.wait_for_leader()
    world.world.run_for(300)
    answers = ask(node, fetch(node), 18)
    assert answers == []
    node.raft.resign(node.raft.epoch)
    assert partition(answers[0]).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_one_fetch_of_a_replica_waits_and_no_more_than_the_limit() -> None:
    node = leader()
    first = ask(node, fetch(node), 18)
    second = ask(node, fetch(node), 18)
    assert len(first) == 1 and second == []
    others = [ask(node, fetch(node, replica=-1), 18) for _ in range(MAX_WAITING)]
    assert [len(answers) for answers in others] == [0] * (MAX_WAITING - 1) + [1]


def test_records_come_in_whole_batches_within_the_bytes() -> None:
    node = leader()
    for number in range(30):
        node.propose(f"value-{number}")
    size = len(node.log.read_slice(0, node.raft.end_offset))
    answer = answered(node, fetch(node, fetch_offset=0, partition_max_bytes=size // 2), 18)
    assert 0 < len(partition(answer).records) <= size // 2
    first = answered(node, fetch(node, fetch_offset=0, partition_max_bytes=1), 18)
    assert 60 < len(partition(first).records) < 200, "one batch at least"


def test_what_a_follower_says_counts_only_where_its_log_fits() -> None:
    node = leader()
    answered(node, fetch(node, replica=12, fetch_offset=10_000), 18)
    ask(node, fetch(node, replica=-1), 18)
    observers = ask(node, raft_cases._describe(), 2)[0].topics[0].partitions[0].observers
    assert observers == []


@pytest.mark.parametrize(
    ("request_of", "topic"),
    [
        (voting.VoteRequest, voting.VoteRequestTopicData()),
        (begin.BeginQuorumEpochRequest, begin.BeginQuorumEpochRequestTopicData()),
        (end.EndQuorumEpochRequest, end.EndQuorumEpochRequestTopicData()),
        (describe.DescribeQuorumRequest, describe.DescribeQuorumRequestTopicData()),
        (FetchRequest, FetchTopic()),
        (snapshots.FetchSnapshotRequest, snapshots.FetchSnapshotRequestTopicSnapshot()),
    ],
)
def test_a_request_without_a_topic_or_a_partition_is_answered(request_of: Any, topic: Any) -> None:
    """CVE-2026-83525: the controller stopped."""
    node = leader()
    for topics in ([], [topic], [topic, topic]):
        answer = answered(node, request_of(topics=topics), request_of.MIN_VERSION)
        assert getattr(answer, "error_code", 0) in (ErrorCode.INVALID_REQUEST, ErrorCode.NONE)
    assert node.raft.is_leader


# --- FetchSnapshot -------------------------------------------------------------------------------


def with_snapshot() -> QuorumNode:
    node = leader(snapshot_bytes=300)
    for _ in range(20):
        node.propose("x" * 50)
        node.world.world.run_for(50)
    return node


def part(node: QuorumNode, position: int, max_bytes: int = 100) -> Any:
    latest = node.log.snapshots[-1]
    asked = snapshots.FetchSnapshotRequestPartitionSnapshot(
        current_leader_epoch=node.raft.epoch,
        snapshot_id=snapshots.FetchSnapshotRequestSnapshotId(*latest),
        position=position,
    )
    topic = snapshots.FetchSnapshotRequestTopicSnapshot(raft_cases.TOPIC, [asked])
    request = snapshots.FetchSnapshotRequest(None, 9, max_bytes, [topic])
    return answered(node, request, 1).topics[0].partitions[0]


def test_a_snapshot_in_parts() -> None:
    node = with_snapshot()
    whole = node.log.read_snapshot(node.log.snapshots[-1])
    parts = [part(node, position) for position in range(0, len(whole), 100)]
    assert b"".join(bytes(p.unaligned_records) for p in parts) == whole
    assert {p.size for p in parts} == {len(whole)}
    assert [p.position for p in parts] == list(range(0, len(whole), 100))
    for position in (-1, len(whole)):
        assert part(node, position).error_code == ErrorCode.POSITION_OUT_OF_RANGE


def test_who_has_nothing_is_sent_to_the_snapshot() -> None:
    node = with_snapshot()
    answer = partition(answered(node, fetch(node, fetch_offset=0, last_fetched_epoch=0), 18))
    latest = node.log.snapshots[-1]
    assert (answer.snapshot_id.end_offset, answer.snapshot_id.epoch) == tuple(latest)
    assert not answer.records


# --- DescribeQuorum ------------------------------------------------------------------------------


def test_describe_tells_how_far_all_are() -> None:
    world = QuorumWorld("describe", 3, 1).start()
    node = world.wait_for_leader()
    for _ in range(20):
        world.propose()
        world.world.run_for(50)
    world.wait_until_equal()
    answer = ask(node, raft_cases._describe(), 2)[0]
    told = answer.topics[0].partitions[0]
    now = world.world.wall_ms()
    assert (told.leader_id, told.leader_epoch) == (node.id, node.raft.epoch)
    assert told.high_watermark == node.raft.end_offset
    assert sorted(v.replica_id for v in told.current_voters) == [1, 2, 3]
    assert [o.replica_id for o in told.observers] == [4]
    assert told.observers[0].replica_directory_id == (4).to_bytes(16, "big")
    for replica in [*told.current_voters, *told.observers]:
        assert replica.log_end_offset == node.raft.end_offset
        assert now - 1_000 <= replica.last_caught_up_timestamp <= now
    assert [(n.node_id, n.listeners[0].port) for n in answer.nodes] == [(1, 1), (2, 2), (3, 3)]


def test_describe_is_for_the_leader() -> None:
    world = QuorumWorld("describe", 3, 0).start()
    node = world.wait_for_leader()
    other = next(n for n in world.nodes.values() if n is not node)
    told = ask(other, raft_cases._describe(), 2)[0].topics[0].partitions[0]
    assert told.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


# --- nonsense ------------------------------------------------------------------------------------


def test_a_leader_that_cannot_be_is_refused_and_nobody_dies() -> None:
    world = QuorumWorld("nonsense", 3, 0).start()
    node = world.wait_for_leader()
    follower = next(n for n in world.nodes.values() if n is not node)
    world.world.run_for(100)
    third = ({1, 2, 3} - {node.id, follower.id}).pop()
    for leader_id in (third, follower.id, 77):
        for request in (
            raft_cases._begin(None, -1, leader_id=leader_id, leader_epoch=node.raft.epoch),
            raft_cases._end(None, leader_id=leader_id, leader_epoch=node.raft.epoch),
        ):
            answer = ask(follower, request, 1)[0].topics[0].partitions[0]
            assert answer.error_code == ErrorCode.INVALID_REQUEST
            assert (answer.leader_id, answer.leader_epoch) == (node.id, node.raft.epoch)


def test_a_later_epoch_in_a_fetch_deposes_nobody() -> None:
    node = leader()
    epoch = node.raft.epoch
    answer = partition(answered(node, fetch(node, current_leader_epoch=epoch + 5), 18))
    assert answer.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert node.raft.is_leader and node.raft.epoch == epoch


def test_an_epoch_that_leaves_no_next_one_is_followed_by_nobody() -> None:
    """A quorum in the last epoch would never have a leader again, not even after a restart."""
    world = QuorumWorld("last epoch", 3, 0).start()
    node = world.wait_for_leader()
    voter = next(other for other in world.nodes if other != node.id)
    for epoch in (LAST_EPOCH, LAST_EPOCH - 1, node.raft.epoch + EPOCHS_AHEAD + 1):
        before = node.raft.epoch
        votes = [
            raft_cases._vote(
                quorum_world.CLUSTER_ID,
                -1,
                replica_epoch=epoch,
                replica_id=voter,
                pre_vote=pre_vote,
            )
            for pre_vote in (False, True)
        ]
        begin = raft_cases._begin(None, -1, leader_id=voter, leader_epoch=epoch)
        end = raft_cases._end(None, leader_id=voter, leader_epoch=epoch)
        for request, version in ((votes[0], 2), (votes[1], 2), (begin, 1), (end, 1)):
            answer = ask(node, request, version)[0].topics[0].partitions[0]
            assert (answer.leader_id, answer.leader_epoch) == (node.id, before)
            assert not getattr(answer, "vote_granted", False)
        assert node.raft.is_leader and node.raft.epoch == before


def test_an_epoch_within_reach_is_followed() -> None:
    world = QuorumWorld("far epoch", 3, 0).start()
    node = world.wait_for_leader()
    voter = next(other for other in world.nodes if other != node.id)
    epoch = node.raft.epoch + EPOCHS_AHEAD
    ask(
        node,
        raft_cases._vote(quorum_world.CLUSTER_ID, -1, replica_epoch=epoch, replica_id=voter),
        2,
    )
    world.world.run_for(1000)
    assert world.wait_for_leader().raft.epoch >= epoch


@pytest.mark.parametrize("candidate", [1, 7])
@pytest.mark.parametrize("pre_vote", [False, True])
def test_a_vote_of_no_voter_or_in_ones_own_name_deposes_nobody(
    candidate: int, pre_vote: bool
) -> None:
    """One of the last epoch there is would leave an only voter none to be elected in."""
    node = QuorumWorld("stranger", 1, 0).start().wait_for_leader()
    before = (node.raft.epoch, node.raft.is_leader)
    fields = {"replica_epoch": 2**31 - 1, "replica_id": candidate, "pre_vote": pre_vote}
    (answer,) = ask(node, raft_cases._vote(quorum_world.CLUSTER_ID, **fields), 2)
    told = answer.topics[0].partitions[0]
    assert (told.error_code, told.leader_id, told.leader_epoch) == (0, 1, before[0])
    assert not told.vote_granted
    assert (node.raft.epoch, node.raft.is_leader) == before


def test_nobody_is_told_of_an_epoch_that_is_not_durable_yet() -> None:
    """It would be forgotten with the power; the vote that goes with it, too."""
    world = QuorumWorld("durable", 3, 0)
    node = world.nodes[1]
    node.start()

    def vote(epoch: int, candidate: int) -> list[Any]:
        fields = {"replica_epoch": epoch, "replica_id": candidate}
        return ask(node, raft_cases._vote(quorum_world.CLUSTER_ID, **fields), 2)

    granted, fenced, refused = vote(5, 2), vote(4, 3), vote(5, -1)
    assert node.raft.epoch == 5 and granted == fenced == []
    told = refused[0].topics[0].partitions[0]
    assert (told.error_code, told.leader_epoch) == (ErrorCode.INVALID_REQUEST, 0)
    world.world.run_for(60)
    told = granted[0].topics[0].partitions[0]
    assert told.vote_granted and told.leader_epoch == 5
    told = fenced[0].topics[0].partitions[0]
    assert (told.error_code, told.leader_epoch) == (ErrorCode.FENCED_LEADER_EPOCH, 5)


# --- rights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", API_KEYS)
def test_who_lacks_the_right_is_told_so_and_nothing_else(key: int) -> None:
    node = leader()
    changes = key in (ApiKey.ADD_RAFT_VOTER, ApiKey.REMOVE_RAFT_VOTER)
    describes = key == ApiKey.DESCRIBE_QUORUM
    needed = Operation.DESCRIBE if describes else Operation.CLUSTER_ACTION
    if changes:
        needed = Operation.ALTER
    others = [(one, Resource.CLUSTER, CLUSTER_NAME) for one in Operation if one is not needed]
    messages = messages_of(ApiKey(key))
    version = messages.request.MAX_VERSION
    if key == FetchRequest.API_KEY:
        version = 17
    epoch, end = node.raft.epoch, node.raft.end_offset
    for allowed, is_denied in ((others, True), (on_cluster(needed), False)):
        answers: list[Any] = []
        context = Context(version, rights_of(allowed))
        node.apis.handle(context, messages.request(), answers.append)
        (answer,) = answers
        assert (answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED) is is_denied
        if is_denied:
            expected = messages.response(error_code=answer.error_code)
            if describes or changes:
                expected.error_message = "Cluster authorization failed."
            assert encode_response(answer, version, 1).joined() == (
                encode_response(expected, version, 1).joined()
            )
    assert (node.raft.epoch, node.raft.end_offset) == (epoch, end)


def test_an_old_fetch_that_is_denied_is_told_so_of_each_partition() -> None:
    node = leader()
    asked = FetchTopic("__cluster_metadata", partitions=[FetchPartition(0)])
    for version in (4, 12):
        answers: list[Any] = []
        context = Context(version, rights_of(()))
        node.apis.handle(context, FetchRequest(topics=[asked]), answers.append)
        frame = memoryview(bytes(encode_response(answers[0], version, 7).joined()))
        answer = decode_response(ApiKey.FETCH, frame[4:], version)[1]
        assert answer.error_code == (0 if version == 4 else 31)
        (partition,) = answer.responses[0].partitions
        assert (partition.error_code, partition.high_watermark, partition.records) == (31, -1, b"")


@pytest.mark.parametrize("grows", [True, False])
def test_a_fetch_that_waited_is_for_those_who_may_have_it_now(grows: bool) -> None:
    node = leader()
    judge = ListJudge(on_cluster(Operation.CLUSTER_ACTION))
    answers: list[Any] = []
    node.apis.handle(Context(18, judge.rights()), fetch(node), answers.append)
    judge.allowed = set()
    assert answers == []
    if grows:
        node.propose("secret")
    node.world.world.run_for(600)
    (answer,) = answers
    assert (answer.error_code, answer.responses) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, [])
