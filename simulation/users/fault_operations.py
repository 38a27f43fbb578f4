"""The operations of a user's scenario on the cluster itself: faults, and facts that no client
knows.

Each operation is a generator, like those of clients. Brokers are named by their ids; machines by a
broker's id or a client's name.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Protocol

from ottla.testing.frames import Json
from protocol.errors import ErrorCode
from simulation.faults.nemesis import Nemesis
from simulation.invariants.invariant import Promises
from simulation.machines.sim_broker import SimBroker
from simulation.machines.simulated_nodes import SimulatedNodes
from simulation.network.sim_network import SimNetwork
from simulation.sim_client import Waits
from simulation.users.plain_messages import WrongRequest, api_of
from simulation.users.user_client import TIMED_OUT, UserOperationFailed
from testbed.faults.faults import FaultRules as RequestFaults
from testbed.faults.of_node import faults_of
from testbed.faults.rule import Aim, Deed, Rule

LOOK_MS = 10.0
WITHIN_MS = 20_000.0


class FaultableRun(Protocol):
    """The run, as these operations use it."""

    network: SimNetwork
    view: SimulatedNodes
    nemesis: Nemesis
    promises: Promises

    def tell(self, text: str) -> None:
        """Add a line to the trace and to the user's timeline."""

    def end_faults(self) -> None:
        """End all faults; see `cluster.heal()`."""


