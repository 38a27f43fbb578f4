"""Members of a share group, as Kafka's clients speak KIP-932.

find the coordinator → join at epoch 0 → heartbeats, and meanwhile: fetch from the leaders of what
is assigned, acknowledge some of it, some of it later or never. A member accepts, releases, rejects
and renews as it likes; what is no record it acknowledges as a gap. It leaves, dies, falls silent
past its session and its locks, closes connections and sessions, and begins anew. A calm one accepts
all that it is given.
"""

from __future__ import annotations

from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from simulation.network.sim_network import Exchange
from simulation.sim_client import Waits
from simulation.sim_trace import Violation
from tests.simulation.group_members import HEARTBEAT_MS, SESSION_MS, GroupMember
from tests.simulation.share_groups.share_session import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    MemberSession,
    Place,
)

JOIN_EPOCH, LEAVE_EPOCH = 0, -1
GONE = (
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
)
THINK_MS = 250.0
KINDS = {ACCEPT: 60, RELEASE: 12, REJECT: 4, RENEW: 6, GAP: 1}
"""What a member that is not calm acknowledges, of a hundred records; the others it keeps."""
KEEPS = 17
SLOW = 0.85
"""How likely a record is kept that was kept before."""


class ShareMember(GroupMember):
    """A member. `generation` is its epoch: 0 or less while it is in no group."""

    def __init__(self, name: str, *where: Any, group: str, topics: list[str]) -> None:
        super().__init__(name, *where, group=group, topics=topics, instance_id=None)
        self.version = self.chance.choice([1, 2, 2])
        self.generation = JOIN_EPOCH
        self.lives = 0
        self.sessions: dict[str, MemberSession] = {}
        """By the address of the broker."""
        self._next_beat_ms = 0.0
        self._knows_leaders = True
        self._had_records = False
        """True if the last fetch left the member with records."""

    def life(self) -> Waits:
        yield from self.learn_all(self.names)
        yield self.chance.random() * 2_000.0
        self._next_life()
        while not self.stopping:
            if self.coordinator is None:
                yield from self._find()
            elif self.generation <= JOIN_EPOCH:
                yield from self._beat(JOIN_EPOCH)
            else:
                yield from self._turn()
        yield from self._leave()

    def _turn(self) -> Waits:
        """Fetch and acknowledge, or sometimes leave, die or lose the connection."""
        think_ms = THINK_MS * self.chance.random()
        if self.calm:
            # Throttled records come one at a time, and all are to be finished soon.
            think_ms *= 0.05 if self._had_records else 2.0
        yield think_ms
        dice = 1.0 if self.calm else self.chance.random()
        if dice < 0.01:
            yield SESSION_MS * (0.5 + self.chance.random())  # longer than its locks
        elif dice < 0.02:
            yield from self._leave()
        elif dice < 0.03:
            self._next_life()
            self.hang_up()
        elif dice < 0.045:
            self.hang_up()
        elif dice < 0.055:
            yield from self._close_sessions()
        elif dice < 0.06:
            yield from self._intrude()
        elif self.world.now_ms >= self._next_beat_ms:
            yield from self._beat(self.generation)
        else:
            yield from self._work()

    # --- membership ----------------------------------------------------------------------------

    def _beat(self, epoch: int) -> Waits:
        """Send a heartbeat, and follow its answer."""
        self._next_beat_ms = self.world.now_ms + HEARTBEAT_MS
        topics = yield from self.know(*self.names)
        names = {topic.topic_id: topic.name for topic in topics}
        request = ShareGroupHeartbeatRequest(self.group, self.member_id, epoch)
        if epoch == JOIN_EPOCH or self.chance.random() < 0.2:
            request.subscribed_topic_names = self.names
        response = yield from self._ask(request, 1)
        if response is None:
            return
        if response.error_code:
            yield from self._react(ErrorCode(response.error_code))
        elif epoch >= JOIN_EPOCH:
            self.joined += epoch == JOIN_EPOCH
            self.generation = response.member_epoch
            if response.assignment is not None:
                self.assigned = [
                    (names[topic.topic_id], partition)
                    for topic in response.assignment.topic_partitions
                    if topic.topic_id in names
                    for partition in topic.partitions
                ]

    def _react(self, error: ErrorCode) -> Waits:
        if error in GONE:
            self.generation, self.assigned = JOIN_EPOCH, []
        else:
            yield from super()._react(error)

    def _leave(self) -> Waits:
        yield from self._close_sessions()
        if self.coordinator is not None and self.generation > JOIN_EPOCH:
            yield from self._beat(LEAVE_EPOCH)
        self._next_life()

    def _next_life(self) -> None:
        """Another process: it has nothing, and another id."""
        self.generation, self.assigned, self.sessions = JOIN_EPOCH, [], {}
        self.lives += 1
        self.member_id = f"{self.name}-{self.lives}"

    def _intrude(self) -> Waits:
        """Try to join as a member of a consumer group: a group has one type."""
        request = ConsumerGroupHeartbeatRequest(self.group, self.member_id, JOIN_EPOCH)
        request.rebalance_timeout_ms = SESSION_MS
        request.subscribed_topic_names, request.topic_partitions = self.names, []
        response = yield from self._ask(request, 1)
        if response is not None and not response.error_code:
            raise Violation("I33", f"{self.group} of share members takes in a consumer")

    # --- records -------------------------------------------------------------------------------

    def _work(self) -> Waits:
        """Fetch from each leader of what it is assigned, then acknowledge what it likes."""
        if not self._knows_leaders:
            yield from self.learn(self.names)
            self._knows_leaders = True
        topics = yield from self.know(*self.names)
        places: dict[str, list[Place]] = {}
        for topic in topics:
            for index, leader in topic.leaders.items():
                if leader and (topic.name, index) in self.assigned:
                    places.setdefault(leader, []).append((topic.topic_id, index))
        yield from self._exchange([
            (session, session.fetch(connection, places[address], calm=self.calm))
            for address in places
            if (connection := self.connection(address)) is not None
            for session in (self._session(address),)
        ])  # fmt: skip
        self._had_records = any(session.held for session in self.sessions.values())
        self._decide()
        if self.chance.random() < 0.3 and not self.calm:
            return  # the next ShareFetch takes them along
        yield from self._exchange([
            (session, exchange)
            for address, session in list(self.sessions.items())
            if (connection := self.connection(address)) is not None
            and (exchange := session.acknowledge(connection)) is not None
        ])  # fmt: skip

    def _session(self, address: str) -> MemberSession:
        if address not in self.sessions:
            self.sessions[address] = MemberSession(
                self.group, self.member_id, self.version, self.chance
            )
        return self.sessions[address]

    def _exchange(self, sent: list[tuple[MemberSession, Exchange]]) -> Waits:
        """Wait for answers, and take them."""
        if not sent:
            yield self.pause_ms()
            self._knows_leaders = False
            return
        yield [exchange for _, exchange in sent]
        for session, exchange in sent:
            error = session.take(exchange)
            if error is None or session.errors:
                self._knows_leaders = False
        if not self._knows_leaders:
            yield self.pause_ms()

    def _decide(self) -> None:
        """Choose what becomes of the records that it has."""
        kinds = [*KINDS, None]
        weights = [*KINDS.values(), KEEPS]
        for session in self.sessions.values():
            for place, held in session.held.items():
                decided = session.decided.setdefault(place, {})
                for offset, is_record in held.items():
                    kind = self.chance.choices(kinds, weights)[0]
                    if (place, offset) in session.slow and self.chance.random() < SLOW:
                        kind = None
                    if self.calm or (kind == RENEW and session.version < 2):
                        kind = ACCEPT
                    if kind in (None, RENEW):
                        session.slow[place, offset] = None
                    if kind is not None:
                        decided[offset] = kind if is_record else GAP
                if not decided:
                    del session.decided[place]

    def _close_sessions(self) -> Waits:
        """Close all sessions; what it has not acknowledged is the group's again."""
        sessions, self.sessions = self.sessions, {}
        closing = [
            exchange
            for address, session in sessions.items()
            if (connection := self.connection(address)) is not None
            and (exchange := session.close(connection)) is not None
        ]
        yield closing if closing else self.pause_ms()
