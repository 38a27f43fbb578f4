"""The metadata of the topics to which a group subscribes: their ids, and a hash over all of them.

Kafka's metadata hash only shows a change: if it differs from that in the log, the group gets a new
assignment. Kafka hashes the same fields and the racks with another function, so that each group of
a log directory from Kafka gets one more epoch. Never stores the hash. Follows KIP-848 and KIP-1101.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from struct import Struct

from controller.metadata.image import TopicsImage

_COUNT = Struct(">i")

NO_TOPICS = 0
"""The hash if none of the topics exists."""


def metadata_hash(names: Iterable[str], topics: TopicsImage) -> int:
    """Return the hash, signed 64 bits, over id, name and partition count of existing topics; 0 if
    none of them exists."""
    hashed = hashlib.blake2b(digest_size=8)
    any_topic = False
    for name in sorted(names):
        topic = topics.get(name)
        if topic is not None:
            any_topic = True
            hashed.update(topic.id)
            hashed.update(name.encode())
            hashed.update(_COUNT.pack(len(topic.partitions)))
    return int.from_bytes(hashed.digest(), "big", signed=True) if any_topic else NO_TOPICS


def ids_of(names: Iterable[str], topics: TopicsImage) -> frozenset[bytes]:
    """Return the ids of those topics that exist."""
    existing = (topics.get(name) for name in names)
    return frozenset(topic.id for topic in existing if topic is not None)
