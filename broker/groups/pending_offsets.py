"""Offsets of open transactions: they count when the transaction is committed, or never.

Owns them by producer id, and which keys and groups some transaction holds. Changes as the log's
records and markers say; decides nothing. Follows the pending offsets and open transactions of
Kafka's `OffsetMetadataManager`; KIP-98, KIP-447.
"""

from __future__ import annotations

from broker.groups.committed_offset import CommittedOffset, Key


class PendingOffsets:
    """Pending offsets of one partition of `__consumer_offsets`."""

    def __init__(self) -> None:
        self._producers: dict[int, dict[Key, CommittedOffset]] = {}
        self._groups: dict[str, dict[Key, dict[int, None]]] = {}

    def put(self, producer_id: int, key: Key, offset: CommittedOffset) -> None:
        """The open transaction of `producer_id` sets an offset, perhaps anew."""
        self._producers.setdefault(producer_id, {})[key] = offset
        self._groups.setdefault(key[0], {}).setdefault(key, {})[producer_id] = None

    def take(self, producer_id: int) -> dict[Key, CommittedOffset]:
        """The transaction of `producer_id` ended: what it had set, which is pending no more."""
        offsets = self._producers.pop(producer_id, {})
        for key in offsets:
            self._release(key, producer_id)
        return offsets

    def remove(self, key: Key) -> None:
        """A tombstone: no open transaction will set this offset."""
        for producer_id in list(self._groups.get(key[0], {}).get(key, ())):
            offsets = self._producers[producer_id]
            del offsets[key]
            if not offsets:
                del self._producers[producer_id]
            self._release(key, producer_id)

    def _release(self, key: Key, producer_id: int) -> None:
        keys = self._groups[key[0]]
        producers = keys[key]
        del producers[producer_id]
        if not producers:
            del keys[key]
        if not keys:
            del self._groups[key[0]]

    def is_pending(self, key: Key) -> bool:
        """Whether an open transaction holds an offset of this partition."""
        return key in self._groups.get(key[0], ())

    def has_open_transaction(self, group_id: str) -> bool:
        """Whether an open transaction holds offsets of the group."""
        return group_id in self._groups

    def keys(self, group_id: str) -> list[Key]:
        """What open transactions hold of the group."""
        return list(self._groups.get(group_id, ()))

    def group_ids(self) -> list[str]:
        """The groups that open transactions hold something of."""
        return list(self._groups)
