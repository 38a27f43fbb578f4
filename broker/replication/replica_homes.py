"""What the metadata says that this broker has, held against what lies in its folders.

A replica whose log is not here was lost, or lies in a folder that left `log.dirs`.
An empty log in its place would stand for what it held: with one replica its records would be gone,
with more it might lead, and the others would cut theirs. So it is not made anew, and nobody leads
it, until its folder is back. Where another broker leads, it is copied from there, as Kafka does,
once the controller knows that nothing here is proof any more. So is what its log lacks at its end,
by the checkpoints.

Owns: that decision, and the lines that tell of it. Never: makes a log.

Beside Kafka's `ReplicaManager` 4.3, which makes it anew where no configured directory is offline
(KAFKA-16234). Follows KIP-858.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from broker.replication.assignments_manager import AssignmentsManager
from controller.metadata.image import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    NO_LEADER,
    UNASSIGNED_DIRECTORY,
    PartitionRegistration,
)
from ground.topic_partition import TopicPartition
from protocol.primitives import uuid_to_string
from storage.directories.log_manager import LogManager
from storage.log.log_dir_failure import LogUnusable

_log = logging.getLogger(f"ottla.{__name__}")

_NAMES_SHOWN = 5
_UNNAMED = (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY)


class ReplicaHomes:
    """See the module."""

    def __init__(
        self,
        node_id: int,
        logs: LogManager,
        directory_ids: Mapping[str, bytes],
        assignments: AssignmentsManager,
    ) -> None:
        """`directory_ids` are the ids of the log directories by their paths; `assignments` tells
        the controller."""
        self._assignments = assignments
        self._node_id = node_id
        self._logs = logs
        self._paths = {directory: path for path, directory in directory_ids.items()}
        self._missing: dict[bytes, list[str]] = {}
        self._told: dict[str, list[str]] = {}

    def look(self, registrations: Iterable[PartitionRegistration]) -> None:
        """At the start: which directories the metadata names that `log.dirs` does not."""
        for registration in registrations:
            named = registration.directory_of(self._node_id)
            if named not in (*_UNNAMED, LOST_DIRECTORY) and named not in self._paths:
                self._missing.setdefault(named, [])

    def why_not_made(
        self, partition: TopicPartition, registration: PartitionRegistration
    ) -> str | None:
        """Why a log that is not new and not here must not be made; None where it may be."""
        log = self._logs.get(partition)
        if log is not None and log.recovery.lacks_its_end and len(registration.replicas) > 1:
            # It goes on as a replica that is not in sync, once the controller has heard of it.
            return None if self.is_known_as_gone(registration) else "its log lacks its end"
        if log is not None or partition in self._logs.unopened:
            return None
        named = registration.directory_of(self._node_id)
        if named in self._paths and partition not in self._logs.lacking:
            return None  # of a broker's only directory the controller names it before it is made
        if named in _UNNAMED and partition not in self._logs.lacking and not self._missing:
            return None
        is_led = registration.leader not in (NO_LEADER, self._node_id)
        if is_led and self.is_known_as_gone(registration):
            return None
        if named in self._missing:
            return f"it lies in the folder with directory.id={uuid_to_string(named)}"
        if partition in self._logs.lacking:
            return f"its folder is gone from {self._logs.lacking[partition]}"
        return "its folder was gone, or could not be opened, before"

    def is_known_as_gone(self, registration: PartitionRegistration) -> bool:
        """Whether the controller takes nothing that the replica here has for proof."""
        named = registration.directory_of(self._node_id)
        return named not in self._paths and named not in _UNNAMED

    def check(self, partition: TopicPartition, registration: PartitionRegistration) -> None:
        """Raises LogUnusable where the log, which is not new, must not be made."""
        why = self.why_not_made(partition, registration)
        if why is not None:
            raise LogUnusable(self.named_dir(registration) or "", why)

    def named_dir(self, registration: PartitionRegistration) -> str | None:
        """The log directory that the metadata names for the replica here, if it is online."""
        named = self._paths.get(registration.directory_of(self._node_id))
        return named if named in self._logs.online_dirs else None

    def offline(
        self,
        partition: TopicPartition,
        topic_id: bytes,
        registration: PartitionRegistration,
        why: str,
    ) -> None:
        """A log was not made, or cannot be used: people are to hear of it, and the controller."""
        named = registration.directory_of(self._node_id)
        if named in self._missing:
            self._missing[named].append(str(partition))
        elif partition not in self._logs.unopened and self._logs.get(partition) is None:
            self._told.setdefault(why, []).append(str(partition))
        if not self.is_known_as_gone(registration):
            self._assignments.lost(topic_id, partition.partition)

    def held_back(self, topic_id: bytes, index: int, registration: PartitionRegistration) -> None:
        """A log cannot be made yet, and nothing is known to be lost: there is no descriptor for it,
        or something else has its folder. Where there are other replicas the controller is to hear
        of it. An only one is nobody else's to lead, and is not to be taken for lost: it is made at
        the next start, at the latest."""
        if len(registration.replicas) > 1 and not self.is_known_as_gone(registration):
            self._assignments.lost(topic_id, index)

    def tell(self) -> None:
        """All that was there at the start has been looked at: say what was not."""
        for line in self.lines():
            _log.warning("%s", line)

    def lines(self) -> list[str]:
        """A line for each directory that is missing, and for each other reason; once."""
        found = []
        for directory, names in self._missing.items():
            name = f"log.dirs lacks the folder with directory.id={uuid_to_string(directory)}"
            if names:
                found.append(
                    f"{name}: offline are {_shown(names)}, of which it has the records. Put it "
                    "back into log.dirs and start again"
                )
            else:
                found.append(f"{name}: what it had is copied anew from other brokers")
        for why, names in self._told.items():
            found.append(
                f"{_shown(names)}: offline, {why}. Put it back and start again, or delete the topic"
            )
        self._told = {}
        return found


def _shown(names: list[str]) -> str:
    if len(names) <= _NAMES_SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMES_SHOWN])} and {len(names) - _NAMES_SHOWN} more"
