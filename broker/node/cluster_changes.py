"""The log lines about changes in a cluster: topics, elections, brokers, quorum leaders.

A listener of the metadata that logs each change at INFO. Owns whether the first summary was logged.
Never decides or changes anything, and never logs more than LINES_MAX lines of one change, however
many partitions the change has.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import islice

from controller.metadata.delta import MetadataDelta
from controller.metadata.image import NO_LEADER, BrokerRegistration, MetadataImage
from controller.metadata.topics_delta import TopicDelta

LINES_MAX = 20
"""The most lines about one change of the metadata."""
_log = logging.getLogger(f"ottla.{__name__}")


class ClusterChangeLog:
    """The log lines about changes in a cluster."""

    def __init__(self, node_id: int) -> None:
        self._node_id = node_id
        self._begun = False

    def leader_changed(self, leader_id: int | None) -> None:
        """Log the quorum's new leader, or that there is none."""
        if leader_id is None:
            _log.info("the quorum has no leader that is known here")
        else:
            _log.info("%s is the active controller", _node(leader_id, self._node_id))

    def metadata_changed(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Log the changes of `delta`; at first, log a summary of the metadata."""
        begun, self._begun = self._begun, True
        if not _log.isEnabledFor(logging.INFO):
            return
        if not begun:
            _log.info("metadata up to offset %d: %s", image.offset, _summary(image))
            return
        lines = changes_of(delta)
        for line in islice(lines, LINES_MAX):
            _log.info("%s", line)
        left = sum(1 for _ in lines)
        if left:
            _log.info("and %d more changes", left)


def changes_of(delta: MetadataDelta) -> Iterator[str]:
    """Yield a line for each change of the metadata."""
    for broker_id, broker in delta.changed_brokers.items():
        yield from _broker_changes(broker_id, delta.image.brokers.get(broker_id), broker)
    for deleted_topic in delta.topics.deleted.values():
        yield f"topic {deleted_topic.name} is deleted"
    for topic in delta.topics.changed.values():
        yield from _topic_changes(topic)


def _broker_changes(
    broker_id: int, before: BrokerRegistration | None, after: BrokerRegistration | None
) -> Iterator[str]:
    """Yield a line if the broker was registered, unregistered, fenced or unfenced, or has begun a
    controlled shutdown."""
    if after is None:
        yield f"broker {broker_id} is unregistered"
        return
    if before is None or before.incarnation_id != after.incarnation_id:
        yield f"broker {broker_id} has registered (epoch {after.epoch})"
    if before is not None and before.fenced != after.fenced:
        state = "is fenced: it leads nothing" if after.fenced else "is unfenced: it serves"
        yield f"broker {broker_id} {state}"
    if after.in_controlled_shutdown and not (before and before.in_controlled_shutdown):
        yield f"broker {broker_id} shuts down: others take over what it leads"


def _topic_changes(topic: TopicDelta) -> Iterator[str]:
    """Yield a line for a new topic, added partitions, and each partition with another leader."""
    if topic.before is None:
        yield f"topic {topic.name} is created with {_partitions(len(topic.changed))}"
        return
    partitions_before = topic.before.partitions
    added = sum(index not in partitions_before for index in topic.changed)
    if added:
        yield f"topic {topic.name} has {_partitions(len(partitions_before) + added)} now"
    for index, after in topic.changed.items():
        before = partitions_before.get(index)
        if before is None or before.leader == after.leader:
            continue
        if after.leader == NO_LEADER:
            in_sync = ",".join(map(str, after.isr)) or "nobody"
            yield f"{topic.name}-{index} has no leader; in sync: {in_sync}"
        else:
            led = f"broker {after.leader} (epoch {after.leader_epoch})"
            yield f"{topic.name}-{index} is led by {led}"


def _summary(image: MetadataImage) -> str:
    """Return the numbers of brokers, topics and partitions, in words."""
    topics = image.topics.by_name.values()
    partitions = sum(len(topic.partitions) for topic in topics)
    return (
        f"{_counted(len(image.brokers), 'broker')}, {_counted(len(topics), 'topic')}, "
        f"{_partitions(partitions)}"
    )


def _partitions(number: int) -> str:
    """Return a number of partitions in words, such as `1 partition`."""
    return _counted(number, "partition")


def _counted(number: int, word: str) -> str:
    """Return the number and the word, which gets an `s` unless the number is 1."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def _node(node_id: int, own: int) -> str:
    """Return a node's id in words, or `this node` if it is `own`."""
    return "this node" if node_id == own else f"node {node_id}"
