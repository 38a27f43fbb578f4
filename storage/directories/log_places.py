"""Whether a new log can have its folder: what lies under its name already.

Never: changes anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from ground.filesystem import Filesystem
from log_format.folder_contents import FolderContents, contents_of, why_no_partition
from storage.log.checkpoints import PARTITION_METADATA, decode_partition_metadata
from storage.log.log_dir_failure import is_of_one_file


def topic_id_in(filesystem: Filesystem, directory: str, names: Sequence[str]) -> bytes | None:
    """The topic that a folder with files of these names is of; None where it does not say.

    Raises OSError.
    """
    if PARTITION_METADATA not in names:
        return None
    return decode_partition_metadata(filesystem.read(f"{directory}/{PARTITION_METADATA}"))


def why_taken(filesystem: Filesystem, directory: str, topic_id: bytes | None) -> str | None:
    """Why no log of this topic can be made in `directory`; None where it is free: missing, empty,
    or what a try before this one left. Without a topic it has to be missing or empty. Raises
    OSError."""
    if not filesystem.exists(directory):
        return None
    if not filesystem.is_dir(directory):
        return f"{directory} is no folder"
    try:
        names = filesystem.list_dir(directory)
        of_topic = topic_id_in(filesystem, directory, names)
    except OSError as error:
        if not is_of_one_file(error):
            raise
        return f"{directory} cannot be read ({error})"
    if contents_of(names) is not FolderContents.PARTITION:
        return why_no_partition(directory, names)
    is_left = topic_id is not None and of_topic in (None, topic_id)
    return None if is_left else f"{directory} holds another log"
