"""What all logs of a node share: the ports to disk, time and threads, and who hears of failures.

Does nothing: it is handed from the node to each log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from protocol.frames.frame_memory import Allocate
from storage.filesystem import Filesystem
from storage.log.descriptors import Descriptors
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.write_back import WriteBack
from storage.ports import Blocking, Scheduler


@dataclass(frozen=True, slots=True)
class LogEnvironment:
    """What all logs of a node share. `random_below(n)` gives a number from 0 to n-1, for
    `segment.jitter.ms`."""

    filesystem: Filesystem
    scheduler: Scheduler
    blocking: Blocking
    failures: LogDirFailureChannel
    producer_id_expiration_ms: int = 86_400_000
    random_below: Callable[[int], int] = field(default=lambda _: 0)
    verifies_transactions: bool = False
    """`transaction.partition.verification.enable`, as brokers have it for their partitions."""
    allocate: Allocate = bytearray
    """Makes buffers for what large batches unpack to."""
    write_back: WriteBack = field(default_factory=WriteBack)
    descriptors: Descriptors = field(default_factory=Descriptors)

    def apart(self) -> LogEnvironment:
        """The same for a log that waits for no descriptor that others have taken: the metadata's,
        whose failure ends the node."""
        return replace(self, descriptors=Descriptors())
