"""The request of a commit of all partitions."""

from __future__ import annotations

from bench.groups import COMMIT_VERSION
from bench.innocent.members import COMMITTED_PARTITIONS, commit_of_all
from protocol.messages.headers import RequestHeader
from protocol.messages.offset_commit import OffsetCommitRequest


def test_it_commits_every_partition_for_a_group_without_members() -> None:
    frame = memoryview(commit_of_all("a-group"))
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    _, position = RequestHeader.read(frame, 4, 2)
    request, position = OffsetCommitRequest.read(frame, position, COMMIT_VERSION)
    assert position == len(frame)
    assert (request.group_id, request.generation_id_or_member_epoch) == ("a-group", -1)
    (topic,) = request.topics
    assert {one.partition_index for one in topic.partitions} == set(range(COMMITTED_PARTITIONS))
