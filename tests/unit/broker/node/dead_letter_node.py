"""A node in virtual time with dead letters."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from broker.node.dead_letters import NodeDeadLetters
from broker.node.parts import _ask_itself
from broker.share.dead_letters.letter_sender import ProduceHere
from broker.share.delivery.share_partition import DeadLetter
from broker.share.state.share_log import SharePartitionKey
from tests.unit.broker.node_fixture import Running


class DeadLetterNode:
    """A running node, and the dead letters of its share-partitions."""

    def __init__(self, folder: Path, produce_here: ProduceHere | None = None) -> None:
        """`produce_here` handles Produce in place of the node."""
        self.running = running = Running(folder)
        broker = running.node.broker
        assert broker is not None
        parts = broker.parts
        here = produce_here or partial(_ask_itself, parts.shared.config, broker.requests)
        self.letters = NodeDeadLetters(parts.shared, parts.replicas, parts.forwarding.send, here)
        parts.shared.controller.add_listener(lambda *_: self.letters.metadata_changed())

    def bury(self, key: SharePartitionKey, letter: DeadLetter, limit_ms: float = 60_000) -> None:
        """Bury records, until that is done."""
        done: list[bool] = []
        self.letters.bury(key, letter, lambda: done.append(True))
        self.running.scheduler.run_until(lambda: bool(done), limit_ms)
