"""Everything that a node has from outside: disk, time, threads, chance, the way to other nodes.

A process gives the real ones (`broker.process.server`), a test or a simulation its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker.config.dynamic import SecurityValidator, nothing_to_load
from broker.requests.tracer import Tracer
from ground.filesystem import Filesystem
from ground.ports import Blocking, Look, Network, Scheduler
from protocol.frames.frame_memory import Allocate
from storage.cleaning.cleaner_ports import CleanerRunner
from storage.log.closed_files import UNLIMITED

if TYPE_CHECKING:
    from broker.plugins.node_plugins import NodePlugins


def _for_no_known_reason(_host: str, _port: int) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class NodePorts:
    """The ports through which a node reaches disk, time, threads and network."""

    filesystem: Filesystem
    scheduler: Scheduler
    io: Blocking
    """For requests: cold reads, loading of coordinators. Its jobs hold handler slots."""
    background: Blocking
    """For flushing, deleting, recovering."""
    random_bytes: Callable[[int], bytes]
    halt: Callable[[str], None]
    """End the process at once, for this reason; nothing after it runs."""
    peers: Scheduler | None = None
    """The time in which nodes wait for each other; None: that of `scheduler`."""
    network: Network | None = None
    """The way to other brokers; None where there are no other nodes."""
    controller_network: Network | None = None
    """The way to controllers; None: the same as to brokers."""
    why_no_connection: Callable[[str, int], str] = _for_no_known_reason
    """See `ControllerSettings.why_no_connection`."""
    look: Look | None = None
    """Looks whether a broker is there to which this node has no way; None: it has one."""
    open_files_max: int = UNLIMITED
    """The limit of file descriptors (RLIMIT_NOFILE)."""
    cleaner: CleanerRunner | None = None
    """Where compaction runs; None for among the background's jobs."""
    allocate: Allocate = bytearray
    """Makes large buffers."""
    plugins: NodePlugins | None = None
    """The users' classes that the configuration names; None: there are none."""
    tracer: Tracer | None = None
    """Who follows requests that ask for it; None: nobody does."""
    validate_security: SecurityValidator = nothing_to_load
    """Whether the stores that a change to a listener names can be loaded."""

    @property
    def between_nodes(self) -> Scheduler:
        """The time of heartbeats, elections and replication."""
        return self.scheduler if self.peers is None else self.peers

    @property
    def to_controllers(self) -> Network | None:
        """The way to controllers; None where there are no other nodes."""
        return self.network if self.controller_network is None else self.controller_network
