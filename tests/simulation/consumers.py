"""Consumers that read partitions of their own choice: long polls, with and without sessions.

A consumer starts at the log's start, reads on from where it is, and never skips: what it gets
begins at its position. It sends the leader epoch that it knows, and follows where it is told so. It
asks one broker at a time for what that one leads, and now and then a follower (KIP-392).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.primitives import ZERO_UUID
from simulation.machines.simulated_nodes import SimulatedNodes
from simulation.sim_client import Waits
from simulation.sim_trace import Violation
from tests.simulation.fetched_batches import bounds_of
from tests.simulation.sim_actor import SimActor

SESSIONS_FROM = 7
LEADER_EPOCHS_FROM = 9
FOLLOWERS_FROM = 11
TOPIC_IDS_FROM = 13
EARLIEST = -2

Key = tuple[str, int]


@dataclass(slots=True)
class FetchedPartition:
    """One partition of a fetch, as its sender means it."""

    topic: str
    topic_id: bytes
    partition: int
    offset: int
    leader_epoch: int


@dataclass(slots=True)
class Fetching:
    """What watchers are told of a Fetch request (`Exchange.about`)."""

    asked: dict[Key, FetchedPartition]
    isolation: int
    min_bytes: int
    max_wait_ms: int
    in_session: bool
    from_leader: bool
    """Whether its sender takes whom it asks for the leader."""


class Session:
    """A fetch session with one broker (KIP-227), as its client knows it."""

    def __init__(self) -> None:
        self.id = 0
        self.epoch = 0
        self.holds: dict[Key, tuple[bytes, int, int]] = {}

    def drop(self) -> None:
        self.id = self.epoch = 0
        self.holds.clear()


class SimConsumer(SimActor):
    """See the module."""

    def __init__(
        self,
        name: str,
        *where: Any,
        topics: list[str],
        by_id: bool = False,
        trusts_state: bool = True,
        view: SimulatedNodes | None = None,
    ) -> None:
        """`view` tells which leader counts; None: all of them."""
        super().__init__(name, *where)
        self._view = view
        self.names = topics
        versions = [13, 15, 16, 17, 18] if by_id else [4, 6, 7, 9, 11, 12, 13, 17, 18]
        self.version = self.chance.choice(versions)
        self.keeps_positions = trusts_state and not by_id
        """Whether what it has read stays: its topics are never made anew, and no data is lost with
        the power."""
        self.isolation = self.chance.choice([0, 1])
        self.max_wait_ms = self.chance.choice([100, 500, 2_000])
        self.min_bytes = self.chance.choice([1, 1, 1, 400])
        self.uses_session = self.version >= SESSIONS_FROM and self.chance.random() < 0.8
        self.positions: dict[Key, int] = {}
        self.wanted: list[Key] = []
        self._sessions: dict[str, Session] = {}
        self.consumed = 0

    def life(self) -> Waits:
        while not self.stopping:
            if self.chance.random() < 0.03:
                yield from self._choose()
            yield from self.poll()
            yield self.chance.random() * 40.0

    def _choose(self) -> Waits:
        """Look at other partitions, as after an assign; positions are kept."""
        yield from self.learn(self.names)
        everything = [
            (topic.name, p)
            for topic in self.topics.all_of(self.names)
            for p in sorted(topic.leaders)
        ]
        count = self.chance.randint(1, max(1, len(everything)))
        self.wanted = self.chance.sample(everything, min(count, len(everything)))
        if self.chance.random() < 0.2:
            self._sessions.clear()

    # --- fetching ------------------------------------------------------------------------------

    def poll(self) -> Waits:
        """One fetch."""
        if not self.wanted:
            yield from self._choose()
        address = self._whom()
        asked = self._ask(address) if address else {}
        if address is None or not asked:
            yield self.pause_ms()
            yield from self.learn(self.names)
            return
        session = self._sessions.setdefault(address, Session())
        request, version = self._request(asked, session), self.version
        leads = [self.topics.leader(*key) == address for key in asked]
        about = Fetching(
            asked, self.isolation, self.min_bytes, self.max_wait_ms, session.id != 0, all(leads)
        )
        timeout_ms = self.max_wait_ms + 6_000.0
        response = yield from self.call(
            request, version, address, timeout_ms=timeout_ms, about=about
        )
        if response is None:
            session.drop()
            if self.chance.random() < 0.5:  # else it finds out by the leader epoch it sends
                yield from self.learn(self.names)
            return
        yield from self._take(response, asked, session, all(leads))

    def _whom(self) -> str | None:
        """The broker to ask next."""
        leaders = [
            one for one in dict.fromkeys(self.topics.leader(*key) for key in self.wanted) if one
        ]
        if not leaders:
            return None
        if self.version >= FOLLOWERS_FROM and self.chance.random() < 0.1:
            return self.chance.choice(self.bootstrap)
        return self.chance.choice(leaders) if len(leaders) > 1 else leaders[0]

    def _ask(self, address: str) -> dict[Key, FetchedPartition]:
        asked = {}
        leads = [key for key in self.wanted if self.topics.leader(*key) == address]
        for name, partition in leads or self.wanted[:1]:
            topic = self.topics.get(name)
            if topic is None or not topic.leaders.get(partition):
                continue
            offset = self.positions.setdefault((name, partition), 0)
            epoch = topic.epochs[partition] if self.version >= LEADER_EPOCHS_FROM else -1
            asked[(name, partition)] = FetchedPartition(
                name, topic.topic_id, partition, offset, epoch
            )
        return asked

    def _request(self, asked: dict[Key, FetchedPartition], session: Session) -> FetchRequest:
        named = asked
        by_id = self.version >= TOPIC_IDS_FROM
        forgotten: list[Key] = []
        if session.id:
            named = {
                key: one
                for key, one in asked.items()
                if session.holds.get(key) != (one.topic_id, one.offset, one.leader_epoch)
            }
            forgotten = [
                key
                for key, (topic_id, _, _) in session.holds.items()
                if key not in asked or (by_id and asked[key].topic_id != topic_id)
            ]
        request = FetchRequest(
            max_wait_ms=self.max_wait_ms,
            min_bytes=self.min_bytes,
            max_bytes=self.chance.choice([1_000, 50_000]),
            isolation_level=self.isolation,
            session_id=session.id,
            session_epoch=session.epoch if self.uses_session else -1,
            replica_id=-1,
        )
        for (name, partition), one in named.items():
            part = FetchPartition(
                partition, one.leader_epoch, one.offset, partition_max_bytes=20_000
            )
            topic_id = one.topic_id if by_id else ZERO_UUID
            request.topics.append(FetchTopic("" if by_id else name, topic_id, [part]))
        for name, partition in forgotten:
            topic_id = session.holds[(name, partition)][0]
            request.forgotten_topics_data.append(
                ForgottenTopic("" if by_id else name, topic_id if by_id else ZERO_UUID, [partition])
            )
        return request

    def _take(
        self, response: Any, asked: dict[Key, FetchedPartition], session: Session, from_leader: bool
    ) -> Waits:
        if response.error_code:
            error = ErrorCode(response.error_code)
            if error not in SESSION_ERRORS:
                raise Violation("I20", f"{self.name} fetches and is told {error!r}")
            session.drop()
            return
        if self.uses_session:
            if response.session_id:
                session.id = response.session_id
                session.epoch += 1
                session.holds = {
                    key: (one.topic_id, one.offset, one.leader_epoch) for key, one in asked.items()
                }
            else:
                session.drop()
        stale, out_of_range = False, []
        ids = {one.topic_id: name for (name, _), one in asked.items()}
        for told in response.responses:
            name = told.topic or ids.get(told.topic_id, "")
            for data in told.partitions:
                key = (name, data.partition_index)
                if key not in asked:
                    raise Violation("I5", f"{self.name} is given {key}, which it did not ask for")
                error = ErrorCode(data.error_code)
                if error is ErrorCode.NONE:
                    self._advance(key, data)
                elif error is ErrorCode.OFFSET_OUT_OF_RANGE:
                    out_of_range.append(key)
                elif error in STALE or self.is_refused(error):
                    stale = True
                else:
                    raise Violation("I20", f"{self.name} is told {error!r} for {key}")
        told_by = {key: self.topics.leader(*key) for key in out_of_range}
        if stale:
            yield self.pause_ms()
            yield from self.learn(self.names)
        if from_leader:  # a follower may not have it yet
            for key, leader in told_by.items():
                if self.topics.leader(*key) == leader:  # another one is asked first
                    yield from self._reset(key)

    def _advance(self, key: Key, data: Any) -> None:
        position = self.positions[key]
        try:
            bounds = bounds_of(data.records)
        except ValueError as error:
            raise Violation("I5", f"{self.name} reads {key}: {error}") from error
        if bounds is None:
            return
        first, end = bounds
        if not first <= position < end:
            raise Violation(
                "I5", f"{self.name} is at {position} of {key} and is given {first} to {end}: a gap"
            )
        self.consumed += end - position
        self.positions[key] = end

    def _reset(self, key: Key) -> Waits:
        """Go to the log's start."""
        name, partition = key
        wanted = ListOffsetsPartition(partition, timestamp=EARLIEST)
        request = ListOffsetsRequest(-1, topics=[ListOffsetsTopic(name, [wanted])])
        version = self.chance.choice([1, 2, 4, 5, 7, 9, 10])
        response = yield from self.call(request, version, self.topics.leader(*key) or None)
        if response is None:
            return
        told = response.topics[0].partitions[0]
        if told.error_code:
            yield from self.learn(self.names)
            return
        if self._from_another_past(key):
            yield from self.learn(self.names)
            return
        if self.keeps_positions and told.offset < self.positions[key]:
            raise Violation(
                "I1", f"{self.name} is at {self.positions[key]} of {key}, which starts at "
                f"{told.offset}, and is told that this is out of range"
            )  # fmt: skip
        self.positions[key] = told.offset

    def _from_another_past(self, key: Key) -> bool:
        """Whether whom it takes for the leader was replaced: that one lacks what it has read, and
        a request without a leader epoch does not tell."""
        view = self._view
        if view is None:
            return False
        teller = view.at(self.topics.leader(*key))
        return view.leader(*key) is not teller or view.is_replaced(teller, *key)


SESSION_ERRORS = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)
STALE = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.KAFKA_STORAGE_ERROR,
)
