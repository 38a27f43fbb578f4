"""The faults of processes, disks and links, drawn from the seed.

A process dies between two events or in the middle of one: before the n-th change of the disk from
now on, so that a request can be half done. A disk that fails takes its log directory offline; if it
is the only one, the process ends. Every process is started again after a while. Links between nodes
are cut in both directions, in one, or only between some nodes. Processes pause, and clocks jump.
The node that a fault hits is chosen when it happens.

There are never more faults than the promise covers. A fault that destroys data (loss of power, an
empty disk) hits one node of a cluster, while another is in sync with each partition. Until the
damaged node is in sync again, no process dies.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Callable
from itertools import pairwise

from ground.sim_scheduler import SimScheduler
from simulation.faults.faults import DEADLY, DESTROYING, FaultRates, weights
from simulation.invariants.invariant import Promises
from simulation.machines.sim_broker import SimBroker
from simulation.machines.simulated_nodes import SimulatedNodes
from simulation.network.sim_network import SimNetwork


class Nemesis:
    """The source of all faults of a run."""

    def __init__(
        self,
        world: SimScheduler,
        network: SimNetwork,
        seed: str,
        faults: FaultRates,
        view: SimulatedNodes,
        promises: Promises,
        tell: Callable[[str], None],
        *,
        power_lost: Callable[[SimBroker], None] = lambda _broker: None,
        clients: Callable[[], list[str]] = list,
    ) -> None:
        """`tell` gets a line for each fault. `power_lost` is called with a node whose disk may lose
        data. `clients` returns the names of the clients' machines."""
        self._world = world
        self._network = network
        self._chance = random.Random(f"{seed}/nemesis")
        self._faults = faults
        self._view = view
        self._nodes = view.nodes
        self._promises = promises
        self._tell = tell
        self._power_lost = power_lost
        self._clients = clients
        self.healing = False
        self.counts: dict[str, int] = {}
        self._damaged: SimBroker | None = None
        self._kept_down: dict[SimBroker, None] = {}
        self._weights = weights(faults)

    def start(self) -> None:
        """Schedule the first random fault; each schedules the next, until `heal`."""
        self._schedule_next()

    def _schedule_next(self) -> None:
        """Schedule the next random fault after a random interval."""
        interval = self._chance.expovariate(1 / self._faults.mean_interval_ms)
        self._world.call_later(interval, self._strike_and_repeat)

    def _strike_and_repeat(self) -> None:
        """Schedule the next fault and strike with a random one, unless the run is healing.

        The fault is left out if it may not happen now.
        """
        if self.healing:
            return
        self._schedule_next()
        kind = self._chance.choices(list(self._weights), list(self._weights.values()))[0]
        if self.may(kind):
            self.strike(kind)

    def strike(self, kind: str) -> None:
        """Cause a fault of this kind; the node or link is drawn now. Nothing happens if the drawn
        node is dead or cannot have this fault."""
        getattr(self, f"_{kind}")()

    def may(self, kind: str) -> bool:
        """Return whether a fault of this kind may happen now, after which no data may be lost.

        After a loss of a node's data, False for faults that end processes until the node is in sync
        again. Always True with a single node.
        """
        if len(self._nodes) == 1:
            return True
        if self._damaged is not None and self._view.is_healthy(self._damaged):
            self._damaged = None
        if kind in DESTROYING:
            return self._damaged is None and self._about_to_die() is None
        return self._damaged is None or kind not in DEADLY

    def _about_to_die(self) -> SimBroker | None:
        """Return a node that is to die in one of its next writes; None: there is none."""
        return next((node for node in self._nodes if node.disk.die_at is not None), None)

    def _count_and_tell(self, kind: str, target: str) -> None:
        """Count a fault of this kind, and add it to the trace."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self._tell(f"nemesis: {kind} of {target}")

    def _living_node(self) -> SimBroker | None:
        """Draw a node; return None if the drawn one is not alive."""
        node = self._chance.choice(self._nodes)
        return node if node.alive else None

    def _random_leader(self) -> SimBroker | None:
        """Return the live leader of a random partition.

        Returns None without partitions, or if that one has no live leader.
        """
        registrations = self._view.registrations()
        if not registrations:
            return None
        node = self._view.node(self._chance.choice(registrations)[3].leader)
        return node if node is not None and node.alive else None

    # --- deaths --------------------------------------------------------------------------------

    def _kill(self) -> None:
        """Kill a random node, unless it is dead."""
        self._kill_node("kill", self._living_node())

    def _kill_leader(self) -> None:
        """Kill the leader of a random partition, if it is alive."""
        self._kill_node("kill_leader", self._random_leader())

    def _kill_coordinator(self) -> None:
        """Kill the transaction coordinator or, in half of the cases, the group coordinator."""
        node = self._view.transaction_coordinator()
        if node is None or self._chance.random() < 0.5:
            node = self._view.coordinator()
        self._kill_node("kill_coordinator", node)

    def _kill_share_coordinator(self) -> None:
        """Kill the share coordinator, if there is one."""
        self._kill_node("kill_share_coordinator", self._view.share_coordinator())

    def _kill_controller(self) -> None:
        """Kill the active controller, if there is one."""
        self._kill_node("kill_controller", self._view.active_controller())

    def _kill_node(self, kind: str, node: SimBroker | None) -> None:
        """Kill a node, unless it is None or dead, as a fault of this kind in counts and trace."""
        if node is not None and node.alive:
            self._count_and_tell(kind, node.address)
            node.kill()

    def _kill_all(self) -> None:
        """Kill all nodes that are alive."""
        for node in self._nodes:
            self._kill_node("kill_all", node)

    def _kill_voters(self) -> None:
        """Kill the active controller. For three seconds after that, kill a node with a chance of
        one half whenever its epoch rises."""
        leader = self._view.active_controller()
        if leader is None:
            return
        self._kill_node("kill_voters", leader)
        self._watch_votes(self._world.now_ms + 3_000.0, {})

    def _watch_votes(self, until_ms: float, epochs: dict[str, int]) -> None:
        """Look every 2 ms until `until_ms`, and kill a node whose quorum epoch has risen, with a
        chance of one half. `epochs` has the epochs seen so far.

        Stops at the run's healing or once a node is damaged.
        """
        if self.healing or self._world.now_ms > until_ms or self._damaged is not None:
            return
        for node in self._nodes:
            if node.node is None:
                continue
            epoch = node.node.controller.raft.epoch
            if epoch > epochs.setdefault(node.address, epoch):
                epochs[node.address] = epoch
                if self._chance.random() < 0.5:
                    self._kill_node("kill_voters", node)
        self._world.call_later(2.0, lambda: self._watch_votes(until_ms, epochs))

    def _die_in_a_write(self) -> None:
        """Let a random live node die before or in one of its disk's next 31 changes."""
        node = self._living_node()
        if node is not None:
            self._count_and_tell("die_in_a_write", node.address)
            node.disk.die_in(self._chance.randint(0, 30), self._chance.choice([0.0, 0.3, 0.9, 1.0]))

    def _stop(self) -> None:
        """Stop a random node cleanly, as SIGTERM does, if it serves and is not paused."""
        node = self._living_node()
        if node is not None and node.serving and not node.paused and not node.stopping:
            self._count_and_tell("stop", node.address)
            node.stop(lambda: None)

    # --- disks and power -------------------------------------------------------------------------

    def _disk_error(self) -> None:
        """Let a random operation of a live node's disk fail, now or after up to 20 others."""
        node = self._living_node()
        if node is None:
            return
        self._count_and_tell("disk_error", node.address)
        operation = self._chance.choice(["append", "append", "sync", "replace", "rename"])
        number = self._chance.choice([errno.EIO, errno.ENOSPC])
        folder = self._chance.choice(node.config.log_dirs)
        skip = self._chance.randint(0, 20)
        node.disk.inject(operation, number, skip=skip, path_part=f"{folder}/")

    def _disk_full(self) -> None:
        """Leave a live node's disk at most 2,000 free bytes for one to five seconds."""
        node = self._living_node()
        if node is None:
            return
        self._count_and_tell("disk_full", node.address)
        disk = node.disk
        disk.limit(disk.used_bytes() + self._chance.randint(0, 2_000))
        self._world.call_later(self._chance.uniform(1_000.0, 5_000.0), lambda: disk.limit(None))

    def _power_loss(self) -> None:
        """Cut a node's power: what its disk had not synced is lost.

        Does nothing if the drawn node is dead or cannot be spared.
        """
        node = self._living_node()
        if node is None or not self._can_be_spared(node):
            return
        self._count_and_tell("power_loss", node.address)
        self._note_damage(node)
        self._power_lost(node)
        node.lose_power(self._chance)

    def _wipe(self) -> None:
        """Kill a broker and empty its log directories, but not the metadata's. Does nothing if the
        drawn node is no broker or cannot be spared."""
        node = self._living_node()
        if node is None or not node.is_broker or not self._can_be_spared(node):
            return
        self._count_and_tell("wipe", node.address)
        self._note_damage(node)
        self._power_lost(node)
        node.kill()
        node.wipe()

    def _can_be_spared(self, node: SimBroker) -> bool:
        """Return whether all other nodes run, and each partition has a replica in sync among them.
        Always True with a single node."""
        if len(self._nodes) == 1:
            return True
        running = [
            other.node_id
            for other in self._nodes
            if other is not node and other.serving and not other.paused and not other.stopping
        ]
        isrs = [registration.isr for _, _, _, registration in self._view.registrations()]
        return len(running) == len(self._nodes) - 1 and all(
            any(member in running for member in isr) for isr in isrs
        )

    def _note_damage(self, node: SimBroker) -> None:
        """Set the damaged node, so that no process dies until that node is in sync again.

        With a single node, acknowledged records may be lost too: the promises get the time.
        """
        if len(self._nodes) == 1:
            self._promises.lose_power(self._world.now_ms)
        self._damaged = node

    # --- processes and clocks --------------------------------------------------------------------

    def _pause(self) -> None:
        """Pause a random node for two to eight seconds, if it is alive."""
        self._pause_node("pause", self._living_node())

    def _pause_leader(self) -> None:
        """Pause the leader of a random partition for two to eight seconds, if it is alive."""
        self._pause_node("pause_leader", self._random_leader())

    def _pause_controller(self) -> None:
        """Pause the active controller for two to eight seconds, if there is one."""
        self._pause_node("pause_controller", self._view.active_controller())

    def _pause_node(self, kind: str, node: SimBroker | None) -> None:
        """Pause a node for two to eight seconds, unless it is dead or paused."""
        if node is None or not node.alive or node.paused:
            return
        self._count_and_tell(kind, node.address)
        node.pause()
        self._world.call_later(
            self._chance.uniform(2_000.0, 8_000.0), lambda: node.resume(self._chance)
        )

    def _clock(self) -> None:
        """Set a live node's wall clock five seconds or half an hour ahead of the world's, or as far
        behind it."""
        node = self._living_node()
        if node is not None:
            self._count_and_tell("clock", node.address)
            node.set_clock(self._chance.choice([-1_800_000, -5_000, 5_000, 1_800_000]))

    # --- links ---------------------------------------------------------------------------------

    def _isolate(self) -> None:
        """Isolate a random node for one to eight seconds, if it is alive."""
        self._isolate_node("isolate", self._living_node())

    def _isolate_leader(self) -> None:
        """Isolate the leader of a random partition for one to eight seconds, if it is alive."""
        self._isolate_node("isolate_leader", self._random_leader())

    def _isolate_controller(self) -> None:
        """Isolate the active controller for one to eight seconds, if there is one."""
        self._isolate_node("isolate_controller", self._view.active_controller())

    def _isolate_node(self, kind: str, node: SimBroker | None) -> None:
        """Cut a node off from the other nodes, in both directions, for one to eight seconds;
        sometimes from the clients too. None: nothing happens."""
        if node is None:
            return
        self._count_and_tell(kind, node.address)
        others = [other.address for other in self._nodes if other is not node]
        if self._chance.random() < 0.3:
            others += self._clients()
        links = [(node.address, other) for other in others]
        self._cut([*links, *((target, source) for source, target in links)])

    def _one_way(self) -> None:
        """Cut a random node's link to another for a while; the opposite direction stays whole."""
        source, target = self._chance.sample(self._nodes, 2)
        self._count_and_tell("one_way", f"{source.address} → {target.address}")
        self._cut([(source.address, target.address)])

    def _partial(self) -> None:
        """Cut two nodes from each other for a while; the others still reach both."""
        first, second = self._chance.sample(self._nodes, 2)
        self._count_and_tell("partial", f"{first.address} and {second.address}")
        self._cut([(first.address, second.address), (second.address, first.address)])

    def _ring(self) -> None:
        """Cut all links for a while, but those in a ring: each node reaches two others. Nothing
        happens with fewer than five nodes; with five, each has a majority with its neighbours."""
        if len(self._nodes) < 5:
            return
        self._count_and_tell("ring", "all")
        order = self._chance.sample([node.address for node in self._nodes], len(self._nodes))
        near = {frozenset(pair) for pair in pairwise([*order, order[0]])}
        self._cut(
            [(a, b) for a in order for b in order if a != b and frozenset((a, b)) not in near]
        )

    def _cut_client(self) -> None:
        """Cut a client from a node for a while, in either direction or both."""
        node = self._chance.choice(self._nodes)
        if not self._clients():
            return
        client = self._chance.choice(self._clients())
        self._count_and_tell("cut_client", f"{client} and {node.address}")
        ways = [(client, node.address), (node.address, client)]
        self._cut(self._chance.choice([ways, ways[:1], ways[1:]]))

    def _slow_links(self) -> None:
        """Delay the messages from a random node to another by up to 300 or 1,500 ms, until
        `heal`."""
        source, target = self._chance.sample(self._nodes, 2)
        self._count_and_tell("slow_links", f"{source.address} → {target.address}")
        self._network.links.slow(
            source.address, target.address, self._chance.choice([300.0, 1_500.0])
        )

    def _cut(self, links: list[tuple[str, str]]) -> None:
        """Cut the links, and mend them after one to eight seconds."""
        for source, target in links:
            self._network.links.cut(source, target)

        def mend() -> None:
            for source, target in links:
                self._network.links.mend(source, target)

        self._world.call_later(self._chance.uniform(1_000.0, 8_000.0), mend)

    # --- restarts and the heal -----------------------------------------------------------------

    def ended(self, broker: SimBroker) -> None:
        """Schedule the next start of an ended process, after a random time."""
        downtime = self._chance.random() * self._faults.longest_downtime_ms
        if self._chance.random() < self._faults.quick_restarts:
            downtime = self._chance.random() * 100.0
        self._world.call_later(downtime, lambda: self._start(broker))

    def _start(self, broker: SimBroker) -> None:
        """Start a broker, unless it is alive or is kept down."""
        if not broker.alive and broker not in self._kept_down:
            broker.start()

    def keep_down(self, broker: SimBroker) -> None:
        """Do not start this process again, whatever ends it, until `allow_start` or `heal`."""
        self._kept_down[broker] = None

    def allow_start(self, broker: SimBroker) -> None:
        """Allow this process to be started again."""
        self._kept_down.pop(broker, None)

    def heal(self) -> None:
        """End all faults for the rest of the run: restore links, disks and paused processes, and
        start each process that is not alive.

        A broker with a failed log directory is killed and started again.
        """
        self.healing = True
        self._kept_down.clear()
        self._network.links.heal()
        for broker in self._nodes:
            broker.resume(self._chance)
            broker.disk.live_on()
            broker.disk.limit(None)
            broker.disk.heal()
            if broker.node is not None and broker.node.failures.offline_dirs():
                broker.kill()  # a failed log directory is used again only after a restart
            self._start(broker)
