"""Who may look into the data folders of a node.

Its metadata has what passwords are checked by, and the passwords of certificates that were set
while it ran. So a folder that a node makes is for the owner of its process alone, and so are the
files of the metadata, wherever they lie. A folder that is there already keeps its mode: somebody
chose it, or a backup counts on it. Where others may read such a folder of a secured node, a start
warns once.

Looks at modes, and changes none.
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
    """Where all that a node makes is for its owner alone: folders, and one file."""
    metadata = config.metadata_log_dir
    of_logs = [one for one in _folders(config) if not _is_open_to_others(one)]
    return (*of_logs, f"{metadata}/{METADATA_FOLDER}", f"{metadata}/{BOOTSTRAP_CHECKPOINT}")


def warn_of_readers(config: BrokerConfig) -> None:
    """One line where a secured node's folder can be read by others."""
    if not config.is_secured:
        return
    found = [one for one in _folders(config) if _is_open_to_others(one)]
    if found:
        _log.warning(
            "others can read data folders of this node, which hold credentials: chmod 700 %s",
            " ".join(found),
        )


def _folders(config: BrokerConfig) -> list[str]:
    return list(dict.fromkeys([*config.log_dirs, config.metadata_log_dir]))


def _is_open_to_others(folder: str) -> bool:
    """Whether it is there, and is not its owner's alone."""
    try:
        return bool(os.stat(folder).st_mode & _OTHERS)
    except OSError:
        return False
