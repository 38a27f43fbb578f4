"""Who leads which partition: what Metadata tells, partitions by their leaders, the way to one.

Follows KIP-320: what a broker tells of an older leader epoch is not believed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from typing import NamedTuple

from client.core.operation import (
    METADATA_VERSION,
    Answer,
    Ask,
    Attempts,
    ErrorAnswer,
    Steps,
    error_of,
    metadata_request,
)
from client.core.retries import LEADER
from protocol.errors import ErrorCode
from protocol.frames.message_codec import Request
from protocol.messages.metadata import MetadataResponse, MetadataResponseTopic

Partition = tuple[str, int]

NOBODY = -1


class NoLeader(ErrorAnswer):
    """A partition has no leader that anybody knows of."""

    def __init__(self, place: Partition) -> None:
        what = f"nobody leads {place[0]}-{place[1]}"
        super().__init__(ErrorCode.LEADER_NOT_AVAILABLE, None, what)


class Led(NamedTuple):
    """A partition's leader, and since which epoch it leads."""

    epoch: int = -1
    leader: int = NOBODY


class KnownLeaders:
    """The leaders of the partitions that a client has asked about."""

    def __init__(self) -> None:
        self._topics: dict[str, dict[int, Led]] = {}
        self._newest: dict[tuple[bytes, int], Led] = {}
        """By topic id and partition: what somebody told of the newest epoch."""

    def take(self, answer: MetadataResponse) -> None:
        """Learn what an answer tells; a topic that it does not know is forgotten."""
        for topic in answer.topics:
            name = topic.name or ""
            self._topics.pop(name, None)
            if topic.error_code:
                continue
            for one in topic.partitions:
                at = (topic.topic_id, one.partition_index)
                led = Led(one.leader_epoch, one.leader_id)
                if self._newest.get(at, led).epoch <= led.epoch:
                    self._newest[at] = led
                self._topics.setdefault(name, {})[one.partition_index] = self._newest[at]

    def of(self, place: Partition) -> Led:
        """The leader of a partition; NOBODY where none is known."""
        return self._topics.get(place[0], {}).get(place[1], Led())

    def forget(self, topic: str) -> None:
        """Know nothing of a topic until somebody tells of it again."""
        self._topics.pop(topic, None)

    def partitions(self, attempts: Attempts, topic: str) -> Steps[int]:
        """How many a topic has, once each of them has a leader; 0 where that did not come in time.
        Raises NoAnswer."""

        def once() -> Steps[int]:
            known = self._topics.get(topic, {})
            if not known or any(one.leader == NOBODY for one in known.values()):
                yield from self.look(topic)
                known = self._topics.get(topic, {})
            return 0 if any(one.leader == NOBODY for one in known.values()) else len(known)

        def code(count: int) -> int:
            return 0 if count else ErrorCode.LEADER_NOT_AVAILABLE

        return attempts.settled(once, LEADER, code)

    def look(self, topic: str) -> Steps[None]:
        """Ask any broker about a topic."""
        self.take((yield Ask(metadata_request([topic]), METADATA_VERSION)))

    def at_leader(
        self,
        attempts: Attempts,
        place: Partition,
        request_of: Callable[[int], Request],
        version: int,
        retried: Collection[int] = LEADER,
        code_of: Callable[[Answer], int] = error_of,
    ) -> Steps[Answer]:
        """The answer of a partition's leader to a request that is made with its epoch. Raises
        NoLeader, NoAnswer."""

        doubted = False

        def once() -> Steps[Answer]:
            nonlocal doubted
            if doubted or self.of(place).leader == NOBODY:
                yield from self.look(place[0])
            doubted = True
            led = self.of(place)
            if led.leader == NOBODY:
                return None
            return (yield from attempts.ask(Ask(request_of(led.epoch), version, led.leader)))

        def code(answer: Answer) -> int:
            return ErrorCode.LEADER_NOT_AVAILABLE if answer is None else code_of(answer)

        answer = yield from attempts.settled(once, retried, code)
        if answer is None:
            raise NoLeader(place)
        return answer


def leaders_of(
    topics: Iterable[MetadataResponseTopic], alive: Container[int]
) -> dict[Partition, int]:
    """The leader of each partition; NOBODY where it is none of the brokers that are `alive`."""
    return {
        (topic.name or "", one.partition_index): one.leader_id if one.leader_id in alive else NOBODY
        for topic in topics
        for one in topic.partitions
    }


def by_leader(
    leaders: Mapping[Partition, int], wanted: Iterable[Partition]
) -> dict[int, list[Partition]]:
    """Partitions by the broker that leads them; those without a leader are left out."""
    found: dict[int, list[Partition]] = {}
    for partition in wanted:
        leader = leaders.get(partition, NOBODY)
        if leader != NOBODY:
            found.setdefault(leader, []).append(partition)
    return found


def by_topic(wanted: Iterable[Partition]) -> dict[str, list[int]]:
    """Partitions by their topics, as requests name them."""
    found: dict[str, list[int]] = {}
    for name, index in wanted:
        found.setdefault(name, []).append(index)
    return found
