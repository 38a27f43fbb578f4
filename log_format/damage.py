"""What is wrong with a folder or its files, as one line that names the file and the place.

Owns the exceptions. Never decides whether a reader may go on.
"""

from __future__ import annotations


class LogError(Exception):
    """A folder cannot be read as it was asked to; `str()` is one line that says where and why."""


class DamagedLog(LogError):
    """The bytes of a segment contradict each other, from `position` of `path` on."""

    def __init__(self, path: str, position: int, why: str) -> None:
        super().__init__(f"{path} is damaged at byte {position}: {why}")
        self.path = path
        self.position = position
        self.why = why

    def __reduce__(self) -> tuple[type[DamagedLog], tuple[str, int, str]]:
        return DamagedLog, (self.path, self.position, self.why)


class OldFormat(DamagedLog):
    """Not damage, but no format that is read here: messages from before Kafka 0.11 (v0, v1)."""

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
