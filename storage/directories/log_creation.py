"""The creation of a log: the choice of its directory, its folder, and `partition.metadata`.

Owns: the directories that AlterReplicaLogDirs chose for logs that do not exist yet. Never: decides
whether a log may be created, or keeps it: `storage.directories.log_manager` does.

Kafka's class: `LogManager.getOrCreateLog`. KIP-112 (several directories), KIP-113 (the choice).
"""

from __future__ import annotations

from collections.abc import Mapping

from ground.topic_partition import TopicPartition
from storage.directories.log_dir_state import LogDirState
from storage.directories.log_places import why_taken
from storage.log.checkpoints import PARTITION_METADATA, encode_partition_metadata
from storage.log.log_dir_failure import LogDirFailure, LogPlaceTaken
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig


class LogCreation:
    """The creator of a node's new logs."""

    def __init__(self, environment: LogEnvironment, dirs: Mapping[str, LogDirState]) -> None:
        """Create logs in `dirs`: all directories of the node, by path."""
        self._environment = environment
        self._dirs = dirs
        self._preferred: dict[TopicPartition, str] = {}

    def prefer(self, partition: TopicPartition, log_dir: str) -> None:
        """Choose `log_dir` for the partition's log, if this node creates one later."""
        self._preferred[partition] = log_dir

    def create(
        self, partition: TopicPartition, topic_id: bytes, config: LogConfig, wanted: str | None
    ) -> UnifiedLog:
        """Create a log, with its folder and `partition.metadata`. Its directory is that of `prefer`
        if it is online, else `wanted`, else the online one with the fewest logs.

        Raises LogDirFailure; LogPlaceTaken if another file or folder has the name of its folder.
        """
        path = self._choose_dir(self._preferred.pop(partition, None), wanted)
        directory = f"{path}/{partition}"
        environment = self._environment
        try:
            self._check_free(path, directory, topic_id)
            environment.filesystem.make_dirs(directory)
            self.name_topic(path, directory, topic_id)
            return UnifiedLog(environment, path, directory, partition, config, topic_id=topic_id)
        except FileExistsError as error:  # a symbolic link whose target does not exist
            raise LogPlaceTaken(path, f"{directory} cannot be made ({error})") from error
        except OSError as error:
            raise environment.failures.fail(path, f"creating {partition}", error) from error

    def _check_free(self, path: str, directory: str, topic_id: bytes) -> None:
        """Raise LogPlaceTaken if a file, another topic's log, or a folder without a partition's
        files is at `directory`. Raises OSError."""
        why = why_taken(self._environment.filesystem, directory, topic_id)
        if why is not None:
            raise LogPlaceTaken(path, f"{why}: move it away, and start again")

    def _choose_dir(self, preferred: str | None, wanted: str | None) -> str:
        """Return the preferred directory if it is online, else the wanted one, else the online one
        with the fewest logs. Raises LogDirFailure if none is online."""
        online = [path for path in self._dirs if not self._environment.failures.is_offline(path)]
        if preferred in online:
            return preferred
        if wanted:
            return wanted
        if not online:
            raise LogDirFailure(",".join(self._dirs), "No log directory is online")
        return min(online, key=lambda path: len(self._dirs[path].logs))

    def name_topic(self, log_dir: str, directory: str, topic_id: bytes) -> None:
        """Write `partition.metadata`, which has the topic id. Raises OSError.

        The file and the folder's name are fsynced off the loop, after this turn, so that many new
        folders do not wait for each other's fsyncs.
        """
        environment = self._environment
        filesystem, path = environment.filesystem, f"{directory}/{PARTITION_METADATA}"
        filesystem.replace_atomically(path, encode_partition_metadata(topic_id), sync=False)

        def sync() -> None:
            """Fsync `partition.metadata`, the log's folder and the log directory. Do nothing if the
            file was deleted meanwhile. Raises OSError."""
            if not filesystem.exists(path):
                return  # deleted meanwhile
            file = filesystem.open(path)
            try:
                file.sync()
            finally:
                file.close()
            filesystem.sync_dir(directory)
            filesystem.sync_dir(log_dir)

        def synced(_: object, error: Exception | None) -> None:
            """Take the log directory offline after an OSError, unless the file was deleted
            meanwhile."""
            if isinstance(error, OSError) and filesystem.exists(path):
                environment.failures.fail(log_dir, f"creating {directory}", error)

        environment.scheduler.call_soon(lambda: environment.blocking.submit(sync, synced))
