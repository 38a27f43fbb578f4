"""The data folders of a node at its start: formatted already, or empty and then formatted.

The start fails with one line if a folder was never formatted but is not empty, because its content
belongs to something else. It also fails for an empty folder of a node in a cluster, because each
node would create a different cluster id, and if the metadata is in another folder than the
configuration says, because the node would begin with empty metadata. Owns no state. Never opens a
log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from broker.node.preparation.first_voters import AS_CONFIGURED, FirstVoters, first_voters
from controller.decisions.feature_control import INITIAL_FEATURES
from controller.raft.quorum_voters import METADATA_FOLDER
from controller.random_ids import random_uuid
from controller.storage_format import (
    BOOTSTRAP_CHECKPOINT,
    FIRST_SNAPSHOT,
    FirstRecord,
    FormatError,
    LogDirectories,
    format_directories,
    formatted_directories,
    new_cluster_id,
    read_directories,
)
from ground.filesystem import Filesystem
from protocol.primitives import uuid_from_string
from storage.log.checkpoints import META_PROPERTIES

_log = logging.getLogger(f"ottla.{__name__}")

# The names that do not count as content: what a file system itself puts into an empty volume, the
# lock of a start that failed, and what formatting itself writes before `meta.properties`. That file
# comes last. Without it the folder was never used, so an interrupted formatting must not make it
# unusable.
_IGNORED_NAMES = (
    "lost+found",
    ".lock",
    ".kafka_cleanshutdown",
    BOOTSTRAP_CHECKPOINT,
    f"{BOOTSTRAP_CHECKPOINT}.tmp",
    f"{META_PROPERTIES}.tmp",
)

RandomBytes = Callable[[int], bytes]


def open_storage(
    config: BrokerConfig, filesystem: Filesystem, random_bytes: RandomBytes, now_ms: int
) -> LogDirectories:
    """Return what the folders were formatted with, and format them first if all are empty.

    The folders of a node in a cluster are not formatted here: `ottla format` gives all of them the
    same cluster id. Raises StartError for such folders, and for those of another node.
    """
    directories = _read_folders(config, filesystem)
    if directories is None:
        if is_one_of_several(config):
            raise StartError(
                f"{config.log_dirs[0]} is not formatted, and all nodes of a cluster need the same "
                "cluster ID: format each node's folders with ottla format --cluster-id ID --config "
                "FILE (without --cluster-id it proposes one)"
            )
        return format_storage(config, filesystem, random_bytes, now_ms)
    if directories.node_id != config.node_id:
        raise StartError(
            f"{config.log_dirs[0]} belongs to node {directories.node_id}, but node.id is "
            f"{config.node_id}: use another folder (log.dirs) or set node.id"
        )
    return directories


def format_storage(
    config: BrokerConfig,
    filesystem: Filesystem,
    random_bytes: RandomBytes,
    now_ms: int,
    cluster_id: str | None = None,
    first_records: Sequence[FirstRecord] = (),
    features: Mapping[str, int] = INITIAL_FEATURES,
    *,
    ignore_formatted: bool = False,
    chosen: FirstVoters = AS_CONFIGURED,
) -> LogDirectories:
    """Format the empty folders of a node, and return what they were formatted with.

    The cluster begins with the levels of `features`, with `first_records`, which are users and
    ACLs, and with the voters that were `chosen`. With `ignore_formatted`, folders that are
    formatted already stay as they are, and give the others their cluster id. Raises StartError if a
    folder is not empty, if a node of a cluster has no `cluster_id`, or if the voters cannot be
    those that were chosen.
    """
    formatted = split_folders(config, filesystem)[0] if ignore_formatted else []
    if formatted:
        cluster_id = cluster_id or _cluster_id_of(filesystem, formatted)
    if cluster_id is not None:
        check_cluster_id(cluster_id)
    elif is_one_of_several(config):
        raise StartError(
            "all nodes of a cluster need the same cluster ID; start each with, for example, "
            f"--cluster-id {new_cluster_id(random_bytes)}"
        )
    _check_empty(filesystem, [path for path in _all_dirs(config) if path not in formatted])
    try:
        directories = format_directories(
            filesystem,
            config.log_dirs,
            config.metadata_log_dir,
            cluster_id or new_cluster_id(random_bytes),
            config.node_id,
            random_bytes,
            now_ms,
            features,
            first_voters(config, chosen, partial(random_uuid, random_bytes)),
            first_records,
            ignore_formatted=ignore_formatted,
        )
    except FormatError as error:
        raise StartError(str(error)) from error
    _log.info("formatted %s for cluster %s", ", ".join(config.log_dirs), directories.cluster_id)
    return directories


def _check_empty(filesystem: Filesystem, folders: Sequence[str]) -> None:
    """Raise StartError if a folder has any content."""
    for folder in folders:
        contents = [
            name
            for name in (filesystem.list_dir(folder) if filesystem.exists(folder) else ())
            if name not in _IGNORED_NAMES
            and not _is_unfinished_metadata_log(filesystem, folder, name)
        ]
        if contents:
            raise StartError(
                f"{folder} is not a data folder of a broker, and is not empty (it has "
                f"{sorted(contents)[0]}): use an empty folder, --override log.dirs=FOLDER"
            )


def _is_unfinished_metadata_log(filesystem: Filesystem, log_dir: str, name: str) -> bool:
    """Return whether a folder is an empty metadata log of an interrupted formatting."""
    if name != METADATA_FOLDER:
        return False
    inside = filesystem.list_dir(f"{log_dir}/{name}")
    return all(child in (FIRST_SNAPSHOT, f"{FIRST_SNAPSHOT}.tmp") for child in inside)


def split_folders(config: BrokerConfig, filesystem: Filesystem) -> tuple[list[str], list[str]]:
    """Return the folders of the node that are formatted, and those that are not.

    Raises StartError if a folder is named twice, or if the metadata is in another folder.
    """
    _check_named_once(config, filesystem)
    _check_metadata_place(config, filesystem)
    folders = _all_dirs(config)
    formatted = formatted_directories(filesystem, folders)
    return formatted, [folder for folder in folders if folder not in formatted]


def _cluster_id_of(filesystem: Filesystem, formatted: Sequence[str]) -> str:
    """Return the cluster id of formatted folders. Raises StartError if they contradict each
    other."""
    try:
        directories = read_directories(filesystem, formatted)
    except FormatError as error:
        raise StartError(str(error)) from error
    assert directories is not None
    return directories.cluster_id


def is_formatted(
    config: BrokerConfig, filesystem: Filesystem, cluster_id: str | None = None
) -> bool:
    """Return whether the folders are formatted.

    Raises StartError if they contradict each other, or belong to another cluster than `cluster_id`.
    """
    directories = _read_folders(config, filesystem)
    if directories is None:
        return False
    if cluster_id not in (None, directories.cluster_id):
        raise StartError(
            f"{config.log_dirs[0]} belongs to cluster {directories.cluster_id}, not to "
            f"{cluster_id}: use another folder (log.dirs) or that cluster's id"
        )
    return True


def is_one_of_several(config: BrokerConfig) -> bool:
    """Return whether this node is only part of a cluster, whose nodes need the same cluster id."""
    alone = config.is_broker and config.is_controller
    voters, servers = config.controller_quorum_voters, config.controller_quorum_bootstrap_servers
    return not alone or len(voters or servers) > 1


def _read_folders(config: BrokerConfig, filesystem: Filesystem) -> LogDirectories | None:
    """Return the formatted log folders, or None if no folder is formatted.

    Raises StartError if they contradict each other, a folder is named twice, or the metadata is in
    another folder.
    """
    _check_named_once(config, filesystem)
    _check_metadata_place(config, filesystem)
    try:
        return read_directories(filesystem, _all_dirs(config))
    except FormatError as error:
        raise StartError(str(error)) from error


def _check_named_once(config: BrokerConfig, filesystem: Filesystem) -> None:
    """Check that no folder has two names: two log directories would overwrite each other.

    Raises StartError.
    """
    name_of: dict[str, str] = {}
    for name in config.log_dirs:
        first = name_of.setdefault(filesystem.real_path(name), name)
        if first != name:
            raise StartError(f"log.dirs names one folder twice: {first} and {name}; leave one out")
    name = config.metadata_log_dir
    first = name_of.get(filesystem.real_path(name), name)
    if first != name:
        raise StartError(
            f"metadata.log.dir={name} is the folder that log.dirs names {first}: name it so, too"
        )


def _check_metadata_place(config: BrokerConfig, filesystem: Filesystem) -> None:
    """Check that no folder but the configured one has a metadata log: with empty metadata, the node
    would take all its partitions for those of no topic. Raises StartError, in Kafka's words."""
    configured = config.metadata_log_dir
    for folder in config.log_dirs:
        metadata = f"{folder}/{METADATA_FOLDER}"
        if folder != configured and filesystem.exists(metadata):
            raise StartError(
                f"Found unexpected metadata location in data directory `{metadata}` (the configured"
                f" metadata directory is {configured}): name {folder} first in log.dirs, or set "
                f"metadata.log.dir={folder}"
            )


def _all_dirs(config: BrokerConfig) -> list[str]:
    """Return the folders of the logs and of the metadata, each once."""
    return list(dict.fromkeys([*config.log_dirs, config.metadata_log_dir]))


def check_cluster_id(text: str) -> None:
    """Check a cluster id. Raises StartError if it is not 22 characters of base64url."""
    try:
        uuid_from_string(text)
    except ValueError as error:
        raise StartError(
            f"--cluster-id {text} is not a cluster id: 22 characters of base64url are needed"
        ) from error


def unusable_folder(config: BrokerConfig, error: OSError) -> StartError:
    """Return the error for a folder that cannot be created, read or written, with its key."""
    folder = str(error.filename or ", ".join(config.log_dirs))
    in_logs = folder.startswith(tuple(config.log_dirs))
    key = (
        "log.dirs" if in_logs or "metadata.log.dir" not in config.originals else "metadata.log.dir"
    )
    other = "" if config.profile_name is None else "; for another folder: ottla serve --data DIR"
    reason = error.strerror or error
    return StartError(f"cannot use the data folder {folder}: {reason} ({key}){other}")
