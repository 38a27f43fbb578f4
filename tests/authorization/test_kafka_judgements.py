"""The authorizer and the reference say what Apache Kafka said about random sets of ACLs."""

from __future__ import annotations

import pytest

from controller.authorization.rights import OPERATIONS_OF
from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from tests.authorization.kafka_judgements import (
    ADDRESSES,
    NAMES,
    RANGES,
    Recording,
    judged,
    recorded,
)
from tests.authorization.reference import Entry, Reference


def by_reference(entries: list[Entry], everyone: bool, user: str | None, host: str) -> list[int]:
    reference, who = Reference(entries, ["User:admin"], everyone), f"User:{user or 'ANONYMOUS'}"

    def bits(resource: Resource, name: str, denied: int) -> int:
        may = {
            one
            for one in OPERATIONS_OF[resource]
            if reference.allows(who, host, one, resource, name)
        }
        return sum(1 << one for one in may) if Operation.DESCRIBE in may else denied

    answers = [bits(Resource.TOPIC, name, -29) for name in NAMES]
    answers += [bits(Resource.GROUP, name, -30) for name in NAMES]
    answers.append(bits(Resource.CLUSTER, CLUSTER_NAME, 0))
    idempotent = reference.allows(
        who, host, Operation.IDEMPOTENT_WRITE, Resource.CLUSTER, CLUSTER_NAME
    ) or reference.allows_some(who, host, Operation.WRITE, Resource.TOPIC)
    return [*answers, 0 if idempotent else -31]


RECORDINGS = pytest.mark.parametrize("recording", [ADDRESSES, RANGES], ids=lambda one: one.file)


@RECORDINGS
@pytest.mark.parametrize("by", [judged, by_reference])
def test_it_says_what_kafka_says(by: object, recording: Recording) -> None:
    assert callable(by)
    cases = list(recorded(recording))
    assert len(cases) > 100
    for entries, everyone, user, host, answers in cases:
        told = by(entries, everyone, user, host)
        assert told == answers, (entries, everyone, user, host)


@RECORDINGS
def test_what_was_recorded_tells_something(recording: Recording) -> None:
    """Most of the answers are neither all denied nor all allowed."""
    answers = [one for *_, told in recorded(recording) for one in told]
    some = [one for one in answers if one > 0]
    assert len(set(some)) > 20
    assert len(some) > len(answers) / 6


def test_where_a_client_is_makes_a_difference() -> None:
    """By the recorded entries with ranges, each place is told something else than each other."""
    by_place: dict[str, list[list[int]]] = {}
    for *_, host, told in recorded(RANGES):
        by_place.setdefault(host, []).append(told)
    places = list(by_place.values())
    assert len(places) == len(RANGES.hosts)
    assert all(one != other for one in places for other in places if one is not other)
