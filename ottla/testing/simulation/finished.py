"""A run that has ended, for those who judge it: what was done, and what is in the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ottla.testing.frames import Json
from ottla.testing.records import Record
from ottla.testing.simulation.client import record_of
from ottla.testing.simulation.driver import Operation


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """See the module. The logs were read after all was healed and every replica was in sync."""

    seed: int
    result: object
    """What the scenario returned."""
    history: list[Operation] = field(repr=False)
    """Every operation of every client, in the order in which they began: `client`, `name`
    ("produce", "fetch", "commit" …), `args`, `began`, `ended`, `result`, `error`."""
    seconds: float
    """Of virtual time, from the start of the brokers to the end of the last reading."""
    faults: Mapping[str, int]
    """How many of each kind the run had, beside those by hand."""
    requests: int
    """Of clients."""
    checksum: str
    """Over all that happened: the same in each run of the seed."""
    logs: Mapping[tuple[str, int], list[Record]] = field(repr=False)
    """By topic and partition: the records that a consumer with read_committed sees."""
    offsets: Mapping[str, Mapping[tuple[str, int], int]] = field(repr=False)
    """By group, then by topic and partition: what is committed."""

    def records(self, topic: str) -> list[Record]:
        """All records of a topic, partition by partition."""
        return [one for (name, _), log in self.logs.items() if name == topic for one in log]

    def texts(self, topic: str) -> list[str]:
        """The values of the same, read as UTF-8."""
        return [one.text() for one in self.records(topic)]

    def committed(self, group: str, topic: str, partition: int = 0) -> int | None:
        """Where a group goes on; None where it never committed."""
        return self.offsets.get(group, {}).get((topic, partition))


def logs_of(told: Iterable[Json]) -> dict[tuple[str, int], list[Record]]:
    """Logs as the channel has them."""
    return {(topic, index): [record_of(one) for one in log] for topic, index, log in told}


def offsets_of(told: Mapping[str, Json]) -> dict[str, dict[tuple[str, int], int]]:
    """Offsets of groups, as the channel has them."""
    return {
        group: {(topic, index): offset for topic, index, offset in found}
        for group, found in told.items()
    }
