"""One node in the simulator: a `Node` on a disk in memory that can die and be started again.

Owns the process and its machine: ports, disk, clock, lives. A life is the time between a start of
the process and its end. `kill()` is process death: memory is lost, written bytes stay.
`lose_power()` also loses or tears writes that were not fsynced, and the other ends of connections
get no notice. `pause()` is SIGSTOP. `stop(done)` is the clean stop of `broker.process.server`. If
the node asks its supervisor to end it (`halt`), that life ends; the simulation decides when the
next one begins.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from broker.config.endpoints import EndPoint
from broker.config.parse import single_node_config
from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from broker.network.server.request_channel import ConnectionContext
from broker.node.node import Node
from broker.node.node_ports import NodePorts
from broker.node.preparation.storage_folders import format_storage, is_formatted, open_storage
from broker.replication.replica_manager import ReplicaManager
from broker.requests.interference import ReplyPath
from controller.metadata.image import MetadataImage
from controller.storage_format import LogDirectories
from ground.memory_filesystem import Died, MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from simulation.network.sim_network import CLIENT_PORT, SimNetwork
from simulation.network.sim_node_network import SimNodeNetwork
from simulation.sim_process import ProcessBlocking, ProcessScheduler
from storage.directories.log_dirs import read_meta_properties, write_meta_properties

DATA = "/data"
CONTROLLER_PORT = 9093
CLUSTER_ID = "c2ltdWxhdGVkLWNsdXN0ZX"

MakeNode = Callable[[BrokerConfig, NodePorts, LogDirectories], Node]


class SimBroker:
    """A node and its machine. `address` is the machine's name, to which clients connect."""

    def __init__(
        self,
        world: SimScheduler,
        network: SimNetwork,
        seed: str,
        node_id: int,
        properties: Mapping[str, str],
        make_node: MakeNode = Node,
    ) -> None:
        """Build the machine, with an empty disk, and the node's configuration. No process runs
        before `start`."""
        self.world = world
        self.node_id = node_id
        self.address = f"broker-{node_id}"
        self.seed = f"{seed}/{self.address}"
        self.disk = MemoryFilesystem(world.wall_ms)
        self.life = 0
        self.clean = True
        """Whether the last life ended in a clean stop."""
        self.last_image = MetadataImage()
        """The metadata that the last life had read at its end."""
        self.lost_a_dir = False
        """Whether a log directory was offline when the last life ended."""
        self.dark = False
        """Whether the machine has no power."""
        self.node: Node | None = None
        self.serving = False
        self.pause_began_ms = 0.0
        """The time of the last `pause`, in ms of the world."""
        self.paused_ms = 0.0
        """The time until which its time-outs were suspended: that of the last `resume`, or of the
        last `pause` if the process died while paused."""
        self.epochs: list[int] = []
        self.on_made: Callable[[SimBroker], None] = lambda _broker: None
        self.on_served: Callable[[SimBroker], None] = lambda _broker: None
        self.on_ended: Callable[[SimBroker, str], None] = lambda _broker, _why: None
        self.on_ran: Callable[[SimBroker], None] = lambda _broker: None
        self._network = network
        self._make_node = make_node
        self._halted: str | None = None
        self._stopping = False
        self._scheduler: ProcessScheduler | None = None
        self._links: SimNodeNetwork | None = None
        self._pools: list[ProcessBlocking] = []
        self.config = single_node_config(
            {
                "node.id": str(node_id),
                "listeners": f"PLAINTEXT://{self.address}:{CLIENT_PORT}",
                "log.dirs": DATA,
                **properties,
            }
        )

        self.is_broker = bool(self.config.is_broker)
        """Whether the node has the broker role."""

    def call_when_made(self, made: Callable[[SimBroker], None]) -> None:
        """Set the function that is called when a life begins, before the node starts."""
        self.on_made = made

    def tell(
        self,
        *,
        served: Callable[[SimBroker], None],
        ended: Callable[[SimBroker, str], None],
        ran: Callable[[SimBroker], None],
    ) -> None:
        """Set the functions that are called when the node serves, when its process ends (with the
        reason), and after each of its callbacks."""
        self.on_served, self.on_ended, self.on_ran = served, ended, ran

    @property
    def alive(self) -> bool:
        """Whether there is a process, serving or not."""
        return self.node is not None

    @property
    def paused(self) -> bool:
        return self._scheduler is not None and self._scheduler.paused

    @property
    def stopping(self) -> bool:
        """Whether a clean stop is under way."""
        return self._stopping and self.alive

    @property
    def replicas(self) -> ReplicaManager:
        """The replica manager of a broker that is alive."""
        assert self.node is not None and self.node.broker is not None
        return self.node.broker.parts.replicas

    # --- the network's `SimServer` ----------------------------------------------------------------

    def listens(self, port: int) -> bool:
        """Return whether connections are accepted: on the controller port as soon as a controller
        runs, on any other port once a broker serves."""
        if port != CONTROLLER_PORT:
            return self.serving and self.is_broker
        return self.node is not None and self.node.controller_server is not None

    def listener_name(self, port: int) -> str:
        """Return CONTROLLER for the controller port, PLAINTEXT for any other port."""
        return "CONTROLLER" if port == CONTROLLER_PORT else "PLAINTEXT"

    def arrive(self, callback: Callable[[], None]) -> None:
        """Call `callback` in the process: at once, or when it is resumed; not after its end."""
        assert self._scheduler is not None
        self._scheduler.arrive(callback)

    def run_later(self, delay_ms: float, callback: Callable[[], None]) -> None:
        """Call `callback` in the process after a delay, unless the process ends before."""
        assert self._scheduler is not None
        self._scheduler.call_later(delay_ms, callback)

    def handle(
        self, port: int, context: ConnectionContext, frame: memoryview, reply: ReplyPath
    ) -> None:
        """Pass a request to the controller's or the broker's APIs, by its port."""
        assert self.node is not None
        if port == CONTROLLER_PORT:
            assert self.node.controller_server is not None
            self.node.controller_server.requests.handle(context, frame, reply)
        else:
            self.node.handle(context, frame, reply)

    def connection_closed(self, port: int, connection_id: str) -> None:
        """Pass the end of a connection to the controller's probe or to the broker, by its port."""
        if self.node is None:
            return
        controllers, broker = self.node.controller_server, self.node.broker
        if port == CONTROLLER_PORT:
            if controllers is not None:
                controllers.probe.connection_closed(connection_id)
        elif broker is not None:
            broker.connection_closed(connection_id)

    # --- up ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin a life: format the storage if that is missing, and start the node.

        `on_served` is called when clients may connect. If the start fails, the life ends, and
        `on_ended` gets the reason.
        """
        assert self.node is None
        self.life += 1
        self.dark = False
        self._halted = None
        self._stopping = False
        life = self.life
        # Sometimes the wall clock was set between two lives.
        skew_ms = random.Random(f"{self.seed}/clock-{life}").choice([0, 0, 0, -90_000, 90_000])
        scheduler = ProcessScheduler(
            self.world, skew_ms, self.address, on_ran=lambda: self.on_ran(self)
        )
        chance = random.Random(f"{self.seed}/life-{life}")
        io = ProcessBlocking(scheduler, chance, self.config.num_io_threads, 60.0)
        background = ProcessBlocking(scheduler, chance, self.config.background_threads, 300.0)
        self._scheduler, self._pools = scheduler, [io, background]
        self._links = SimNodeNetwork(self._network, self.address, scheduler)
        ports = NodePorts(
            filesystem=self.disk,
            scheduler=scheduler,
            io=io,
            background=background,
            network=self._links,
            random_bytes=chance.randbytes,
            halt=self._halt,
        )
        try:
            self._format(ports)
            storage = open_storage(self.config, self.disk, chance.randbytes, scheduler.wall_ms())
            self.node = self._make_node(self.config, ports, storage)
        except (OSError, StartError) as error:
            self.disk.kill()
            self._end(f"did not start: {error}")
            return
        self.on_made(self)
        endpoints = [replace(listener, port=CLIENT_PORT) for listener in self._advertised()]
        controllers = [
            replace(listener, host=self.address, port=CONTROLLER_PORT)
            for listener in self.config.controller_listeners
        ]
        self.node.start(endpoints, lambda error: self._take_start_result(life, error), controllers)

    def _format(self, ports: NodePorts) -> None:
        """Format the storage with the cluster id, unless it is formatted or this is the only
        node."""
        is_cluster = len(self._network.servers) > 1
        if is_cluster and not is_formatted(self.config, self.disk):
            now_ms = ports.scheduler.wall_ms()
            format_storage(self.config, self.disk, ports.random_bytes, now_ms, CLUSTER_ID)

    def _advertised(self) -> list[EndPoint]:
        """Return the advertised listeners that serve clients, without the controller's."""
        names = {listener.listener_name for listener in self.config.broker_listeners}
        return [
            listener
            for listener in self.config.advertised_listeners
            if listener.listener_name in names
        ]

    def _take_start_result(self, life: int, error: Exception | None) -> None:
        """Begin to serve after a start, or end the process if the start failed.

        Does nothing if this life is over.
        """
        if life != self.life or self.node is None:
            return
        if error is not None:
            self.disk.kill()
            self._end(f"did not start: {error}")
            return
        self.clean = False
        self.serving = True
        self.paused_ms = max(
            self.paused_ms, self.pause_began_ms
        )  # the process may have died while paused
        if self.is_broker:
            self.epochs.append(self.node.broker_epoch())
        self.on_served(self)

    # --- while up --------------------------------------------------------------------------------

    def pause(self) -> None:
        """Stop running anything of the process, as SIGSTOP does."""
        assert self._scheduler is not None
        self.pause_began_ms = self.world.now_ms
        self._scheduler.pause()

    def resume(self, chance: random.Random) -> None:
        """Let a paused process run again, as SIGCONT does. `chance` draws whether timers or
        arrivals come first."""
        if self._scheduler is not None and self._scheduler.paused:
            self.paused_ms = self.world.now_ms
            self._scheduler.resume(chance.random() < 0.5)

    def set_clock(self, skew_ms: int) -> None:
        """Set how far the wall clock is ahead of the world's, in ms, for this life."""
        if self._scheduler is not None:
            self._scheduler.set_clock(skew_ms)

    # --- down ----------------------------------------------------------------------------------

    def kill(self) -> None:
        """End the process; written bytes stay."""
        self.disk.kill()
        self._end("killed")

    def lose_power(self, chance: random.Random) -> None:
        """Cut the machine's power: writes that were not fsynced are lost or torn."""
        self.dark = True
        self.disk.lose_power(chance)
        self._end("lost power")

    def wipe(self) -> None:
        """Replace the log directories of a dead node by those of newly formatted disks, with new
        directory ids; the metadata's directory stays."""
        assert self.node is None
        for folder in self.config.log_dirs:
            properties = read_meta_properties(self.disk, folder)
            if properties is not None and folder != self.config.metadata_log_dir:
                directory_id = random.Random(f"{self.seed}/wiped-{self.life}").randbytes(16)
                self.disk.remove_tree(folder)
                self.disk.make_dirs(folder)
                self.disk.sync_dir(folder.rpartition("/")[0] or "/")  # as formatting does
                write_meta_properties(
                    self.disk, folder, replace(properties, directory_id=directory_id)
                )

    def stop(self, done: Callable[[], None]) -> None:
        """Stop a serving node as SIGTERM does, with its leaderships handed over first, and call
        `done` when the process has ended."""
        node, life = self.node, self.life
        assert node is not None and self.serving and not self._stopping
        self._stopping = True
        node.hand_over(lambda: self._stop(life, node, done))

    def _stop(self, life: int, node: Node, done: Callable[[], None]) -> None:
        """Stop serving, wait for the pools to be idle, then flush and finish. Does nothing if this
        life is over."""
        if life != self.life or self.node is None:
            return
        self.serving = False
        node.begin_stop()
        self._when_idle(life, lambda: self._flush(life, node, done))

    def _flush(self, life: int, node: Node, done: Callable[[], None]) -> None:
        """Flush the logs, wait for the pools to be idle, then finish the stop. Does nothing if this
        life is over."""
        if life == self.life and self.node is not None:
            finish = partial(self._finish, life, node, done)
            node.flush_logs(lambda: self._when_idle(life, finish))

    def _when_idle(self, life: int, callback: Callable[[], None]) -> None:
        """Call back when no pool has work, unless this life ends before."""
        if life != self.life or self.node is None:
            return
        if any(pool.outstanding for pool in self._pools):
            self.world.call_later(5, lambda: self._when_idle(life, callback))
        else:
            callback()

    def _finish(self, life: int, node: Node, done: Callable[[], None]) -> None:
        """Finish a clean stop: end the process, then call `done`.

        Does nothing if this life is over.
        """
        if life != self.life or self.node is None:
            return
        node.finish_stop()
        self.clean = True
        self.disk.kill()
        self._end("stopped")
        done()

    def _halt(self, reason: str) -> None:
        """End this life, as the node asks for. Raises Died, so that the callers of this function do
        not continue either; the event loop catches it and calls `end_if_dead`."""
        self._halted = reason
        raise Died(reason)

    def end_if_dead(self) -> None:
        """End the process if it halted, or if its disk reached the write before which it had to
        die."""
        if self.node is not None and (self._halted is not None or self.disk.is_dead):
            why = "died in a write" if self._halted is None else f"halted: {self._halted}"
            self.disk.kill()
            self._end(why)

    def _end(self, why: str) -> None:
        """End the process: drop its node, timers and connections, and call `on_ended` with the
        reason.

        The disk is kept. Without power, the peers of connections get no notice.
        """
        assert self._scheduler is not None and self._links is not None
        self._scheduler.end()
        self._links.end(silently=self.dark)
        self.lost_a_dir = self.node is not None and bool(self.node.failures.offline_dirs())
        if self.node is not None:
            self.last_image = self.node.image
        self.node = None
        self.serving = False
        self._network.ends.process_gone(self.address, silently=self.dark)
        self.on_ended(self, why)
