"""What opening one log took, and found: lines for people are made of it.

Owns: the words for what is lost. Never: looks at a file.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class RecoveryReport:
    """What opening one log took: a line for people is made of it where anything was done."""

    segments_scanned: int = 0
    bytes_scanned: int = 0
    bytes_cut: int = 0
    segments_removed: int = 0
    notes: list[str] = field(default_factory=list)
    lacks_its_end: bool = False
    """Whether it ends before what the checkpoints say was flushed, or committed."""

    def scanning(self, size: int) -> None:
        """A batch of `size` bytes was read by a scan that goes on."""
        self.bytes_scanned += size

    def scanned(self, bytes_before: int, size: int) -> None:
        """A segment of `size` bytes was scanned; so much had been before it."""
        self.segments_scanned += 1
        self.bytes_scanned = bytes_before + size

    def scanned_nothing(self) -> None:
        """The segment that was scanned last is an empty one, of which nothing is told."""
        self.segments_scanned -= 1

    def cut(self, size: int) -> None:
        """So many bytes were cut off."""
        self.bytes_cut += size

    def removed(self, size: int) -> None:
        """A segment of so many bytes was removed."""
        self.segments_removed += 1
        self.bytes_cut += size

    def lost(self, first: int, end: int, where: str) -> None:
        """The offsets from `first` to `end` were there once, and are not any more."""
        self.notes.append(f"{where} lacks the offsets {first} to {end - 1}: they are lost")

    def lost_end(self, first: int, end: int) -> None:
        """The same, of the log's last offsets."""
        self.lost(first, end, "the end")
        self.lacks_its_end = True

    def line(self, log_end_offset: int) -> str:
        """All that was not as it should be; empty where a scan found nothing."""
        parts = list(self.notes)
        if self.bytes_cut or self.segments_removed:
            parts.insert(
                0,
                f"cut off {self.bytes_cut} bytes, removed {self.segments_removed} segment(s); "
                f"log end offset {log_end_offset}",
            )
        return "; ".join(parts)
