"""The configuration that applies when no file is given: one broker that is its own controller.

Kafka has no such default (it refuses to start without a file); the values are those of its
quickstart `config/server.properties`, with three differences: it listens on this machine only,
keeps its data in `./data`, and does not hold back the first rebalance of a group.
"""

from __future__ import annotations

PROFILE_NAME = "single-node"

SINGLE_NODE_PROFILE: dict[str, str] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@localhost:9093",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "inter.broker.listener.name": "PLAINTEXT",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "log.dirs": "data",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}
