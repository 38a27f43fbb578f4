"""What a folder is, by the names of the files in it."""

from __future__ import annotations

import pytest

from log_format.folder_contents import FolderContents, contents_of

SEGMENT = f"{0:020d}.log"


@pytest.mark.parametrize(
    ("names", "contents"),
    [
        ([], FolderContents.NOTHING),
        (["partition.metadata"], FolderContents.PARTITION),
        (["partition.metadata.tmp"], FolderContents.PARTITION),
        (["leader-epoch-checkpoint"], FolderContents.PARTITION),
        ([SEGMENT], FolderContents.PARTITION),
        ([f"{7:020d}.timeindex.deleted", "notes.txt"], FolderContents.PARTITION),
        ([f"{7:020d}.snapshot"], FolderContents.PARTITION),
        (["meta.properties"], FolderContents.NODE),
        ([".lock"], FolderContents.NODE),
        # Kafka had opened it as a log before it renamed it.
        (["leader-epoch-checkpoint", "meta.properties", SEGMENT], FolderContents.NODE),
        (["src"], FolderContents.OTHER),
        (["1.log", "x.log", f"{7:020d}", f"{7:019d}x.log"], FolderContents.OTHER),
        (["lost+found"], FolderContents.NOTHING),
    ],
)
def test_a_folder_is_what_the_files_in_it_say(names: list[str], contents: FolderContents) -> None:
    assert contents_of(names) is contents
