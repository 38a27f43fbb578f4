"""The leaders of partitions: learnt from Metadata, used to group partitions and to send requests.

Follows KIP-320: a leader with an older epoch than the known one is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from typing import NamedTuple

from client.core.operation import (
    METADATA_VERSION,
    Answer,
    Attempts,
    ErrorAnswer,
    RequestStep,
    Steps,
    error_of,
    metadata_request,
)
from client.core.retries import LEADER
from protocol.errors import ErrorCode
from protocol.frames.message_codec import Request
from protocol.messages.metadata import MetadataResponse, MetadataResponseTopic

Partition = tuple[str, int]

NO_LEADER = -1


class NoLeader(ErrorAnswer):
    """A partition whose leader no broker names."""

    def __init__(self, place: Partition) -> None:
        text = f"nobody leads {place[0]}-{place[1]}"
        super().__init__(ErrorCode.LEADER_NOT_AVAILABLE, None, text)


class Led(NamedTuple):
    """A partition's leader, NO_LEADER if it has none, and the leader epoch."""

    epoch: int = -1
    leader: int = NO_LEADER


class KnownLeaders:
    """The leaders of the partitions that a client has asked about."""

    def __init__(self) -> None:
        self._topics: dict[str, dict[int, Led]] = {}
        self._newest: dict[tuple[bytes, int], Led] = {}
        """The leader in the newest epoch that any broker reported, by topic id and partition."""

    def learn(self, answer: MetadataResponse) -> None:
        """Learn the leaders from a response, unless a newer leader epoch is known. Forget a topic
        that the response reports with an error."""
        for topic in answer.topics:
            name = topic.name or ""
            self._topics.pop(name, None)
            if topic.error_code:
                continue
            for partition in topic.partitions:
                at = (topic.topic_id, partition.partition_index)
                led = Led(partition.leader_epoch, partition.leader_id)
                if self._newest.get(at, led).epoch <= led.epoch:
                    self._newest[at] = led
                self._topics.setdefault(name, {})[partition.partition_index] = self._newest[at]

    def of(self, place: Partition) -> Led:
        """Return the leader of a partition, with the id NO_LEADER if none is known."""
        return self._topics.get(place[0], {}).get(place[1], Led())

    def forget(self, topic: str) -> None:
        """Forget the leaders of a topic until the next response that has them."""
        self._topics.pop(topic, None)

    def partitions(self, attempts: Attempts, topic: str) -> Steps[int]:
        """Return the number of a topic's partitions as soon as each of them has a leader; ask any
        broker for the leaders meanwhile.

        Return 0 if the time for retries ends before that. Raises NoAnswer.
        """

        def once() -> Steps[int]:
            """Return the number of partitions, after asking for the leaders if one is missing.

            Returns 0 while the topic is unknown or a partition has no leader.
            """
            leaders = self._topics.get(topic, {})
            if not leaders or any(led.leader == NO_LEADER for led in leaders.values()):
                yield from self.look(topic)
                leaders = self._topics.get(topic, {})
            return 0 if any(led.leader == NO_LEADER for led in leaders.values()) else len(leaders)

        def code(count: int) -> int:
            """Return LEADER_NOT_AVAILABLE for a count of 0, else 0."""
            return 0 if count else ErrorCode.LEADER_NOT_AVAILABLE

        return attempts.settled(once, LEADER, code)

    def look(self, topic: str) -> Steps[None]:
        """Ask any broker for the leaders of a topic, and learn them. Raises NoAnswer."""
        self.learn((yield RequestStep(metadata_request([topic]), METADATA_VERSION)))

    def at_leader(
        self,
        attempts: Attempts,
        place: Partition,
        request_of: Callable[[int], Request],
        version: int,
        retried: Collection[int] = LEADER,
        code_of: Callable[[Answer], int] = error_of,
    ) -> Steps[Answer]:
        """Send a request to a partition's leader and return the response; retry after the errors in
        `retried`.

        `request_of` makes the request for a leader epoch; `code_of` returns a response's error.
        Each retry looks up the leader first. Raises NoLeader, NoAnswer.
        """

        is_stale = False

        def once() -> Steps[Answer]:
            """Send the request to the partition's leader and return the response; None while it has
            no leader.

            Each retry looks up the leader again.
            """
            nonlocal is_stale
            if is_stale or self.of(place).leader == NO_LEADER:
                yield from self.look(place[0])
            is_stale = True
            led = self.of(place)
            if led.leader == NO_LEADER:
                return None
            return (
                yield from attempts.request(RequestStep(request_of(led.epoch), version, led.leader))
            )

        def code(answer: Answer) -> int:
            """Return the response's error code; LEADER_NOT_AVAILABLE if there is no leader."""
            return ErrorCode.LEADER_NOT_AVAILABLE if answer is None else code_of(answer)

        answer = yield from attempts.settled(once, retried, code)
        if answer is None:
            raise NoLeader(place)
        return answer


def leaders_of(
    topics: Iterable[MetadataResponseTopic], alive: Container[int]
) -> dict[Partition, int]:
    """Return the leader's id of each partition, NO_LEADER if the leader is not among `alive`."""
    return {
        (topic.name or "", partition.partition_index): partition.leader_id
        if partition.leader_id in alive
        else NO_LEADER
        for topic in topics
        for partition in topic.partitions
    }


def by_leader(
    leaders: Mapping[Partition, int], wanted: Iterable[Partition]
) -> dict[int, list[Partition]]:
    """Return the partitions by their leader's id, in the order of `wanted`; those without a leader
    are left out."""
    partitions_by_leader: dict[int, list[Partition]] = {}
    for partition in wanted:
        leader = leaders.get(partition, NO_LEADER)
        if leader != NO_LEADER:
            partitions_by_leader.setdefault(leader, []).append(partition)
    return partitions_by_leader


def by_topic(wanted: Iterable[Partition]) -> dict[str, list[int]]:
    """Return the indexes of the partitions by topic, in the order of `wanted`."""
    indexes_by_topic: dict[str, list[int]] = {}
    for name, index in wanted:
        indexes_by_topic.setdefault(name, []).append(index)
    return indexes_by_topic
