"""The check of a new log's folder: whether something else has its name already.

Never: changes a file or a folder.
"""

from __future__ import annotations

from collections.abc import Sequence

from ground.filesystem import Filesystem
from log_format.folder_contents import FolderContents, contents_of, why_no_partition
from storage.log.checkpoints import PARTITION_METADATA, decode_partition_metadata
from storage.log.log_dir_failure import is_of_one_file


def topic_id_in(filesystem: Filesystem, directory: str, names: Sequence[str]) -> bytes | None:
    """Return the topic id in a folder's `partition.metadata`, None if it is missing or damaged.

    `names` are the files of the folder. Raises OSError.
    """
    if PARTITION_METADATA not in names:
        return None
    return decode_partition_metadata(filesystem.read(f"{directory}/{PARTITION_METADATA}"))


def why_taken(filesystem: Filesystem, directory: str, topic_id: bytes | None) -> str | None:
    """Return why no log of this topic can be created in `directory`, None if it is free.

    The directory is free if it is missing or empty. So is a partition's folder that an earlier
    attempt left, with this topic's id or none. With `topic_id` None it has to be missing or empty.
    Raises OSError.
    """
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
