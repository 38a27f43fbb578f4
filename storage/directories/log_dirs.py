"""The log directories of a node: their locks, their owner's name, the marker of a clean stop.

Owns: `.lock`, `meta.properties`, `.kafka_cleanshutdown` of each directory in `log.dirs`. Never:
opens a log (`storage.directories.log_manager`), or decides ids (formatting gets them by argument).

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
    """Another process uses a log directory: the start is refused."""


def lock_dir(filesystem: Filesystem, log_dir: str) -> Lock:
    """Hold `log_dir` against other processes. Raises LogDirLocked, OSError."""
    lock = filesystem.lock(f"{log_dir}/{LOCK_FILE}")
    if lock is None:
        raise LogDirLocked(
            f"Failed to acquire lock on file {LOCK_FILE} in {log_dir}. "
            f"A broker in another process is using this directory{_holder(filesystem, log_dir)}."
        )
    return lock


def _holder(filesystem: Filesystem, log_dir: str) -> str:
    """The process that a lock names, where it does: Apache Kafka's is empty."""
    try:
        text = filesystem.read(f"{log_dir}/{LOCK_FILE}").decode("ascii", "replace").strip()
    except OSError:
        return ""
    return f" (process {text})" if text.isdecimal() else ""


def read_meta_properties(filesystem: Filesystem, log_dir: str) -> MetaProperties | None:
    """Who owns the directory; None while it is not formatted.

    Raises ValueError for a damaged file: a folder of unknown owner is never written to; OSError.
    """
    path = f"{log_dir}/{META_PROPERTIES}"
    if not filesystem.exists(path):
        return None
    properties = decode_meta_properties(filesystem.read(path))
    if properties is None:
        raise ValueError(f"{path} is damaged or incomplete")
    return properties


def write_meta_properties(filesystem: Filesystem, log_dir: str, properties: MetaProperties) -> None:
    """Format the directory: durable when this returns. Raises OSError."""
    filesystem.make_dirs(log_dir)
    filesystem.replace_atomically(
        f"{log_dir}/{META_PROPERTIES}", encode_meta_properties(properties)
    )


def read_clean_marker(filesystem: Filesystem, log_dir: str) -> int | None:
    """The broker epoch that the last clean stop left (-1 without one); None after an unclean stop.

    Raises OSError.
    """
    path = f"{log_dir}/{CLEAN_SHUTDOWN}"
    if not filesystem.exists(path):
        return None
    return decode_clean_shutdown(filesystem.read(path))


def take_clean_marker(filesystem: Filesystem, log_dir: str) -> int | None:
    """What `read_clean_marker` says, once.

    The marker is gone, durably, when this returns: a crash while logs are opened must count as
    unclean at the next start (KAFKA-10471). Raises OSError.
    """
    epoch = read_clean_marker(filesystem, log_dir)
    if epoch is not None:
        filesystem.remove(f"{log_dir}/{CLEAN_SHUTDOWN}")
        filesystem.sync_dir(log_dir)
    return epoch


def leave_clean_marker(filesystem: Filesystem, log_dir: str, broker_epoch: int) -> None:
    """The very last thing that a clean stop writes (KAFKA-13773, KAFKA-15375). Raises OSError."""
    data = encode_clean_shutdown(broker_epoch)
    path = f"{log_dir}/{CLEAN_SHUTDOWN}"
    try:
        filesystem.replace_atomically(path, data)
    except OSError:
        filesystem.remove(path)  # it may be there, though not for certain
        raise
