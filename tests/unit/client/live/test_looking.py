"""A look holds ends, leaders' bytes and where groups stand; what cannot be told is left out."""

from __future__ import annotations

from client.live.looking import seen_topics, take_sample
from protocol.errors import ErrorCode
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from protocol.messages.metadata import MetadataResponseTopic
from tests.unit.client.groups import answers, share_answers
from tests.unit.client.scripted import ScriptedCluster, offsets_of, topic_of
from tests.unit.client.topic_answers import sizes


def cluster() -> ScriptedCluster:
    denied = answers.committed_by("hidden", error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    return ScriptedCluster(
        [
            topic_of("t"),
            topic_of("__x", is_internal=True),
            MetadataResponseTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "secret"),
        ],
        {
            "ListOffsetsRequest": offsets_of,
            "DescribeLogDirsRequest": sizes,
            "ListGroupsRequest": ListGroupsResponse(
                groups=[ListedGroup("g"), ListedGroup("hidden")]
            ),
            "OffsetFetchRequest": answers.committed({"t": {0: 8}}, hidden=denied),
        },
    )


def test_topics_that_may_be_seen_from_one_answer() -> None:
    one = cluster()
    assert list(seen_topics(one, internal=False)) == ["t"]
    assert list(seen_topics(one, internal=True)) == ["t", "__x"]
    assert len(one.asked) == 2


def test_a_look() -> None:
    one = cluster()
    sample = take_sample(one, seen_topics(one, internal=False), 5.0)
    assert (sample.at, sample.starts, sample.ends) == (5.0, {("t", 0): 3}, {("t", 0): 10})
    assert sample.sizes == {("t", 0): 100}
    assert sample.committed == {"g": {("t", 0): 8}, "hidden": {}}


def test_only_the_groups_that_are_named() -> None:
    one = cluster()
    assert take_sample(one, seen_topics(one, internal=False), 5.0, ["g"]).committed == {
        "g": {("t", 0): 8}
    }
    assert one.asked_for("ListGroupsRequest") == []


def test_a_share_group_has_read_what_it_has_finished() -> None:
    """A partition without a known end counts up to its start offset."""
    one = cluster()
    one.answers["ListGroupsRequest"] = ListGroupsResponse(
        groups=[ListedGroup("s", group_type="Share")]
    )
    one.answers["DescribeShareGroupOffsetsRequest"] = share_answers.offsets(
        (0, 4, 2), (1, -1, -1), (2, 5, 1)
    )
    sample = take_sample(one, seen_topics(one, internal=False), 5.0)
    assert sample.committed == {"s": {("t", 0): 8, ("t", 2): 5}}
