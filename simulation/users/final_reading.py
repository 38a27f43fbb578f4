"""The last reading of a user's simulation: all records in the topics, and the groups' offsets.

It uses a client, after all faults have ended, and reads every partition from its start to its end.
"""

from __future__ import annotations

from controller.metadata.topic_names import is_internal
from ottla.testing.frames import Json
from simulation.invariants.exchanged_records import LogRead, Place
from simulation.machines.simulated_nodes import SimulatedNodes
from simulation.sim_client import Waits
from simulation.users.user_client import UserClient

READ_MS = 20_000.0


class FinalReading:
    """The contents of a cluster at the end of a run, complete when `read` is done."""

    def __init__(self, client: UserClient, view: SimulatedNodes) -> None:
        self.logs: dict[str, dict[int, list[Json]]] = {}
        """By topic and partition: the records that a read_committed consumer sees."""
        self.offsets: dict[str, list[tuple[str, int, int]]] = {}
        """By group: topic, partition, committed offset."""
        self.partitions: dict[Place, LogRead] = {}
        """The logs as invariants use them: records by offset."""
        self.names: dict[Place, str] = {}
        """The topic name of each partition."""
        self.done = False
        self._client = client
        self._view = view

    def read(self, groups: dict[str, dict[tuple[str, int], None]]) -> Waits:
        """Read all partitions but those of internal topics, and the committed offsets of these
        partitions of `groups`, into the attributes. Set `done` at the end."""
        for name, topic_id, index, _ in self._view.registrations():
            if is_internal(name):
                continue
            end = yield from self._client.offset(name, index, "latest", READ_MS)
            position = yield from self._client.offset(name, index, "earliest", READ_MS)
            log_records = self.logs.setdefault(name, {}).setdefault(index, [])
            log = self.partitions[topic_id, index] = LogRead(position, end)
            self.names[topic_id, index] = name
            while position < end:
                records, position, high = yield from self._client.fetch(
                    name, index, position, 0, True, 100, READ_MS
                )
                log_records += records
                log.take(records, high)
        for group, places in groups.items():
            for topic, index in places:
                offset = yield from self._client.committed(group, topic, index, READ_MS)
                if offset is not None:
                    self.offsets.setdefault(group, []).append((topic, index, offset))
        self.done = True
