"""The files that `ottla dump-log` reads: their order, their entries, and new entries of a segment.

A folder stands for its own files, in the order of their names. A log directory does not stand for
its partitions, because there may be thousands. Owns the position in a followed segment. Never
prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from broker.config.start_error import StartError
from client.records.decoders import decode_by, decoder_of
from storage.dump_log import DumpEntry, UnknownFile, entries_of, segment_entries, whole_bytes

_SEGMENT = ".log"


def files_of(paths: tuple[str, ...]) -> list[Path]:
    """Return the files of the paths, in order.

    Raises StartError for a folder without a readable file, and OSError.
    """
    files: list[Path] = []
    for text in paths:
        path = Path(text)
        files += _readable_files(path) if path.is_dir() else [path]
    return files


def _readable_files(folder: Path) -> list[Path]:
    """Return the files of a folder that can be dumped, sorted by name.

    Raises StartError if there are none.
    """
    files = sorted(file for file in folder.iterdir() if file.is_file() and _is_known(file))
    if not files:
        below = sorted(subfolder.name for subfolder in folder.iterdir() if subfolder.is_dir())
        inside = f"; name one of its folders, such as {folder / below[0]}" if below else ""
        raise StartError(f"{folder} holds no file that dump-log can read{inside}")
    return files


def _is_known(file: Path) -> bool:
    """Return whether the name is that of a file that can be dumped."""
    try:
        entries_of(file.name, b"")
    except UnknownFile:
        return False
    return True


def entries_in(file: Path, decoder: str | None, *, with_records: bool) -> Iterator[DumpEntry]:
    """Return the entries of a file. `decoder` names the decoder of its records; None: that of its
    folder's topic.

    Raises UnknownFile for a file that cannot be dumped, and OSError.
    """
    return entries_of(
        file.name,
        file.read_bytes(),
        with_records=with_records,
        decode=decode_by(decoder or _default_decoder(file)),
    )


def _default_decoder(file: Path) -> str:
    """Return the name of the decoder for the topic to which the file's folder belongs."""
    return decoder_of(file.absolute().parent.name, file.name)


class SegmentTail:
    """A reader that follows a segment: the newest and later ones of a folder, or a single file."""

    def __init__(self, path: str, decoder: str | None, *, with_records: bool) -> None:
        """Begin at the start of the segment `path`, or of the newest in the folder `path`. Raises
        StartError if there is no segment."""
        named = Path(path)
        self._folder = named if named.is_dir() else None
        newest = self._newest() if self._folder is not None else named
        if newest is None or newest.suffix != _SEGMENT:
            raise StartError(f"--follow {path}: name a segment (.log) or a partition's folder")
        self.file = newest
        self._with_records = with_records
        self._decode = decode_by(decoder or _default_decoder(newest))
        self._position = 0

    def read(self) -> Iterator[DumpEntry]:
        """Return the entries of the complete batches added since the last call.

        If there is nothing new and a later segment exists, continue with that segment. Raises
        OSError.
        """
        added = self._new_bytes()
        if not added and self._next_file():
            added = self._new_bytes()
        whole = whole_bytes(added)
        decode = self._decode if self._with_records else None
        start, self._position = self._position, self._position + whole
        return segment_entries(added[:whole], decode, start)

    def _new_bytes(self) -> bytes:
        """Return the bytes of the file from the position up to which entries were returned."""
        with self.file.open("rb") as opened:
            opened.seek(self._position)
            return opened.read()

    def _next_file(self) -> bool:
        """Continue with the next segment. Return False if there is none.

        A segment grows no more if there is a later segment.
        """
        if self._folder is None:
            return False
        later = [segment for segment in self._segments() if segment.name > self.file.name]
        if not later:
            return False
        self.file, self._position = later[0], 0
        return True

    def _newest(self) -> Path | None:
        """Return the newest segment of the folder, None if it has none."""
        segments = self._segments()
        return segments[-1] if segments else None

    def _segments(self) -> list[Path]:
        """Return the segments of the folder, oldest first."""
        assert self._folder is not None
        return sorted(self._folder.glob(f"*{_SEGMENT}"))
