"""The old name of `node.id`, from Kafka's files for ZooKeeper, which Kafka still accepts."""

from __future__ import annotations

from collections.abc import Mapping


def with_node_id(texts: Mapping[str, str]) -> Mapping[str, str]:
    """Return `texts` with the value of `broker.id` as `node.id`, if only `broker.id` is set.

    Kafka: `KafkaConfig.populateSynonyms`, which has no other pair of names.
    """
    if "broker.id" in texts and "node.id" not in texts:
        return {**texts, "node.id": texts["broker.id"]}
    return texts
