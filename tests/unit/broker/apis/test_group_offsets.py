"""OffsetCommit, OffsetFetch, OffsetDelete: names and ids of topics, one error a partition."""

from __future__ import annotations

from typing import Any

import pytest

from broker.apis.group_offsets import refuse_commit, refuse_fetch
from controller.metadata.image import TopicsImage
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.clients.group_conversation import TOPIC, committing, fetching
from tests.unit.broker.groups.playbook import TOPIC_ID, GroupNode, image_with
from tests.unit.controller.rights_fixture import rights_of

OTHER_ID = bytes(range(16))


def _codes(topics: Any) -> list[int]:
    return [partition.error_code for topic in topics for partition in topic.partitions]


@pytest.mark.parametrize("version", range(2, 11))
def test_every_partition_has_its_own_error(version: int) -> None:
    wire = GroupNode().connect()
    topic_id = TOPIC_ID if version >= 10 else bytes(16)
    request = committing("g", 5, partitions=[0, 9, 1], topic_id=topic_id)
    topics = wire.call(request, version).topics
    assert [(p.partition_index, p.error_code) for p in topics[0].partitions] == [
        (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (0, ErrorCode.NONE),
        (1, ErrorCode.NONE),
    ]
    assert topics[0].topic_id == topic_id
    fetched = wire.call(fetching("g", [TOPIC], topic_id=topic_id), version)
    answers = fetched.groups[0].topics if version >= 8 else fetched.topics
    assert [p.committed_offset for p in answers[0].partitions] == [5, 6]


def test_topics_that_do_not_exist() -> None:
    wire = GroupNode().connect()
    answer = wire.call(committing("g", 5, topic="missing"), 9)
    assert _codes(answer.topics) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    answer = wire.call(committing("g", 5, topic_id=OTHER_ID), 10)
    assert _codes(answer.topics) == [ErrorCode.UNKNOWN_TOPIC_ID]
    answer = wire.call(fetching("g", [TOPIC], topic_id=OTHER_ID), 10)
    assert _codes(answer.groups[0].topics) == [ErrorCode.UNKNOWN_TOPIC_ID] * 2


def test_a_topic_made_again_has_no_offsets() -> None:
    node = GroupNode()
    wire = node.connect()
    wire.call(committing("g", 5), 9)
    node.image = image_with(**{TOPIC: (OTHER_ID, 2)})
    answer = wire.call(fetching("g", [TOPIC], topic_id=OTHER_ID), 10)
    assert answer.groups[0].topics[0].partitions[0].committed_offset == -1


def test_all_topics_by_id_leave_out_what_is_gone() -> None:
    node = GroupNode()
    wire = node.connect()
    wire.call(committing("g", 5), 9)
    assert wire.call(fetching("g", None), 10).groups[0].topics[0].topic_id == TOPIC_ID
    node.image = image_with()
    assert wire.call(fetching("g", None), 10).groups[0].topics == []
    assert wire.call(fetching("g", None), 9).groups[0].topics[0].name == TOPIC


def test_several_groups_are_answered_together_and_in_order() -> None:
    node = GroupNode()
    wire = node.connect()
    for number, group in enumerate(("a", "b")):
        wire.call(committing(group, number), 9)
    groups = [OffsetFetchRequestGroup(name, topics=None) for name in ("b", "x", "a")]
    answer = wire.call(OffsetFetchRequest(groups=groups), 9)
    assert [group.group_id for group in answer.groups] == ["b", "x", "a"]
    assert [len(group.topics) for group in answer.groups] == [1, 0, 1]


def test_several_groups_wait_for_the_slowest() -> None:
    node = GroupNode()
    node.log.commit_at_once = False
    node.connect().send(committing("a", 1), 9)
    wire = node.connect()
    groups = [OffsetFetchRequestGroup(name, topics=None) for name in ("a", "b")]
    wire.send(OffsetFetchRequest(groups=groups, require_stable=True), 9)
    assert not wire.answered
    for partition in range(5):
        node.log.commit(partition)
    assert len(wire.receive().groups) == 2


@pytest.mark.parametrize("version", range(1, 8))
def test_an_error_of_the_group_in_versions_before_8(version: int) -> None:
    node = GroupNode()
    node.coordinator.shutdown()
    answer = node.connect().call(fetching("g", [TOPIC]), version)
    expected = ErrorCode.COORDINATOR_NOT_AVAILABLE
    if version == 1:
        assert _codes(answer.topics) == [expected] * 2
    else:
        assert (answer.error_code, answer.topics) == (expected, [])


def test_deleting_offsets() -> None:
    wire = GroupNode().connect()
    wire.call(committing("g", 5, partitions=[0, 1]), 9)
    partitions = [OffsetDeleteRequestPartition(p) for p in (1, 7)]
    request = OffsetDeleteRequest(
        "g",
        [
            OffsetDeleteRequestTopic(TOPIC, partitions),
            OffsetDeleteRequestTopic("missing", partitions),
        ],
    )
    topics = wire.call(request, 0).topics
    assert [
        (t.name, [(p.partition_index, p.error_code) for p in t.partitions]) for t in topics
    ] == [
        (TOPIC, [(7, 3), (1, 0)]),
        ("missing", [(1, 3), (7, 3)]),
    ]
    left = wire.call(fetching("g", [TOPIC]), 9).groups[0].topics[0].partitions
    assert [p.committed_offset for p in left] == [5, -1]
    absent = wire.call(OffsetDeleteRequest("absent", request.topics), 0)
    assert (absent.error_code, absent.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])


