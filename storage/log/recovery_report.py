"""The report of a log's opening: scans, repairs and losses, as a line for people.

Owns: the words for lost records. Never: reads a file.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class RecoveryReport:
    """The scans, repairs and losses of one log's opening."""

    segments_scanned: int = 0
    bytes_scanned: int = 0
    bytes_cut: int = 0
    segments_removed: int = 0
    notes: list[str] = field(default_factory=list)
    lacks_its_end: bool = False
    """Whether the log ends before its recovery point or high watermark in the checkpoints."""

    def scanning(self, size: int) -> None:
        """Count a batch of `size` bytes that a scan under way has read."""
        self.bytes_scanned += size

    def scanned(self, bytes_before: int, size: int) -> None:
        """Count a scanned segment of `size` bytes. `bytes_before` were scanned before it."""
        self.segments_scanned += 1
        self.bytes_scanned = bytes_before + size

    def scanned_nothing(self) -> None:
        """Take back the last scanned segment from the count, because it is empty."""
        self.segments_scanned -= 1

    def cut(self, size: int) -> None:
        """Count `size` bytes that were cut off."""
        self.bytes_cut += size

    def removed(self, size: int) -> None:
        """Count a removed segment of `size` bytes."""
        self.segments_removed += 1
        self.bytes_cut += size

    def lost(self, first: int, end: int, where: str) -> None:
        """Add a line to `notes`: the records at the offsets from `first` up to `end`, exclusively,
        are lost."""
        self.notes.append(f"{where} lacks the offsets {first} to {end - 1}: they are lost")

    def lost_end(self, first: int, end: int) -> None:
        """Add a line to `notes`: the log's last records, from `first` up to `end`, exclusively, are
        lost. Set `lacks_its_end`."""
        self.lost(first, end, "the end")
        self.lacks_its_end = True

    def line(self, log_end_offset: int) -> str:
        """Return a line with all damage and repairs, "" without any."""
        parts = list(self.notes)
        if self.bytes_cut or self.segments_removed:
            parts.insert(
                0,
                f"cut off {self.bytes_cut} bytes, removed {self.segments_removed} segment(s); "
                f"log end offset {log_end_offset}",
            )
        return "; ".join(parts)
