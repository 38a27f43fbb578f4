"""The offsets of open transactions, which take effect if the transaction commits.

Owns them by producer id, and an index of the keys and groups in open transactions. Changes only
with the log's records and markers; never decides. Follows the pending offsets and open transactions
of Kafka's `OffsetMetadataManager`; KIP-98, KIP-447.
"""

from __future__ import annotations

from broker.groups.committed_offset import CommittedOffset, Key


class PendingOffsets:
    """The pending offsets of one partition of `__consumer_offsets`."""

    def __init__(self) -> None:
        self._producers: dict[int, dict[Key, CommittedOffset]] = {}
        self._groups: dict[str, dict[Key, dict[int, None]]] = {}

    def put(self, producer_id: int, key: Key, offset: CommittedOffset) -> None:
        """Set an offset in the open transaction of `producer_id`, in place of an earlier one."""
        self._producers.setdefault(producer_id, {})[key] = offset
        self._groups.setdefault(key[0], {}).setdefault(key, {})[producer_id] = None

    def take(self, producer_id: int) -> dict[Key, CommittedOffset]:
        """Remove and return the offsets of the transaction of `producer_id`, which has ended."""
        offsets = self._producers.pop(producer_id, {})
        for key in offsets:
            self._release(key, producer_id)
        return offsets

    def remove(self, key: Key) -> None:
        """Remove an offset from all open transactions, because of its tombstone."""
        for producer_id in list(self._groups.get(key[0], {}).get(key, ())):
            offsets = self._producers[producer_id]
            del offsets[key]
            if not offsets:
                del self._producers[producer_id]
            self._release(key, producer_id)

    def _release(self, key: Key, producer_id: int) -> None:
        """Remove this producer's offset of `key` from the index of keys and groups. Raises KeyError
        if it is not there."""
        keys = self._groups[key[0]]
        producers = keys[key]
        del producers[producer_id]
        if not producers:
            del keys[key]
        if not keys:
            del self._groups[key[0]]

    def is_pending(self, key: Key) -> bool:
        """Return whether an open transaction has an offset for `key`."""
        return key in self._groups.get(key[0], ())

    def has_open_transaction(self, group_id: str) -> bool:
        """Return whether an open transaction has offsets of the group."""
        return group_id in self._groups

    def keys(self, group_id: str) -> list[Key]:
        """Return the keys of the group's offsets in open transactions."""
        return list(self._groups.get(group_id, ()))

    def group_ids(self) -> list[str]:
        """Return the ids of the groups that have offsets in open transactions."""
        return list(self._groups)
