"""Loads of groups: a group of 500 members that rejoins again and again, and a million commits."""

from __future__ import annotations

from bench.groups import COMMIT_VERSION, ClassicProtocolGroup, find_coordinator
from bench.innocent.progress import LoadProgress
from bench.replayer import ReplayedConnection, replay_targets
from bench.wire import create_topic
from protocol.frames.message_codec import encode_request
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

MEMBERS = 500
COMMITTERS = 10
COMMITTED_PARTITIONS = 1_000
COMMITS = 1_000_000
COMMITTED = "committed"
SLICE_S = 1.0


def rejoining_group(port: int, progress: LoadProgress) -> None:
    """Let all 500 members of a group rejoin as soon as all are Stable. A unit is a generation."""
    find_coordinator(port)
    group = ClassicProtocolGroup(port, "rejoining", MEMBERS)
    group.settle()
    progress.ready()
    while True:
        group.quiet()
        group.settle()
        progress.did(1)
        progress.whole()


def commits(port: int, progress: LoadProgress) -> None:
    """Commit the offsets of 1,000 partitions at a time, by ten clients with a group each.

    A unit is a commit of one partition; the whole load is a million.
    """
    create_topic(port, COMMITTED, COMMITTED_PARTITIONS)
    find_coordinator(port)
    targets = [
        ReplayedConnection(port, [commit_of_all(f"committing-{number}")])
        for number in range(COMMITTERS)
    ]
    progress.ready()
    while True:
        done = replay_targets(targets, SLICE_S)
        progress.did(done.answers * COMMITTED_PARTITIONS)
        if progress.units >= COMMITS:
            progress.whole()


def commit_of_all(group: str) -> bytes:
    """Return an OffsetCommit of every partition, for a group without members."""
    partitions = [OffsetCommitRequestPartition(number, 1) for number in range(COMMITTED_PARTITIONS)]
    topic = OffsetCommitRequestTopic(COMMITTED, partitions=partitions)
    request = OffsetCommitRequest(group, topics=[topic])
    return encode_request(request, COMMIT_VERSION, 1, COMMITTED)
