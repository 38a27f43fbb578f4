"""The old name of `node.id`: files of Kafka with ZooKeeper have it, and Kafka still takes it."""

from __future__ import annotations

from collections.abc import Mapping


def with_node_id(texts: Mapping[str, str]) -> Mapping[str, str]:
    """Return `texts` with `node.id` as `broker.id` has it, if only that is set.

    Kafka: `KafkaConfig.populateSynonyms`, which knows no other pair of names.
    """
    if "broker.id" in texts and "node.id" not in texts:
        return {**texts, "node.id": texts["broker.id"]}
    return texts
