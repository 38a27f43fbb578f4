"""A comparison of the replicas that the metadata places on this broker with its log directories.

A replica whose log is absent was lost, or lies in a directory that was removed from `log.dirs`. An
empty log in its place would pass for the whole log. If it is the only replica, its records would be
gone; otherwise it might become leader, and the others would truncate theirs. So the log is not
created, and the replica does not lead, until its directory is back. If another broker leads, the
replica is copied from there, as in Kafka, after the controller has learned that this replica may
lack committed records. The same applies to a log that lacks records at its end, according to the
checkpoints.

Owns that decision, and the log lines about it. Never creates a log.

Unlike Kafka's `ReplicaManager`, which creates the log if no configured directory is offline
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
    """The log directories of this broker's replicas, according to the metadata and in fact."""

    def __init__(
        self,
        node_id: int,
        logs: LogManager,
        directory_ids: Mapping[str, bytes],
        assignments: AssignmentsManager,
    ) -> None:
        """Begin with no missing directories.

        `directory_ids` has the ids of all log directories by path. `assignments` reports lost
        replicas to the controller.
        """
        self._assignments = assignments
        self._node_id = node_id
        self._logs = logs
        self._paths = {directory: path for path, directory in directory_ids.items()}
        self._missing: dict[bytes, list[str]] = {}
        self._offline_by_reason: dict[str, list[str]] = {}

    def find_missing_directories(self, registrations: Iterable[PartitionRegistration]) -> None:
        """Store the directories that the metadata names and `log.dirs` lacks, for the later checks
        and warnings; runs at the start."""
        for registration in registrations:
            named = registration.directory_of(self._node_id)
            if named not in (*_UNNAMED, LOST_DIRECTORY) and named not in self._paths:
                self._missing.setdefault(named, [])

    def reason_not_created(
        self, partition: TopicPartition, registration: PartitionRegistration
    ) -> str | None:
        """Return why the log of an existing replica must not be created, or why its log, which
        lacks its end, must not be used. None: the replica may be hosted."""
        log = self._logs.get(partition)
        if log is not None and log.recovery.lacks_its_end and len(registration.replicas) > 1:
            # The controller must know this first; then the replica continues, out of sync.
            return None if self.is_offline_in_metadata(registration) else "its log lacks its end"
        if log is not None or partition in self._logs.unopened:
            return None
        named = registration.directory_of(self._node_id)
        if named in self._paths and partition not in self._logs.lacking:
            return None  # the controller knows a broker's only directory before the log is created
        if named in _UNNAMED and partition not in self._logs.lacking and not self._missing:
            return None
        is_led = registration.leader not in (NO_LEADER, self._node_id)
        if is_led and self.is_offline_in_metadata(registration):
            return None
        if named in self._missing:
            return f"it lies in the folder with directory.id={uuid_to_string(named)}"
        if partition in self._logs.lacking:
            return f"its folder is gone from {self._logs.lacking[partition]}"
        return "its folder was gone, or could not be opened, before"

    def is_offline_in_metadata(self, registration: PartitionRegistration) -> bool:
        """Return whether the metadata names a directory of the replica that this broker lacks.

        The controller then counts the replica as offline, and does not let it lead.
        """
        named = registration.directory_of(self._node_id)
        return named not in self._paths and named not in _UNNAMED

    def check(self, partition: TopicPartition, registration: PartitionRegistration) -> None:
        """Check that the log of an existing replica may be created, by `reason_not_created`. Raises
        LogUnusable with the reason if not."""
        reason = self.reason_not_created(partition, registration)
        if reason is not None:
            raise LogUnusable(self.named_dir(registration) or "", reason)

    def named_dir(self, registration: PartitionRegistration) -> str | None:
        """Return the path of the replica's log directory by the metadata, or None if the directory
        is unknown here or not online."""
        named = self._paths.get(registration.directory_of(self._node_id))
        return named if named in self._logs.online_dirs else None

    def record_offline(
        self,
        partition: TopicPartition,
        topic_id: bytes,
        registration: PartitionRegistration,
        reason: str,
    ) -> None:
        """Store, for the warnings of `lines`, that a log is unusable or was not created. Report it
        to the controller as lost, unless the metadata already counts the replica as offline."""
        named = registration.directory_of(self._node_id)
        if named in self._missing:
            self._missing[named].append(str(partition))
        elif partition not in self._logs.unopened and self._logs.get(partition) is None:
            self._offline_by_reason.setdefault(reason, []).append(str(partition))
        if not self.is_offline_in_metadata(registration):
            self._assignments.lost(topic_id, partition.partition)

    def report_held_back(
        self, topic_id: bytes, index: int, registration: PartitionRegistration
    ) -> None:
        """Report to the controller a replica whose log cannot be created yet, if others exist.

        Nothing is known to be lost: file descriptors are short, or something else occupies the
        folder. A sole replica is not reported, because no other broker could lead it and it must
        not count as lost. Its log is created at the next start, at the latest.
        """
        if len(registration.replicas) > 1 and not self.is_offline_in_metadata(registration):
            self._assignments.lost(topic_id, index)

    def log_warnings(self) -> None:
        """Log a warning for each missing directory and each other reason, after the first image."""
        for line in self.lines():
            _log.warning("%s", line)

    def lines(self) -> list[str]:
        """Return a warning for each missing directory and for each other reason, with the
        partitions that are offline. Only the first call returns the other reasons, and forgets
        them."""
        warnings = []
        for directory, names in self._missing.items():
            name = f"log.dirs lacks the folder with directory.id={uuid_to_string(directory)}"
            if names:
                warnings.append(
                    f"{name}: offline are {_shown(names)}, of which it has the records. Put it "
                    "back into log.dirs and start again"
                )
            else:
                warnings.append(f"{name}: what it had is copied anew from other brokers")
        for reason, names in self._offline_by_reason.items():
            warnings.append(
                f"{_shown(names)}: offline, {reason}. Put it back and start again, "
                "or delete the topic"
            )
        self._offline_by_reason = {}
        return warnings


def _shown(names: list[str]) -> str:
    """Return the first names, separated by commas, and how many more there are."""
    if len(names) <= _NAMES_SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[:_NAMES_SHOWN])} and {len(names) - _NAMES_SHOWN} more"
