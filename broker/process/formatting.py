"""`ottla format`: a node's data folders, formatted by the user before the first start.

`broker.node.preparation.storage_folders` formats folders; this file decides which, and says what it
did. Never starts a node. Follows Kafka's `StorageTool`, except that folders which are formatted
already are no error unless an option would have no effect on them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from broker.node.preparation.first_voters import AS_CONFIGURED, FirstVoters
from broker.node.preparation.storage_folders import (
    RandomBytes,
    format_storage,
    is_formatted,
    split_folders,
    unusable_folder,
)
from broker.process.data_folders import private_folders
from controller.decisions.feature_control import INITIAL_FEATURES, KEPT_FEATURES
from controller.metadata.version import METADATA_VERSION, level_name
from controller.settings import DEFAULT_FEATURES
from controller.storage_format import LogDirectories
from ground.filesystem import LocalFilesystem
from protocol.messages.metadata_records import UserScramCredentialRecord

NewUser = Callable[[RandomBytes], UserScramCredentialRecord]
"""A function that returns a user's record, with random bytes for its salt."""


def format_folders(
    config: BrokerConfig,
    cluster_id: str | None,
    users: Sequence[NewUser] = (),
    features: Mapping[str, int] | None = None,
    *,
    ignore_formatted: bool = False,
    chosen: FirstVoters = AS_CONFIGURED,
) -> list[str]:
    """Format the data folders of a node, as `ottla format` does, and return the lines to print.
    Folders that are formatted already stay as they are.

    The new metadata begins with `users`, with the levels of `features`, None: those of this
    release, and with the voters that were `chosen`. With `ignore_formatted`, some or all of the
    folders may be formatted already. Otherwise all or none are, and if all are, `users` and
    `features` are rejected. Raises StartError if the folders cannot be used.
    """
    first_users = [make(os.urandom) for make in users]
    filesystem = LocalFilesystem(private=private_folders(config))
    formatted, empty = split_folders(config, filesystem)
    if formatted and empty and not ignore_formatted:
        raise StartError(
            f"Log directory {formatted[0]} is already formatted. Use --ignore-formatted to ignore "
            "this directory and format the others."
        )
    if not empty and is_formatted(config, filesystem, cluster_id):
        if not ignore_formatted:
            _check_nothing_is_late(config, users, features)
        return [_left_line(config.log_dirs)]
    try:
        storage = format_storage(
            config,
            filesystem,
            os.urandom,
            time.time_ns() // 1_000_000,
            cluster_id,
            first_users,
            INITIAL_FEATURES if features is None else features,
            ignore_formatted=ignore_formatted,
            chosen=chosen,
        )
    except OSError as error:
        raise unusable_folder(config, error) from error
    has_metadata = config.metadata_log_dir in empty
    return _lines(storage, formatted, empty, features if features and has_metadata else {})


def _check_nothing_is_late(
    config: BrokerConfig, users: Sequence[NewUser], features: Mapping[str, int] | None
) -> None:
    """Raise StartError if there are users or levels, which only a new cluster begins with."""
    folders = ", ".join(config.log_dirs)
    if users:
        raise StartError(
            f"{folders}: formatted before, so --add-scram comes too late: start the node, then "
            "make users with ottla user add"
        )
    if features is not None:
        raise StartError(
            f"{folders}: formatted before, so --feature and --release-version come too late: start "
            "the node, then change levels with Kafka's kafka-features (with --ignore-formatted, "
            "the folder stays as it is)"
        )


def _lines(
    storage: LogDirectories,
    formatted: Sequence[str],
    empty: Sequence[str],
    features: Mapping[str, int],
) -> list[str]:
    """Return the lines to print after the folders `empty` have been formatted beside those that
    were `formatted` before. `features` has the levels that the user chose, if the metadata begins
    with them."""
    lines = [_left_line(formatted)] if formatted else []
    lines.append(
        f"ottla: formatted {', '.join(empty)} for node {storage.node_id} of cluster "
        f"{storage.cluster_id}"
    )
    if features:
        levels = [METADATA_VERSION, *sorted(set(features) - {METADATA_VERSION})]
        shown = ", ".join(_shown_level(name, features[name]) for name in levels)
        lines.append(f"ottla: the metadata begins with {shown}")
    lines += [
        f"ottla: {name}={level} stays in the metadata, but Ottla does not serve "
        f"{KEPT_FEATURES[name][1]}"
        for name, level in sorted(features.items())
        if level > DEFAULT_FEATURES.get(name, (0, 0))[1] and name in KEPT_FEATURES
    ]
    return lines


def _left_line(folders: Sequence[str]) -> str:
    """Return the line about folders that were formatted before."""
    return f"ottla: {', '.join(folders)}: formatted before, left as it is"


def _shown_level(name: str, level: int) -> str:
    """Return a level as `kafka-storage version-mapping` prints it."""
    named = f" ({level_name(level)})" if name == METADATA_VERSION else ""
    return f"{name}={level}{named}"