class FaultOperations:
    """The operations of one run, with the faults of requests that are in force."""

    def __init__(self, run: FaultableRun, seed: int) -> None:
        self._run = run
        self._chance = random.Random(f"{seed}/by-hand")
        self._rules: dict[str, tuple[Rule, list[int] | None]] = {}
        self._faults: dict[SimBroker, RequestFaults] = {}
        self._operations: dict[str, Callable[..., Waits]] = {
            "sleep": self.sleep,
            "kill": self.kill,
            "stop": self.stop,
            "start": self.start,
            "pause": self.pause,
            "resume": self.resume,
            "cut": self.cut,
            "mend": self.mend,
            "slow": self.slow,
            "clock": self.clock,
            "heal": self.heal,
            "leader": self.leader,
            "controller": self.controller,
            "fail": self.fail,
            "lift": self.lift,
        }

    def operation(self, name: str, args: Mapping[str, Json]) -> Waits:
        """Return the generator of the operation of this name."""
        return self._operations[name](**args)

    def node_made(self, broker: SimBroker) -> None:
        """Add the rules for requests that hold for this broker, which has just been started."""
        self._faults.pop(broker, None)  # the faults of its previous life
        for key, (rule, brokers) in self._rules.items():
            if brokers is None or broker.node_id in brokers:
                self._faults_of(broker).add(key, rule)

    def sleep(self, ms: float) -> Waits:
        """Let `ms` of virtual time pass."""
        yield ms
        return None

    # --- processes -----------------------------------------------------------------------------

    def kill(self, broker: int) -> Waits:
        """Kill a broker's process; it stays down until it is started or all is healed."""
        node = self._node(broker)
        self._run.nemesis.keep_down(node)
        if node.alive:
            self._run.tell(f"the scenario kills {node.address}")
            node.kill()
        yield 0.0

    def stop(self, broker: int) -> Waits:
        """Stop a broker cleanly, and wait until its process has ended; it stays down until it is
        started or all is healed. Raises UserOperationFailed after WITHIN_MS."""
        node = self._node(broker)
        self._run.nemesis.keep_down(node)
        if node.serving and not node.stopping:
            self._run.tell(f"the scenario stops {node.address}")
            node.stop(lambda: None)
        yield from self._until(lambda: not node.alive, f"{node.address} has not stopped")

    def start(self, broker: int) -> Waits:
        """Start a broker, unless it is alive, and wait until it serves. Raises UserOperationFailed
        after WITHIN_MS."""
        node = self._node(broker)
        self._run.nemesis.allow_start(node)
        if not node.alive:
            self._run.tell(f"the scenario starts {node.address}")
            node.start()
        yield from self._until(lambda: node.serving, f"{node.address} does not serve")

    def pause(self, broker: int) -> Waits:
        """Pause a broker's process, as SIGSTOP does."""
        node = self._node(broker)
        if node.alive and not node.paused:
            self._run.tell(f"the scenario pauses {node.address}")
            node.pause()
        yield 0.0

    def resume(self, broker: int) -> Waits:
        """Resume a broker's process, as SIGCONT does."""
        node = self._node(broker)
        self._run.tell(f"the scenario resumes {node.address}")
        node.resume(self._chance)
        yield 0.0

    def clock(self, broker: int, ms: int) -> Waits:
        """Set a broker's wall clock `ms` ahead of the others."""
        self._run.tell(f"the scenario sets the clock of broker-{broker} {ms} ms ahead")
        self._node(broker).set_clock(ms)
        yield 0.0

    # --- links ---------------------------------------------------------------------------------

    def cut(self, source: int | str, target: int | str, both: bool) -> Waits:
        """Cut the link from `source` to `target`; with `both`, the opposite one too."""
        source_name, target_name = self._machine(source), self._machine(target)
        self._run.tell(f"the scenario cuts {source_name} {'and' if both else '→'} {target_name}")
        self._run.network.links.cut(source_name, target_name)
        if both:
            self._run.network.links.cut(target_name, source_name)
        yield 0.0

    def mend(self, source: int | str, target: int | str) -> Waits:
        """Restore the links in both directions; what they held arrives then."""
        source_name, target_name = self._machine(source), self._machine(target)
        self._run.tell(f"the scenario mends {source_name} and {target_name}")
        self._run.network.links.mend(source_name, target_name)
        self._run.network.links.mend(target_name, source_name)
        yield 0.0

    def slow(self, source: int | str, target: int | str, ms: float) -> Waits:
        """Delay all that goes from `source` to `target` by up to `ms`."""
        source_name, target_name = self._machine(source), self._machine(target)
        self._run.tell(f"the scenario slows {source_name} → {target_name} by {ms:g} ms")
        self._run.network.links.slow(source_name, target_name, ms)
        yield 0.0

    def heal(self) -> Waits:
        """End all faults, those of the nemesis too, for the rest of the run, and wait until all
        brokers serve. Raises UserOperationFailed after WITHIN_MS."""
        self._run.end_faults()
        nodes = self._run.view.nodes
        yield from self._until(lambda: all(node.serving for node in nodes), "not all brokers serve")

    # --- requests --------------------------------------------------------------------------------

    def fail(self, key: str, rule: Mapping[str, Json], brokers: list[int] | None) -> Waits:
        """Add a fault of requests under `key`, at these brokers (None: all). From then on, the
        invariants allow that requests fail. Raises WrongRequest at an unknown error or API."""
        new_rule = _rule_of(rule)
        self._run.promises.interfere()
        self._run.tell(f"the scenario asks for a fault: {rule}")
        self._rules[key] = (new_rule, brokers)
        for node in self._run.view.brokers:
            if node.alive and (brokers is None or node.node_id in brokers):
                self._faults_of(node).add(key, new_rule)
        yield 0.0

    def lift(self, key: str) -> Waits:
        """Remove a fault of requests, and return how many requests it applied to."""
        rule, _ = self._rules.pop(key, (None, None))
        for faults in self._faults.values():
            faults.lift(key)
        yield 0.0
        return 0 if rule is None else rule.applied

    def lift_all(self) -> None:
        """Remove all faults of requests."""
        self._rules.clear()
        for faults in self._faults.values():
            faults.clear()

    def _faults_of(self, broker: SimBroker) -> RequestFaults:
        """Return the faults of a broker's present process; create them at the first use."""
        faults = self._faults.get(broker)
        if faults is None:
            assert broker.node is not None
            faults = self._faults[broker] = faults_of(broker.node)
        return faults

    # --- facts ------------------------------------------------------------------------------------

    def leader(self, topic: str, partition: int) -> Waits:
        """Return the id of a partition's leader, as soon as that broker serves. Raises
        UserOperationFailed after WITHIN_MS."""
        view = self._run.view

        def is_led() -> bool:
            leader = view.leader(topic, partition)
            return leader is not None and leader.serving

        yield from self._until(is_led, f"nobody leads {topic}-{partition}")
        leader = view.leader(topic, partition)
        assert leader is not None
        return leader.node_id

    def controller(self) -> Waits:
        """Return the id of the active controller, as soon as there is one. Raises
        UserOperationFailed after WITHIN_MS."""
        view = self._run.view
        yield from self._until(lambda: view.active_controller() is not None, "no controller")
        controller = view.active_controller()
        assert controller is not None
        return controller.node_id

    def _until(self, condition: Callable[[], bool], otherwise: str) -> Waits:
        """Let time pass until the condition holds. Raises UserOperationFailed, with the text
        `otherwise`, after WITHIN_MS of virtual time."""
        waited_ms = 0.0
        while not condition():
            if waited_ms >= WITHIN_MS:
                raise UserOperationFailed(TIMED_OUT, f"{otherwise} within {WITHIN_MS / 1000:g} s")
            yield LOOK_MS
            waited_ms += LOOK_MS

    def _node(self, broker: int) -> SimBroker:
        """Return the node of this id. Raises WrongRequest if there is none."""
        node = self._run.view.node(broker)
        if node is None:
            ids = ", ".join(str(other.node_id) for other in self._run.view.nodes)
            raise WrongRequest(f"no broker {broker}: there are {ids}")
        return node

    def _machine(self, name: int | str) -> str:
        """Return a machine's name: that of a broker for its id, else the client's name itself."""
        return self._node(name).address if isinstance(name, int) else name


def _rule_of(fields: Mapping[str, Json]) -> Rule:
    """Return the rule of a fault that a user has described. Raises WrongRequest."""
    name = fields.get("error")
    if name is not None and name not in ErrorCode.__members__:
        raise WrongRequest(f"no error {name}: as Kafka calls it, for example REQUEST_TIMED_OUT")
    aim = Aim(
        None if fields.get("api") is None else api_of(fields["api"]),
        fields.get("topic"),
        fields.get("group"),
        fields.get("transactional_id"),
        fields.get("client_id"),
    )
    return Rule(
        aim,
        Deed(fields["deed"]),
        ErrorCode.NONE if name is None else ErrorCode[name],
        delay_ms=float(fields.get("delay_ms") or 0.0),
        after=int(fields.get("after") or 0),
        times=fields.get("times"),
        probability=float(fields.get("probability", 1.0)),
        seed=int(fields.get("seed") or 0),
    )
