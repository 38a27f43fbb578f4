"""Sessions of a cache whose ids count upwards, and partitions that do nothing but change."""

from __future__ import annotations

from typing import cast

from broker.replication.fetch_session import FetchPartition, FetchSession
from broker.replication.fetch_session_cache import FetchSessionCache
from broker.replication.partition import Partition
from broker.replication.partition_reads import PartitionRead


class FakePartition:
    followers = None

    def __init__(self) -> None:
        self.listeners: dict[FetchSession, None] = {}

    def change(self) -> None:
        for listener in list(self.listeners):
            listener.partition_changed(cast(Partition, self))


class Cache:
    """A cache whose ids count upwards, and what it was told."""

    def __init__(self, slots: int = 2, eviction_ms: int = 1000) -> None:
        self.next_id = 0
        self.told: list[int] = []
        self.cache = FetchSessionCache(
            slots, eviction_ms, self.random_bytes, lambda s, _: self.told.append(s.session_id)
        )

    def random_bytes(self, count: int) -> bytes:
        self.next_id += 1
        return self.next_id.to_bytes(count, "big")

    def create(self, partitions: int = 1, now_ms: float = 0) -> FetchSession:
        session = self.cache.create(partitions, True, now_ms)
        assert session is not None
        for index in range(partitions):
            put(session, index)
        return session


def put(session: FetchSession, index: int, offset: int = 0) -> FakePartition:
    partition = FakePartition()
    wanted = FetchPartition((b"t" * 16, index), offset, 1000)
    session.put(wanted, cast(Partition, partition))
    return partition


def settle_all(session: FetchSession, read: PartitionRead) -> None:
    for wanted in list(session.changed.values()):
        wanted.note_sent(read)
        session.settle(wanted, read)
