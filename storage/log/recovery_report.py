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

    @property
    def did_something(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.segments_scanned or self.segments_removed or self.notes)

    def lost(self, first: int, end: int, where: str) -> None:
        """The offsets from `first` to `end` were there once, and are not any more."""
        self.notes.append(f"{where} lacks the offsets {first} to {end - 1}: they are lost")

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
