"""The disk of a broker whose data is gone after the test: it waits for no device.

What is written stands the death of the process, as with any broker, but not the loss of power.
"""

from __future__ import annotations

from ground.filesystem import BytesLike, LocalFile, LocalFilesystem


class UnsyncedFile(LocalFile):
    """A file that leaves it to the system when bytes reach the device."""

    __slots__ = ()

    def sync(self) -> None:
        """Nothing: see the module."""


class UnsyncedFilesystem(LocalFilesystem):
    """See the module."""

    opened = UnsyncedFile

    def replace_atomically(self, path: str, data: BytesLike, *, sync: bool = True) -> None:
        """See `Filesystem.replace_atomically`; as with `sync=False`."""
        super().replace_atomically(path, data, sync=False)

    def sync_dir(self, path: str) -> None:
        """Nothing: see the module."""
