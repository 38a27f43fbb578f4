"""Formatting of log directories: their owner, and the first records of the metadata.

A formatted directory has a `meta.properties` file (cluster id, node id, the directory's own id).
The directory of the metadata has a `bootstrap.checkpoint` file as well: the records that the first
leader writes to an empty log. `meta.properties` is written last, so a directory that has it is
complete.

Owns: these two files. Never: opens a log, and never formats a directory twice.

Follows KIP-631, KIP-778, KIP-858, KIP-900, KIP-1170 and Kafka's `Formatter`,
`MetaPropertiesEnsemble` and `BootstrapMetadata`, as `kafka-storage format` calls them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from controller.decisions.feature_control import INITIAL_FEATURES
from controller.metadata.records import MetadataRecord, MetadataRecordError
from controller.metadata.snapshot import (
    BOOTSTRAP_SNAPSHOT,
    decode_snapshot,
    encode_snapshot,
    feature_records,
)
from controller.metadata.version import LATEST_LEVEL, METADATA_VERSION
from controller.raft.quorum_voters import DYNAMIC_LEVEL, METADATA_FOLDER, control_records
from controller.random_ids import RandomBytes, random_uuid
from controller.voter_set import VoterSet
from ground.filesystem import Filesystem
from protocol.messages.metadata_records import (
    AccessControlEntryRecord,
    UserScramCredentialRecord,
)
from protocol.primitives import uuid_to_string
from storage.directories.log_dirs import read_meta_properties, write_meta_properties
from storage.log.checkpoints import META_PROPERTIES, MetaProperties

BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
FIRST_SNAPSHOT = BOOTSTRAP_SNAPSHOT.file_name
"""The name of the snapshot that the log of a dynamic quorum begins with."""

FirstRecord = UserScramCredentialRecord | AccessControlEntryRecord
"""A record that a new cluster's metadata may begin with: a user's credential or an ACL."""


class FormatError(Exception):
    """Directories that cannot be formatted, or are not of one node; `str()` is one line."""


class LogDirectories(NamedTuple):
    """The formatted directories of one node, by path."""

    cluster_id: str
    node_id: int
    directory_ids: Mapping[str, bytes]


def new_cluster_id(random_bytes: RandomBytes) -> str:
    """Return a random cluster id in the format of `kafka-storage random-uuid`."""
    return uuid_to_string(random_uuid(random_bytes))


def read_directories(filesystem: Filesystem, log_dirs: Sequence[str]) -> LogDirectories | None:
    """Return the cluster id, the node id and the directory ids in `meta.properties` of `log_dirs`;
    None if no directory is formatted.

    Raises OSError. Raises FormatError if only some are formatted, a file is damaged or lacks a
    directory id, two share an id, or they belong to different nodes.
    """
    formatted: dict[str, MetaProperties] = {}
    for log_dir in log_dirs:
        try:
            properties = read_meta_properties(filesystem, log_dir)
        except ValueError as damage:
            raise FormatError(str(damage)) from damage
        if properties is not None:
            formatted[log_dir] = properties
    if not formatted:
        return None
    missing = [log_dir for log_dir in log_dirs if log_dir not in formatted]
    if missing:
        raise FormatError(
            f"log directory {missing[0]} is not formatted, but others are: if it is a new one, "
            "ottla format --ignore-formatted formats it"
        )
    first = formatted[log_dirs[0]]
    ids: dict[str, bytes] = {}
    for log_dir, properties in formatted.items():
        if (properties.cluster_id, properties.node_id) != (first.cluster_id, first.node_id):
            raise FormatError(
                f"{log_dir} belongs to node {properties.node_id} of cluster "
                f"{properties.cluster_id}, {log_dirs[0]} to node {first.node_id} of cluster "
                f"{first.cluster_id}"
            )
        if properties.directory_id is None:
            raise FormatError(f"{log_dir}/{META_PROPERTIES} has no directory.id")
        if properties.directory_id in ids.values():
            raise FormatError(f"{log_dir} has the directory.id of another log directory")
        ids[log_dir] = properties.directory_id
    return LogDirectories(first.cluster_id, first.node_id, ids)


def format_directories(
    filesystem: Filesystem,
    log_dirs: Sequence[str],
    metadata_log_dir: str,
    cluster_id: str,
    node_id: int,
    random_bytes: RandomBytes,
    now_ms: int,
    features: Mapping[str, int] = INITIAL_FEATURES,
    first_voters: VoterSet | None = None,
    first_records: Sequence[FirstRecord] = (),
    *,
    ignore_formatted: bool = False,
) -> LogDirectories:
    """Format `log_dirs` and `metadata_log_dir`, which may be one of them or another directory.
    Return the ids.

    Each directory is created and gets `meta.properties` with a new directory id. `metadata_log_dir`
    also gets `bootstrap.checkpoint` with the levels of `features` and with `first_records`, the
    users and ACLs that the metadata begins with. `first_voters` are recorded in a first snapshot of
    the metadata log; if this node is among them, its directory id there is that of
    `metadata_log_dir`.

    With `ignore_formatted`, directories of this node that are formatted already stay as they are.
    Raises FormatError if a directory is formatted otherwise, and OSError.
    """
    directories = list(dict.fromkeys([*log_dirs, metadata_log_dir]))
    formatted = formatted_directories(filesystem, directories)
    if formatted and not ignore_formatted:
        raise FormatError(f"log directory {formatted[0]} is already formatted")
    ids = _ids_of_node(filesystem, formatted, cluster_id, node_id)
    for log_dir in directories:
        if log_dir in formatted:
            continue
        _make_durable(filesystem, log_dir)
        ids[log_dir] = random_uuid(random_bytes)
        if log_dir == metadata_log_dir:
            own = None if first_voters is None else first_voters.get(node_id)
            if own is not None:
                ids[log_dir] = own.key.directory_id
            filesystem.replace_atomically(
                f"{log_dir}/{BOOTSTRAP_CHECKPOINT}",
                encode_bootstrap(features, now_ms, first_records),
            )
            if first_voters is not None:
                level = features.get(METADATA_VERSION, LATEST_LEVEL)
                control = control_records(DYNAMIC_LEVEL, first_voters)
                first = encode_snapshot((), level, 0, 0, now_ms, control)
                folder = f"{log_dir}/{METADATA_FOLDER}"
                _make_durable(filesystem, folder)
                filesystem.replace_atomically(f"{folder}/{FIRST_SNAPSHOT}", first)
        write_meta_properties(
            filesystem, log_dir, MetaProperties(cluster_id, node_id, ids[log_dir])
        )
    return LogDirectories(cluster_id, node_id, ids)


def formatted_directories(filesystem: Filesystem, directories: Sequence[str]) -> list[str]:
    """Return the directories that have a `meta.properties` file."""
    return [path for path in directories if filesystem.exists(f"{path}/{META_PROPERTIES}")]


def _ids_of_node(
    filesystem: Filesystem, formatted: Sequence[str], cluster_id: str, node_id: int
) -> dict[str, bytes]:
    """Return the ids of formatted directories. Raises FormatError if they are not of this node of
    this cluster."""
    owner = read_directories(filesystem, formatted)
    if owner is None:
        return {}
    if (owner.cluster_id, owner.node_id) != (cluster_id, node_id):
        raise FormatError(
            f"log directory {formatted[0]} belongs to node {owner.node_id} of cluster "
            f"{owner.cluster_id}, not to node {node_id} of cluster {cluster_id}"
        )
    return dict(owner.directory_ids)


def _make_durable(filesystem: Filesystem, path: str) -> None:
    """Create a folder with its missing parents, and sync the name of each, so that the folder
    survives a power failure like its synced files. Do nothing if it exists."""
    if filesystem.exists(path):
        return
    parent = path.rpartition("/")[0] or ("/" if path.startswith("/") else ".")
    _make_durable(filesystem, parent)
    filesystem.make_dirs(path)
    filesystem.sync_dir(parent)


def encode_bootstrap(
    features: Mapping[str, int], now_ms: int, first_records: Sequence[FirstRecord] = ()
) -> bytes:
    """Return the content of `bootstrap.checkpoint`, in the format of a snapshot: the finalized
    `features`, then `first_records`."""
    level = features.get(METADATA_VERSION, LATEST_LEVEL)
    return encode_snapshot([*feature_records(features), *first_records], level, 0, 0, now_ms)


def read_bootstrap(filesystem: Filesystem, metadata_log_dir: str) -> list[MetadataRecord]:
    """Return the records with which an empty metadata log begins: those of the first snapshot,
    where Kafka's format tool writes them since 4.4 (KIP-1170), or else of `bootstrap.checkpoint`.
    Without either, return the feature levels of a new cluster.

    Raises MetadataRecordError if a file is damaged, and OSError.
    """
    folder = f"{metadata_log_dir}/{METADATA_FOLDER}"
    for path, how in (
        (f"{folder}/{FIRST_SNAPSHOT}", "restore it from a backup"),
        (
            f"{metadata_log_dir}/{BOOTSTRAP_CHECKPOINT}",
            "where the node has run before, remove it and start again",
        ),
    ):
        if not filesystem.exists(path):
            continue
        try:
            records = decode_snapshot(filesystem.read(path)).records
        except MetadataRecordError as error:
            raise MetadataRecordError(f"{path}: {error}; {how}") from error
        if records:
            return records
    return feature_records(INITIAL_FEATURES)