def test_refusals_of_everything() -> None:
    commit = refuse_commit(committing("g", 1, partitions=[0, 1]), ErrorCode.UNKNOWN_SERVER_ERROR)
    assert _codes(commit.topics) == [-1, -1]
    fetch = refuse_fetch(fetching("g", [TOPIC]), ErrorCode.UNKNOWN_SERVER_ERROR)
    assert (_codes(fetch.topics), fetch.error_code, fetch.groups[0].error_code) == (
        [-1, -1],
        -1,
        -1,
    )


def test_a_commit_of_nothing_known_does_not_reach_the_group() -> None:
    node = GroupNode()
    node.image = node.image.__class__(topics=TopicsImage())
    node.coordinator.shutdown()
    answer = node.connect().call(committing("g", 1), 9)
    assert _codes(answer.topics) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_what_may_not_be_read_is_not_committed() -> None:
    node = GroupNode()
    wire = node.connect()
    wire.call(committing("g", 5), 9)
    appends = node.log.appends
    group = (Operation.READ, Resource.GROUP, "g")
    topic = (Operation.READ, Resource.TOPIC, TOPIC)
    no_group, no_topic = ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.TOPIC_AUTHORIZATION_FAILED
    for allowed, error in (({topic}, no_group), ({group}, no_topic)):
        other = node.connect(rights=rights_of(allowed))
        for version in range(2, 11):
            request = committing("g", 9, topic_id=TOPIC_ID if version >= 10 else bytes(16))
            assert _codes(other.call(request, version).topics) == [error]
    assert node.log.appends == appends
    assert wire.call(fetching("g", [TOPIC]), 7).topics[0].partitions[0].committed_offset == 5


def test_what_may_not_be_described_is_not_told() -> None:
    node = GroupNode()
    node.connect().call(committing("g", 5), 9)
    described = (Operation.DESCRIBE, Resource.GROUP, "g")
    other = node.connect(rights=rights_of({described}))
    assert other.call(fetching("g", None), 9).groups[0].topics == []
    (topic,) = other.call(fetching("g", [TOPIC]), 9).groups[0].topics
    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert [(one.committed_offset, one.error_code) for one in topic.partitions] == [(-1, error)] * 2


def test_what_may_not_be_deleted_stays() -> None:
    node = GroupNode()
    wire = node.connect()
    wire.call(committing("g", 5), 9)
    group = (Operation.DELETE, Resource.GROUP, "g")
    topic = (Operation.READ, Resource.TOPIC, TOPIC)
    no_topic = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    named = [
        OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(0)])
        for name in (TOPIC, "missing")
    ]
    request = OffsetDeleteRequest("g", named)
    denied = node.connect(rights=rights_of({topic})).call(request, 0)
    assert (denied.error_code, denied.topics) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, [])
    answer = node.connect(rights=rights_of({group})).call(request, 0)
    assert _codes(answer.topics) == [no_topic, no_topic]
    assert wire.call(fetching("g", [TOPIC]), 7).topics[0].partitions[0].committed_offset == 5
    answer = node.connect(rights=rights_of({group, topic})).call(request, 0)
    codes = {one.name: one.partitions[0].error_code for one in answer.topics}
    assert codes == {TOPIC: ErrorCode.NONE, "missing": no_topic}
