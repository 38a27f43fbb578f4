"""Offsets of a group with very many: in slices, of one moment, the same bytes as in one piece."""

from __future__ import annotations

from typing import Any

import pytest

from broker.apis.group_offsets import GroupOffsetsApi
from broker.groups.group_coordinator import GroupCoordinator
from controller.authorization.rights import UNLIMITED, Rights
from ground.sliced_work import PIECES_AT_ONCE, Pace
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.frames import encoded_items
from protocol.frames.message_codec import decode_response, encode_response
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from tests.unit.broker.apis.api_fixture import Cluster, context
from tests.unit.broker.groups.playbook import GroupNode
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import on_topic, rights_of

MANY = PIECES_AT_ONCE + 50
WIDE = "wide"
NAMES = [f"topic-{number}" for number in range(MANY)]
GROUP = "g"
MAY_DESCRIBE = {(Operation.DESCRIBE, Resource.GROUP, GROUP)}


class Offsets:
    """A group with an offset of each of many topics, and of each partition of a wide one."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        for name in NAMES:
            self.cluster.topic(name)
        self.cluster.topic(WIDE, MANY)
        self.node = GroupNode()
        self.node.image = self.cluster.image  # type: ignore[misc]
        self.coordinator: GroupCoordinator = self.node.coordinator
        self.turns = Turns()
        self.api = GroupOffsetsApi(self.cluster, self.coordinator, self.turns.answers)
        self.commit(1)

    def commit(self, offset: int) -> None:
        """An offset of everything."""
        topics = [
            OffsetCommitRequestTopic(name, partitions=[_committed(0, offset)]) for name in NAMES
        ]
        wide = [_committed(index, offset) for index in range(MANY)]
        request = OffsetCommitRequest(
            GROUP, topics=[*topics, OffsetCommitRequestTopic(WIDE, partitions=wide)]
        )
        turns = Turns()  # no other answer goes on meanwhile
        api = GroupOffsetsApi(self.cluster, self.coordinator, turns.answers)
        api.commit(context(8, 8), request, lambda _: None)
        turns.run()

    def request(self, version: int, *, named: bool, stable: bool = False) -> OffsetFetchRequest:
        """For all, or for all and one more by their names, or their ids."""
        wide = [*range(MANY), MANY + 7]
        by_name = self.cluster.image.topics.by_name
        if version < 8:
            topics = [OffsetFetchRequestTopic(name, [0]) for name in [*NAMES, "none"]]
            topics.append(OffsetFetchRequestTopic(WIDE, wide))
            return OffsetFetchRequest(GROUP, topics if named else None, require_stable=stable)
        asked = [
            OffsetFetchRequestTopics(name, by_name[name].id, [0] if name != WIDE else wide)
            for name in [*NAMES, WIDE]
        ]
        asked.append(OffsetFetchRequestTopics("none", b"n" * 16, [0, 1]))
        group = OffsetFetchRequestGroup(GROUP, topics=asked if named else None)
        other = OffsetFetchRequestGroup("other", topics=None)
        return OffsetFetchRequest(groups=[group, other], require_stable=stable)

    def ask(
        self, request: OffsetFetchRequest, version: int, rights: Rights = UNLIMITED
    ) -> list[bytes]:
        """The answers, when there are some."""
        answers: list[bytes] = []

        def respond(response: Any) -> None:
            answers.append(encode_response(response, version, 7).joined())

        self.api.fetch(context(ApiKey.OFFSET_FETCH, version, rights=rights), request, respond)
        return answers


def _committed(index: int, offset: int) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(index, offset, -1, "")


@pytest.fixture(scope="module")
def offsets() -> Offsets:
    return Offsets()


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("version", range(1, 11))
def test_in_slices_as_in_one_piece(
    offsets: Offsets, monkeypatch: pytest.MonkeyPatch, version: int, named: bool, stable: bool
) -> None:
    if version < 2 and not named:
        named = True
    request = offsets.request(version, named=named, stable=stable)
    some = rights_of(MAY_DESCRIBE | on_topic(Operation.DESCRIBE, WIDE, *NAMES[::2]))
    for rights in (UNLIMITED, some):
        sliced = offsets.ask(request, version, rights)
        assert sliced == [] and offsets.turns.run() >= 2
        with monkeypatch.context() as patched:
            patched.setattr(Pace, "is_full", lambda *_: False)
            patched.setattr(encoded_items, "KEPT_PIECES", 1 << 30)
            whole = offsets.ask(request, version, rights)
            offsets.turns.run()
        assert sliced == whole and len(whole[0]) > MANY * 10


def test_a_long_answer_is_of_the_moment_when_it_was_asked_for(offsets: Offsets) -> None:
    request = offsets.request(9, named=False)
    (before,) = _run(offsets, offsets.ask(request, 9))
    answers = offsets.ask(request, 9)
    offsets.commit(2)
    assert _run(offsets, answers) == [before]
    (after,) = _run(offsets, offsets.ask(request, 9))
    told = [
        {
            one.committed_offset
            for topic in read(answer).groups[0].topics
            for one in topic.partitions
        }
        for answer in (before, after)
    ]
    assert told == [{1}, {2}]
    offsets.commit(1)


def _run(offsets: Offsets, answers: list[bytes]) -> list[bytes]:
    offsets.turns.run()
    return answers


def read(answer: bytes) -> OffsetFetchResponse:
    response = decode_response(ApiKey.OFFSET_FETCH, memoryview(answer)[4:], 9)[1]
    assert isinstance(response, OffsetFetchResponse)
    return response


def test_few_are_answered_at_once(offsets: Offsets) -> None:
    topics = [OffsetFetchRequestTopics(name, partition_indexes=[0]) for name in NAMES[:50]]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=topics)])
    (answer,) = offsets.ask(request, 9)
    assert [one.partitions[0].committed_offset for one in read(answer).groups[0].topics] == [1] * 50
