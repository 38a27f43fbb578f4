"""A run that has ended, for invariants: what the clients did, and what is in the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ottla.testing.frames import Json
from ottla.testing.records import Record
from ottla.testing.simulation.client import record_of
from ottla.testing.simulation.driver import Operation


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run that has ended. Its logs were read after all faults were healed and all replicas were
    in sync."""

    seed: int
    result: object
    """The value that the scenario returned."""
    history: list[Operation] = field(repr=False)
    """All operations of all clients, in the order in which they began: `client`, `name` ("produce",
    "fetch", "commit" …), `args`, `began`, `ended`, `result`, `error`."""
    seconds: float
    """Virtual time from the start of the brokers until all logs were read."""
    faults: Mapping[str, int]
    """The number of faults of each kind, without those that the scenario injected."""
    requests: int
    """The number of requests that clients sent."""
    checksum: str
    """A checksum of all that happened; it is the same in each run of the seed."""
    logs: Mapping[tuple[str, int], list[Record]] = field(repr=False)
    """By topic and partition: the records that a consumer with read_committed sees."""
    offsets: Mapping[str, Mapping[tuple[str, int], int]] = field(repr=False)
    """By group, then by topic and partition: the committed offsets."""

    def records(self, topic: str) -> list[Record]:
        """Return all committed records of a topic, partition by partition; none if there is no such
        topic."""
        return [record for (name, _), log in self.logs.items() if name == topic for record in log]

    def texts(self, topic: str) -> list[str]:
        """Return the values of all committed records of a topic, decoded as UTF-8, partition by
        partition. Raises AssertionError for other bytes."""
        return [record.text() for record in self.records(topic)]

    def committed(self, group: str, topic: str, partition: int = 0) -> int | None:
        """Return the committed offset of a group; None if it has committed none."""
        return self.offsets.get(group, {}).get((topic, partition))


def logs_of(logs: Iterable[Json]) -> dict[tuple[str, int], list[Record]]:
    """Return the records by topic and partition, from the worker's list of [topic, partition,
    records]."""
    return {(topic, index): [record_of(record) for record in log] for topic, index, log in logs}


def offsets_of(groups: Mapping[str, Json]) -> dict[str, dict[tuple[str, int], int]]:
    """Return the committed offsets by group, then by topic and partition, from the worker's
    lists."""
    return {
        group: {(topic, index): offset for topic, index, offset in offsets}
        for group, offsets in groups.items()
    }
