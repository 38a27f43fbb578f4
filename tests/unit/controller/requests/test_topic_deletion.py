"""`topic_deletion`: who may delete what, and what the others cannot learn. As a running Apache
Kafka, but for the order."""

from __future__ import annotations

from controller.authorization.rights import UNLIMITED, Rights
from controller.metadata.image import TopicsImage
from controller.requests.topic_deletion import plan_deletion
from ground.sliced_work import in_one_go
from ottla.plugins.authorizer import Operation
from protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicState
from tests.unit.controller.controller_fixture import image_of, topic_records
from tests.unit.controller.rights_fixture import ListJudge, on_cluster, on_topic, rights_of

DENIED = (29, "Topic authorization failed.")
HERE, SHOWN, MINE, NOWHERE = (bytes([n]) * 16 for n in (1, 2, 3, 9))
TOPICS: TopicsImage = image_of(
    *topic_records("here", HERE), *topic_records("shown", SHOWN), *topic_records("mine", MINE)
).topics
MAY = (
    on_topic(Operation.DESCRIBE, "shown", "mine", "gone")
    | on_topic(Operation.DELETE, "mine", "gone")
)  # fmt: skip

Row = tuple[str | None, bytes, int, str | None]


def named(*names: str) -> list[DeleteTopicState]:
    return [DeleteTopicState(name) for name in names]


def by_id(*ids: bytes) -> list[DeleteTopicState]:
    return [DeleteTopicState(None, one) for one in ids]


def asked(rights: Rights, states: list[DeleteTopicState]) -> tuple[list[Row], list[bytes]]:
    results, doomed = in_one_go(plan_deletion(rights, TOPICS, states))
    return [_row(one) for one in results], doomed


def _row(one: DeletableTopicResult) -> Row:
    return one.name, one.topic_id, one.error_code, one.error_message


def test_by_name_what_may_not_be_described_is_not_told_from_what_is_not_there() -> None:
    rows, doomed = asked(rights_of(MAY), named("here", "not", "shown", "gone", "mine"))
    assert rows == [
        ("here", bytes(16), *DENIED),
        ("not", bytes(16), *DENIED),
        ("shown", bytes(16), *DENIED),
        ("gone", bytes(16), 3, "This server does not host this topic-partition."),
        ("mine", MINE, 0, None),
    ]
    assert doomed == [MINE]


def test_by_id_the_name_is_for_those_who_may_describe_it() -> None:
    rows, doomed = asked(rights_of(MAY), by_id(HERE, NOWHERE, SHOWN, MINE))
    assert rows == [
        (None, HERE, *DENIED),
        (None, NOWHERE, 100, "This server does not host this topic ID."),
        ("shown", SHOWN, *DENIED),
        ("mine", MINE, 0, None),
    ]
    assert doomed == [MINE]


def test_which_name_an_id_has_does_not_show_by_a_duplicate() -> None:
    rows, doomed = asked(rights_of(MAY), [*named("here"), *by_id(HERE)])
    assert rows == [("here", bytes(16), *DENIED), (None, HERE, *DENIED)]
    assert doomed == []
    both = "The provided topic name maps to an ID that was already supplied."
    for states in ([*named("mine"), *by_id(MINE)], [*by_id(MINE), *named("mine")]):
        assert asked(rights_of(MAY), states) == ([("mine", MINE, 42, both)], [])


def test_what_is_named_twice_is_told_so_whoever_asks() -> None:
    rows, _ = asked(rights_of(()), [*named("d", "d"), *by_id(HERE, HERE)])
    assert rows == [
        ("d", bytes(16), 42, "Duplicate topic name."),
        (None, HERE, 42, "Duplicate topic id."),
    ]


def test_one_who_may_delete_in_the_cluster_may_delete_any_topic() -> None:
    judge = ListJudge(on_cluster(Operation.DELETE))
    states = [*named("here", "not"), *by_id(SHOWN, NOWHERE)]
    rows, doomed = asked(judge.rights(), states)
    assert [row[2] for row in rows] == [0, 3, 0, 100]
    assert doomed == [HERE, SHOWN]
    assert len(judge.asked) == 1
    assert asked(UNLIMITED, states) == (rows, doomed)
