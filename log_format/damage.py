"""The errors of a folder or its files, as one line that names the file and the position.

Owns the exceptions. Never decides whether a reader may continue.
"""

from __future__ import annotations


class LogError(Exception):
    """A folder or options that cannot be read; `str()` is one line that says where and why."""


class DamagedLog(LogError):
    """Bytes of a segment that contradict each other, from `position` of `path` on."""

    def __init__(self, path: str, position: int, why: str) -> None:
        super().__init__(f"{path} is damaged at byte {position}: {why}")
        self.path = path
        self.position = position
        self.why = why

    def __reduce__(self) -> tuple[type[DamagedLog], tuple[str, int, str]]:
        return DamagedLog, (self.path, self.position, self.why)


class OldFormat(DamagedLog):
    """Messages of an unsupported format, from before Kafka 0.11 (v0, v1), that are not damaged."""

    def __init__(self, path: str, position: int, magic: int) -> None:
        LogError.__init__(
            self,
            f"{path} holds messages of format v{magic} at byte {position}, from before Kafka 0.11: "
            "only v2 is read (as by Kafka 4); let a Kafka 3 with message format 3.0 rewrite them",
        )
        self.path = path
        self.position = position
        self.why = f"magic {magic}"
        self.magic = magic

    def __reduce__(self) -> tuple[type[OldFormat], tuple[str, int, int]]:  # type: ignore[override]
        return OldFormat, (self.path, self.position, self.magic)
