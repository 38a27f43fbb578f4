"""The file modes of a node's data folders: which are private to the owner of the process.

The metadata has the SCRAM credentials of users, and the passwords of certificates that were set as
dynamic configs. So a folder that a node creates is private to the owner of its process, and so are
the files of the metadata in any folder. A folder that exists keeps its mode, because a user or a
backup may rely on it. If others may read such a folder of a secured node, the node warns once at
its start.

Reads modes. Never: changes one.
"""

from __future__ import annotations

import logging
import os
import stat

from broker.config.values import BrokerConfig
from controller.raft.quorum_voters import METADATA_FOLDER
from controller.storage_format import BOOTSTRAP_CHECKPOINT

_log = logging.getLogger(f"ottla.{__name__}")

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def private_folders(config: BrokerConfig) -> tuple[str, ...]:
    """Return the paths of which all files must be private to this user: the data folders that do
    not exist yet or are closed to others, and the metadata."""
    metadata = config.metadata_log_dir
    private_log_dirs = [
        folder for folder in _data_folders(config) if not _is_open_to_others(folder)
    ]
    return (
        *private_log_dirs,
        f"{metadata}/{METADATA_FOLDER}",
        f"{metadata}/{BOOTSTRAP_CHECKPOINT}",
    )


def warn_of_readers(config: BrokerConfig) -> None:
    """Log a warning if others can read data folders of a secured node."""
    if not config.is_secured:
        return
    open_folders = [folder for folder in _data_folders(config) if _is_open_to_others(folder)]
    if open_folders:
        _log.warning(
            "others can read data folders of this node, which hold credentials: chmod 700 %s",
            " ".join(open_folders),
        )


def _data_folders(config: BrokerConfig) -> list[str]:
    """Return the folders of the log and of the metadata, each once."""
    return list(dict.fromkeys([*config.log_dirs, config.metadata_log_dir]))


def _is_open_to_others(folder: str) -> bool:
    """Return whether the folder exists and its mode gives others any access."""
    try:
        return bool(os.stat(folder).st_mode & _OTHERS)
    except OSError:
        return False
