"""What the topics that a group is subscribed to look like: their ids, and one number for them all.

The number (Kafka's metadata hash) only says "changed": where it differs from the one in the log,
the group is assigned anew. Kafka's own is another function of the same and of the racks, so that a
folder which comes from there costs each group one epoch. Follows KIP-848 and KIP-1101.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from struct import Struct

from controller.metadata.image import TopicsImage

_COUNT = Struct(">i")

NO_TOPICS = 0
"""The hash where none of the topics exists."""


def metadata_hash(names: Iterable[str], topics: TopicsImage) -> int:
    """64 bits, signed, over id, name and number of partitions of those that exist."""
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
    """The ids of those that exist."""
    found = (topics.get(name) for name in names)
    return frozenset(topic.id for topic in found if topic is not None)
