from __future__ import annotations

from broker.groups.share.initialization import (
    InitializedTopic,
    StateTopics,
    state_topics_of,
    state_topics_record,
    state_topics_tombstone,
)
from tests.unit.broker.groups.share.share_stage import parsed, topic_id

T, U = topic_id("t"), topic_id("u")


def topic(name: str, *partitions: int) -> InitializedTopic:
    return InitializedTopic(name, partitions)


def test_partitions_go_from_initializing_to_initialized() -> None:
    topics = StateTopics().begin({T: topic("t", 0, 1, 2)})
    topics = topics.finish({T: (0, 2)})
    assert topics == StateTopics({T: topic("t", 1)}, {T: topic("t", 0, 2)})
    assert topics.finish({T: (1,)}) == StateTopics({}, {T: topic("t", 0, 1, 2)})
    assert topics.give_up({T: (1,)}) == StateTopics({}, {T: topic("t", 0, 2)})


def test_what_was_forgotten_meanwhile_is_not_initialized() -> None:
    topics = StateTopics().begin({T: topic("t", 0)}).forget([T])
    assert topics.finish({T: (0,)}) == StateTopics()


def test_a_state_that_is_deleted_is_remembered_until_it_is_gone() -> None:
    topics = StateTopics({}, {T: topic("t", 0), U: topic("u", 0)}).begin_deletion([T])
    assert topics == StateTopics({}, {U: topic("u", 0)}, {T: "t"})
    assert topics.forget([T]) == StateTopics({}, {U: topic("u", 0)})
    assert topics.begin({T: topic("t", 0)}).deleting == {}


def test_the_record_has_all_of_it() -> None:
    topics = StateTopics({T: topic("t", 1)}, {T: topic("t", 0)}, {U: "u"})
    key, value = parsed(state_topics_record("g", topics))
    assert key.group_id == "g"
    assert state_topics_of(value) == topics
    assert parsed(state_topics_tombstone("g"))[1] is None
