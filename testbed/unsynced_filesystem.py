"""The disk of a broker whose data is dropped after the test: no write waits for the device.

Written data survives the death of the process, as with any broker, but not the loss of power.
"""

from __future__ import annotations

from ground.filesystem import BytesLike, LocalFile, LocalFilesystem


class UnsyncedFile(LocalFile):
    """A file that leaves it to the operating system when bytes reach the device."""

    __slots__ = ()

    def sync(self) -> None:
        """Do nothing: the operating system writes the bytes when it likes."""


class UnsyncedFilesystem(LocalFilesystem):
    """A local file system whose files and folders are never synced."""

    opened = UnsyncedFile

    def replace_atomically(self, path: str, data: BytesLike, *, sync: bool = True) -> None:
        """Replace a file as `Filesystem.replace_atomically` does, without an fsync, whatever `sync`
        is."""
        super().replace_atomically(path, data, sync=False)

    def sync_dir(self, path: str) -> None:
        """Do nothing: the operating system writes the folder when it likes."""
