"""What all logs of a node share: the ports to disk, time and threads, and who hears of failures.

Does nothing: it is handed from the node to each log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ground.filesystem import Filesystem
from ground.ports import Blocking, Scheduler
from protocol.frames.frame_memory import Allocate
from storage.log.descriptors import Descriptors
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.producer_rules import ProducerRules
from storage.log.write_back import WriteBack


@dataclass(frozen=True, slots=True)
class LogEnvironment:
    """What all logs of a node share. `random_below(n)` gives a number from 0 to n-1, for
    `segment.jitter.ms`."""

    filesystem: Filesystem
    scheduler: Scheduler
    blocking: Blocking
    failures: LogDirFailureChannel
    producers: ProducerRules = field(default_factory=ProducerRules)
    random_below: Callable[[int], int] = field(default=lambda _: 0)
    allocate: Allocate = bytearray
    """Makes buffers for what large batches unpack to."""
    write_back: WriteBack = field(default_factory=WriteBack)
    descriptors: Descriptors = field(default_factory=Descriptors)

    def apart(self) -> LogEnvironment:
        """The same for a log that waits for no descriptor that others have taken: the metadata's,
        whose failure ends the node."""
        return replace(self, descriptors=Descriptors())
