"""Members of a group that is converted which do nothing by chance: a test says what they do.

One that is `alone` lives by itself: it finds the coordinator, joins and sends heartbeats, until it
`leaves`. Of another each part is told by the test (`Scenario.do`).
"""

from __future__ import annotations

from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from simulation.sim_client import Waits
from tests.simulation.cast import MIGRATING
from tests.simulation.consumer_groups.consumer_member import JOIN_EPOCH
from tests.simulation.consumer_groups.migrating_member import MigratingMember, Speaks
from tests.simulation.group_members import Committing, Key
from tests.simulation.scenario import Scenario

BEAT_MS = 250.0
"""Between heartbeats."""


class SteeredMember(MigratingMember):
    """See the module."""

    def __init__(self, *arguments: Any, speaks: Speaks, alone: bool, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.speaks = speaks
        self.alone = alone
        self.leaves = False

    def life(self) -> Waits:
        yield from self.learn_all(self.names)
        while self.alone and not self.stopping:
            if self.coordinator is None:
                yield from self._find()
            elif self.leaves:
                yield from self._leave()
                return
            else:
                yield from self.next_turn()

    def next_turn(self) -> Waits:
        """Join where it has to, else a heartbeat."""
        if self.speaks is Speaks.CONSUMER:
            joins = self.generation <= JOIN_EPOCH
            if not joins:
                yield BEAT_MS
            yield from self._beat(JOIN_EPOCH if joins else self.generation)
        elif self._is_to_join:
            yield from self._join_classic()
        else:
            yield BEAT_MS
            yield from self._react_classic((yield from self._heartbeat()))

    def ask_to_join(self) -> Waits:
        """Find the coordinator, and send a JoinGroup; its answer. `sync` is what comes next."""
        while self.coordinator is None:
            yield from self._find()
        return (yield from self._ask(self._joining(), self.join_version))

    def sync(self, joined: Any) -> Waits:
        """Take the answer to a JoinGroup, and ask for what is its own."""
        self.member_id, self.generation = joined.member_id, joined.generation_id
        yield from self._sync_classic(joined.protocol_name, {})

    def commit_as(self, generation: int, key: Key, offset: int, *, watched: bool = True) -> Waits:
        """Commit in a generation, whatever the member's is; its error, None without answer.
        `watched`: invariants are told of it."""
        part = OffsetCommitRequestPartition(key[1], offset, -1, "")
        topics = [OffsetCommitRequestTopic(key[0], partitions=[part])]
        request = OffsetCommitRequest(self.group, generation, self.member_id, None, topics=topics)
        about = Committing(self.group, generation, self.member_id, {key: offset})
        response = yield from self._ask(request, 9, about=about if watched else None)
        if response is None:
            return None
        return ErrorCode(response.topics[0].partitions[0].error_code)

    def _next_life(self) -> None:
        speaks = self.speaks
        super()._next_life()
        self.speaks = speaks


def steered(
    story: Scenario,
    name: str,
    speaks: Speaks,
    *,
    alone: bool = True,
    topics: list[str] | None = None,
    expression: str | None = None,
) -> SteeredMember:
    """A new member of the group that is converted, subscribed to `topics` (all steady ones)."""
    member: SteeredMember = story.add(
        SteeredMember, name, group=MIGRATING, topics=topics or list(story.steady),
        instance_id=None, speaks=speaks, alone=alone, expression=expression,
    )  # fmt: skip
    return member
