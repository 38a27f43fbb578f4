"""One whom nobody needs: it asks for this and that, mostly in vain, and is told nothing it may not.

It asks as a client would, and in a replica's name; and it would change ACLs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.describe_acls import DescribeAclsRequest
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from simulation.sim_client import Waits
from tests.simulation.acls.acl_changer import ALLOW, ANY, LITERAL, NAMES
from tests.simulation.sim_actor import SimActor

NOWHERE = "nowhere"
"""What its ACLs are about."""
THINK_MS = 250.0
TOPIC = 2
READ = 3
NO_REPLICA = -1


class Stranger(SimActor):
    """See the module."""

    def __init__(self, name: str, *where: Any, groups: list[str]) -> None:
        super().__init__(name, *where)
        self.groups = groups

    def life(self) -> Waits:
        works = self._works()
        while not self.stopping:
            yield self.chance.expovariate(1 / THINK_MS)
            yield from self.chance.choice(works)()

    def _works(self) -> list[Callable[[], Waits]]:
        return [self._read, self._pretend, self._look, self._meddle, self._commit, self._end,
                self._begin]  # fmt: skip

    def _topic(self) -> str:
        return self.chance.choice(NAMES[TOPIC])  # type: ignore[index]

    def _read(self) -> Waits:
        """The same again and again, as a consumer does at the end of a partition."""
        topic, to = self._topic(), self.chance.choice(self.bootstrap)
        yield from self.learn([topic])
        wait_ms, version = self.chance.choice([0, 20, 400]), self.chance.choice([4, 7, 11, 12])
        min_bytes = self.chance.choice([1, 1, 1_000])
        for _ in range(self.chance.randint(2, 8)):
            request = self._fetch(topic, NO_REPLICA, wait_ms, min_bytes)
            yield from self.call(request, version, self.topics.leader(topic, 0) or to)

    def _pretend(self) -> Waits:
        """As if it were a broker."""
        request = self._fetch(self._topic(), self.chance.choice([1, 2, 3]), 20)
        yield from self.call(request, self.chance.choice([4, 7, 11, 12]))

    def _fetch(self, topic: str, replica_id: int, wait_ms: int, min_bytes: int = 1) -> FetchRequest:
        part = FetchPartition(0, -1, 0, partition_max_bytes=1_000)
        return FetchRequest(
            replica_id=replica_id,
            max_wait_ms=wait_ms,
            min_bytes=min_bytes,
            max_bytes=1_000,
            topics=[FetchTopic(topic, partitions=[part])],
        )

    def _look(self) -> Waits:
        wanted = ListOffsetsTopic(self._topic(), [ListOffsetsPartition(0, timestamp=-1)])
        request = ListOffsetsRequest(NO_REPLICA, topics=[wanted])
        yield from self.call(request, self.chance.randint(1, 7))
        yield from self.call(
            DescribeAclsRequest(ANY, None, ANY, None, None, ANY, ANY), self.chance.randint(1, 3)
        )

    def _meddle(self) -> Waits:
        """Make and remove ACLs that are about nothing."""
        acl = (TOPIC, NOWHERE, LITERAL, "User:nobody", "*", READ, ALLOW)
        yield from self.call(CreateAclsRequest([AclCreation(*acl)]), self.chance.randint(1, 3))
        yield from self.call(DeleteAclsRequest([DeleteAclsFilter(*acl)]), self.chance.randint(1, 3))

    def _commit(self) -> Waits:
        """For a group that has members, or nobody's."""
        part = OffsetCommitRequestPartition(0, 1, -1, self.name)
        topics = [OffsetCommitRequestTopic(self._topic(), partitions=[part])]
        request = OffsetCommitRequest(self.chance.choice(self.groups), 1, self.name, topics=topics)
        yield from self.call(request, self.chance.randint(2, 9))

    def _end(self) -> Waits:
        """A transaction of somebody else."""
        name = self.chance.choice(["bank", "bank-1", "copier-1"])
        request = EndTxnRequest(name, 1_000_000, 0, True)
        yield from self.call(request, self.chance.randint(0, 5))

    def _begin(self) -> Waits:
        request = InitProducerIdRequest(None, 60_000)
        yield from self.call(request, self.chance.randint(0, 5))


class Rereader(Stranger):
    """Reads what there is from the start, over and over: each request is like the one before it."""

    def _works(self) -> list[Callable[[], Waits]]:
        return [self._read]
