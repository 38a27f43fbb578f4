"""The files that `ottla dump-log` was asked for: their order, their entries, and what is added.

A folder stands for its own files, in the order of their names; a log directory does not stand for
its partitions, of which there may be thousands. Owns how far a followed segment was read. Never:
prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from broker.config.start_error import StartError
from client.records.decoders import decode_by, decoder_of
from storage.dump_log import Entry, UnknownFile, entries_of, segment_entries, whole_bytes

_SEGMENT = ".log"


def files_of(paths: tuple[str, ...]) -> list[Path]:
    """All files of these paths. Raises StartError for a folder that has none, and OSError."""
    found: list[Path] = []
    for text in paths:
        path = Path(text)
        found += _in_folder(path) if path.is_dir() else [path]
    return found


def _in_folder(folder: Path) -> list[Path]:
    files = sorted(one for one in folder.iterdir() if one.is_file() and _is_known(one))
    if not files:
        below = sorted(one.name for one in folder.iterdir() if one.is_dir())
        inside = f"; name one of its folders, such as {folder / below[0]}" if below else ""
        raise StartError(f"{folder} holds no file that dump-log can read{inside}")
    return files


def _is_known(file: Path) -> bool:
    try:
        entries_of(file.name, b"")
    except UnknownFile:
        return False
    return True


def entries_in(file: Path, decoder: str | None, *, with_records: bool) -> Iterator[Entry]:
    """What a file holds. `decoder` None: the one that fits its folder. Raises UnknownFile,
    OSError."""
    return entries_of(
        file.name,
        file.read_bytes(),
        with_records=with_records,
        decode=decode_by(decoder or _fitting(file)),
    )


def _fitting(file: Path) -> str:
    return decoder_of(file.absolute().parent.name, file.name)


class Tail:
    """The newest segment of a partition's folder, or one segment: what is added to it."""

    def __init__(self, path: str, decoder: str | None, *, with_records: bool) -> None:
        """Raises StartError where there is no segment."""
        given = Path(path)
        self._folder = given if given.is_dir() else None
        newest = self._newest() if self._folder is not None else given
        if newest is None or newest.suffix != _SEGMENT:
            raise StartError(f"--follow {path}: name a segment (.log) or a partition's folder")
        self.file = newest
        self._with_records = with_records
        self._decode = decode_by(decoder or _fitting(newest))
        self._position = 0

    def read(self) -> Iterator[Entry]:
        """The whole batches that came since the last call; those of the segments that were begun
        meanwhile come by the next calls, one file at a time. Raises OSError."""
        added = self._added()
        if not added and self._next_file():
            added = self._added()
        whole = whole_bytes(added)
        decode = self._decode if self._with_records else None
        start, self._position = self._position, self._position + whole
        return segment_entries(added[:whole], decode, start)

    def _added(self) -> bytes:
        with self.file.open("rb") as opened:
            opened.seek(self._position)
            return opened.read()

    def _next_file(self) -> bool:
        """Go on with the segment after this one, if there is one: then this one is complete."""
        if self._folder is None:
            return False
        later = [one for one in self._segments() if one.name > self.file.name]
        if not later:
            return False
        self.file, self._position = later[0], 0
        return True

    def _newest(self) -> Path | None:
        segments = self._segments()
        return segments[-1] if segments else None

    def _segments(self) -> list[Path]:
        assert self._folder is not None
        return sorted(self._folder.glob(f"*{_SEGMENT}"))
