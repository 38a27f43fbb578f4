"""The ports of a node: disk, time, threads, randomness and the network.

A process passes real ones (`broker.process.server`), a test or a simulation its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker.config.dynamic import SecurityValidator, nothing_to_load
from broker.requests.tracer import Tracer
from ground.filesystem import Filesystem
from ground.ports import Blocking, Network, ProbeAddress, Scheduler
from protocol.frames.frame_memory import Allocate
from storage.cleaning.cleaner_ports import CleanerRunner
from storage.log.closed_files import UNLIMITED

if TYPE_CHECKING:
    from broker.plugins.node_plugins import NodePlugins


def _no_explanation(_host: str, _port: int) -> str:
    """Return "": the reasons of failed connections are unknown."""
    return ""


@dataclass(frozen=True, slots=True)
class NodePorts:
    """The ports through which a node reaches disk, time, threads and network."""

    filesystem: Filesystem
    scheduler: Scheduler
    io: Blocking
    """Threads for requests: cold reads, loading of coordinators. A job holds a handler's slot."""
    background: Blocking
    """Threads for flushing, deleting and recovering logs."""
    random_bytes: Callable[[int], bytes]
    halt: Callable[[str], None]
    """Ends the process at once; gets the reason, and does not return."""
    peers: Scheduler | None = None
    """The clock for waits between nodes; None: that of `scheduler`."""
    network: Network | None = None
    """The network to other brokers; None if there are no other nodes."""
    controller_network: Network | None = None
    """The network to controllers; None: the same as to brokers."""
    why_no_connection: Callable[[str, int], str] = _no_explanation
    """Explains why a host and port could not be reached; see `ControllerSettings`."""
    probe_address: ProbeAddress | None = None
    """Checks whether a process listens at an address without logging in.

    None if this node can log in on the listener between brokers.
    """
    open_files_max: int = UNLIMITED
    """The limit of file descriptors (RLIMIT_NOFILE)."""
    cleaner: CleanerRunner | None = None
    """Runs the compaction; None: the background threads do."""
    allocate: Allocate = bytearray
    """Allocates large buffers."""
    plugins: NodePlugins | None = None
    """The users' classes that the configuration names; None if there are none."""
    tracer: Tracer | None = None
    """Traces the requests that ask for it; None if there is no tracing."""
    validate_security: SecurityValidator = nothing_to_load
    """Checks whether the stores can be loaded that a change to a listener names."""

    @property
    def between_nodes(self) -> Scheduler:
        """The clock for heartbeats, elections and replication."""
        return self.scheduler if self.peers is None else self.peers

    @property
    def to_controllers(self) -> Network | None:
        """The network to controllers; None if there are no other nodes."""
        return self.network if self.controller_network is None else self.controller_network
