"""The environment of a node's logs: the ports to disk, time and threads, and the failure channel.

It has no behaviour; the node passes it to each log.
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
    """The objects that all logs of a node share.

    `random_below(n)` returns a number from 0 to n-1, for `segment.jitter.ms`.
    """

    filesystem: Filesystem
    scheduler: Scheduler
    blocking: Blocking
    failures: LogDirFailureChannel
    producers: ProducerRules = field(default_factory=ProducerRules)
    random_below: Callable[[int], int] = field(default=lambda _: 0)
    allocate: Allocate = bytearray
    """The allocator of buffers for large decompressed batches."""
    write_back: WriteBack = field(default_factory=WriteBack)
    descriptors: Descriptors = field(default_factory=Descriptors)

    def apart(self) -> LogEnvironment:
        """Return the environment for the metadata log, with a separate limit of descriptors.

        A failure of that log ends the node, so it must not wait for descriptors that other logs
        use.
        """
        return replace(self, descriptors=Descriptors())
