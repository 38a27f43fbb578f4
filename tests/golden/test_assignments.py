"""The assignors give out what Apache Kafka gave out, partition by partition.

Kafka lets ties be decided by the order of its hash maps, which is no promise. Here they are decided
by the order in which members and topics come, so they are given in Kafka's order.
"""

from __future__ import annotations

import pytest

from broker.groups.consumer.assignors.assignor import Assignor, MemberSubscription
from broker.groups.consumer.assignors.range import RangeAssignor
from broker.groups.consumer.assignors.uniform import UniformAssignor
from tests.golden.assignment_cases import Owned, Step, read_cases

CASES = read_cases()
ASSIGNORS: dict[str, Assignor] = {"uniform": UniformAssignor(), "range": RangeAssignor()}

TOPICS = tuple(
    "a5 a8 a3 a16 a12 a2 a4 b4 c4 a1 b6 a6 a7 p d n".split()  # noqa: SIM905  easier to read
)
"""The order of Kafka's map of topics. Their ids were chance; this one explains all answers."""


@pytest.mark.parametrize("assignor", ASSIGNORS)
@pytest.mark.parametrize("name", CASES)
def test_recorded_assignments(name: str, assignor: str) -> None:
    before: Owned = {}
    for step in CASES[name]:
        got = _assign(ASSIGNORS[assignor], step, before)
        assert got == step.answers[assignor], step.event
        before = got


def test_there_are_94_of_them_and_each_event_has_an_answer() -> None:
    assert len(CASES) * len(ASSIGNORS) == 94
    for steps in CASES.values():
        assert steps
        assert all(list(step.answers) == list(ASSIGNORS) for step in steps)


def _assign(assignor: Assignor, step: Step, before: Owned) -> Owned:
    used = {topic for topics in step.subscriptions.values() for topic in topics}
    topics = {_id(name): step.topics[name] for name in TOPICS if name in used & set(step.topics)}
    members = {
        member: MemberSubscription(
            frozenset(_id(name) for name in step.subscriptions[member] if _id(name) in topics),
            {_id(name): partitions for name, partitions in before.get(member, {}).items()},
            step.instance_ids.get(member),
            step.racks.get(member),
        )
        for member in _in_kafkas_order(list(step.subscriptions))
    }
    assigned = assignor.assign(members, topics)
    assert list(assigned) == list(members)
    return {
        member: {topic.rstrip(b"\0").decode(): parts for topic, parts in given.items()}
        for member, given in assigned.items()
    }


def _id(name: str) -> bytes:
    return name.encode().ljust(16, b"\0")


def _in_kafkas_order(joined: list[str]) -> list[str]:
    """That of a Java `HashMap`; in one bucket, who joined last came first."""
    buckets = 16 if len(joined) <= 12 else 32
    last_first = joined[::-1]
    last_first.sort(key=lambda name: _java_hash(name) % buckets)
    return last_first


def _java_hash(name: str) -> int:
    value = 0
    for character in name:
        value = (31 * value + ord(character)) & 0xFFFFFFFF
    return value ^ value >> 16
