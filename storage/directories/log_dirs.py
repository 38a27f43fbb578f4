"""The log directories of a node: their locks, the node's identity, the marker of a clean stop.

Owns: `.lock`, `meta.properties`, `.kafka_cleanshutdown` of each directory in `log.dirs`. Never:
opens a log (`storage.directories.log_manager`), or chooses ids (formatting gets them by argument).

Follows KIP-631 (`meta.properties` version 1), KIP-858 (directory ids), KIP-966 (broker epoch in
the marker). Kafka's classes: `MetaPropertiesEnsemble`, `CleanShutdownFileHandler`.
"""

from __future__ import annotations

from ground.filesystem import Filesystem, Lock
from storage.log.checkpoints import (
    CLEAN_SHUTDOWN,
    LOCK_FILE,
    META_PROPERTIES,
    MetaProperties,
    decode_clean_shutdown,
    decode_meta_properties,
    encode_clean_shutdown,
    encode_meta_properties,
)

UNKNOWN_BROKER_EPOCH = -1


class LogDirLocked(Exception):
    """A log directory that another process uses: the start is rejected."""


def lock_dir(filesystem: Filesystem, log_dir: str) -> Lock:
    """Lock `log_dir` against other processes. Raises LogDirLocked, OSError."""
    lock = filesystem.lock(f"{log_dir}/{LOCK_FILE}")
    if lock is None:
        raise LogDirLocked(
            f"Failed to acquire lock on file {LOCK_FILE} in {log_dir}. "
            f"A broker in another process is using this directory{_holder(filesystem, log_dir)}."
        )
    return lock


def _holder(filesystem: Filesystem, log_dir: str) -> str:
    """Return words with the process id in the lock file. Return "" without an id, as in Apache
    Kafka's lock file, or if the file cannot be read."""
    try:
        text = filesystem.read(f"{log_dir}/{LOCK_FILE}").decode("ascii", "replace").strip()
    except OSError:
        return ""
    return f" (process {text})" if text.isdecimal() else ""


def read_meta_properties(filesystem: Filesystem, log_dir: str) -> MetaProperties | None:
    """Return the cluster, node and directory ids of a directory, None if it is not formatted.

    Raises OSError; ValueError for a damaged file, because a node must not write to a directory
    whose owner is unknown.
    """
    path = f"{log_dir}/{META_PROPERTIES}"
    if not filesystem.exists(path):
        return None
    properties = decode_meta_properties(filesystem.read(path))
    if properties is None:
        raise ValueError(f"{path} is damaged or incomplete")
    return properties


def write_meta_properties(filesystem: Filesystem, log_dir: str, properties: MetaProperties) -> None:
    """Create the directory if it is missing, and write its `meta.properties`, which is durable when
    this returns. Raises OSError."""
    filesystem.make_dirs(log_dir)
    filesystem.replace_atomically(
        f"{log_dir}/{META_PROPERTIES}", encode_meta_properties(properties)
    )


def read_clean_marker(filesystem: Filesystem, log_dir: str) -> int | None:
    """Return the broker epoch of the last stop if it was clean, None if it was not.

    -1 means that the marker of the clean stop has no epoch. Raises OSError.
    """
    path = f"{log_dir}/{CLEAN_SHUTDOWN}"
    if not filesystem.exists(path):
        return None
    return decode_clean_shutdown(filesystem.read(path))


def take_clean_marker(filesystem: Filesystem, log_dir: str) -> int | None:
    """Remove the marker of a clean stop, and return what `read_clean_marker` returns.

    The removal is durable when this returns: a crash while logs are opened must count as unclean
    at the next start (KAFKA-10471). Raises OSError.
    """
    epoch = read_clean_marker(filesystem, log_dir)
    if epoch is not None:
        filesystem.remove(f"{log_dir}/{CLEAN_SHUTDOWN}")
        filesystem.sync_dir(log_dir)
    return epoch


def leave_clean_marker(filesystem: Filesystem, log_dir: str, broker_epoch: int) -> None:
    """Write the marker of a clean stop, after all else is written (KAFKA-13773, KAFKA-15375).

    Raises OSError.
    """
    data = encode_clean_shutdown(broker_epoch)
    path = f"{log_dir}/{CLEAN_SHUTDOWN}"
    try:
        filesystem.replace_atomically(path, data)
    except OSError:
        filesystem.remove(path)  # the marker may exist without being durable
        raise
