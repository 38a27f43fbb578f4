"""What a user's scenario does to the cluster by hand, and asks of it that no client can know.

Each operation is a generator, as those of clients. Brokers are named by their ids, machines by
theirs: a broker's id, or a client's name.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Protocol

from ottla.testing.frames import Json
from protocol.errors import ErrorCode
from simulation.faults.nemesis import Nemesis
from simulation.invariants.invariant import Promises
from simulation.machines.cluster_view import ClusterView
from simulation.machines.sim_broker import SimBroker
from simulation.network.sim_network import SimNetwork
from simulation.sim_client import Waits
from simulation.users.plain_messages import WrongRequest, api_of
from simulation.users.user_client import TIMED_OUT, NotDone
from testbed.faults.faults import Faults as RequestFaults
from testbed.faults.of_node import faults_of
from testbed.faults.rule import Aim, Deed, Rule

LOOK_MS = 10.0
WITHIN_MS = 20_000.0


class Run(Protocol):
    """What they use of a run."""

    network: SimNetwork
    view: ClusterView
    nemesis: Nemesis
    promises: Promises

    def tell(self, text: str) -> None:
        """Say what was done."""

    def end_faults(self) -> None:
        """See `cluster.heal()`."""


class FaultOperations:
    """See the module."""

    def __init__(self, run: Run, seed: int) -> None:
        self._run = run
        self._chance = random.Random(f"{seed}/by-hand")
        self._rules: dict[str, Rule] = {}
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
        """One by its name."""
        return self._operations[name](**args)

    def node_made(self, broker: SimBroker) -> None:
        """A life of a broker begins: it has the faults that were asked for, too."""
        self._faults.pop(broker, None)  # of a life that is over
        for key, rule in self._rules.items():
            self._of(broker).add(key, rule)

    def sleep(self, ms: float) -> Waits:
        """Let time pass."""
        yield ms
        return None

    # --- processes -----------------------------------------------------------------------------

    def kill(self, broker: int) -> Waits:
        """Process death; it stays down until it is started, or all is healed."""
        node = self._node(broker)
        self._run.nemesis.keep_down(node)
        if node.alive:
            self._run.tell(f"the scenario kills {node.address}")
            node.kill()
        yield 0.0

    def stop(self, broker: int) -> Waits:
        """A clean stop; done when the process is gone."""
        node = self._node(broker)
        self._run.nemesis.keep_down(node)
        if node.serving and not node.stopping:
            self._run.tell(f"the scenario stops {node.address}")
            node.stop(lambda: None)
        yield from self._until(lambda: not node.alive, f"{node.address} has not stopped")

    def start(self, broker: int) -> Waits:
        """Done when it serves."""
        node = self._node(broker)
        self._run.nemesis.let_up(node)
        if not node.alive:
            self._run.tell(f"the scenario starts {node.address}")
            node.start()
        yield from self._until(lambda: node.serving, f"{node.address} does not serve")

    def pause(self, broker: int) -> Waits:
        """SIGSTOP."""
        node = self._node(broker)
        if node.alive and not node.paused:
            self._run.tell(f"the scenario pauses {node.address}")
            node.pause()
        yield 0.0

    def resume(self, broker: int) -> Waits:
        """SIGCONT."""
        node = self._node(broker)
        self._run.tell(f"the scenario resumes {node.address}")
        node.resume(self._chance)
        yield 0.0

    def clock(self, broker: int, ms: int) -> Waits:
        """Its clock of the day is so much ahead of the others from now on."""
        self._run.tell(f"the scenario sets the clock of broker-{broker} {ms} ms ahead")
        self._node(broker).set_clock(ms)
        yield 0.0

    # --- links ---------------------------------------------------------------------------------

    def cut(self, source: int | str, target: int | str, both: bool) -> Waits:
        """Nothing arrives from `source` at `target` any more; nor the other way."""
        one, other = self._machine(source), self._machine(target)
        self._run.tell(f"the scenario cuts {one} {'and' if both else '→'} {other}")
        self._run.network.links.cut(one, other)
        if both:
            self._run.network.links.cut(other, one)
        yield 0.0

    def mend(self, source: int | str, target: int | str) -> Waits:
        """Both ways are whole and what was held arrives."""
        one, other = self._machine(source), self._machine(target)
        self._run.tell(f"the scenario mends {one} and {other}")
        self._run.network.links.mend(one, other)
        self._run.network.links.mend(other, one)
        yield 0.0

    def slow(self, source: int | str, target: int | str, ms: float) -> Waits:
        """Everything takes up to so much longer."""
        one, other = self._machine(source), self._machine(target)
        self._run.tell(f"the scenario slows {one} → {other} by {ms:g} ms")
        self._run.network.links.slow(one, other, ms)
        yield 0.0

    def heal(self) -> Waits:
        """No fault any more, also none of the nemesis; done when all brokers serve."""
        self._run.end_faults()
        nodes = self._run.view.nodes
        yield from self._until(lambda: all(one.serving for one in nodes), "not all brokers serve")

    # --- requests --------------------------------------------------------------------------------

    def fail(self, key: str, rule: Mapping[str, Json], brokers: list[int] | None) -> Waits:
        """A fault of requests from now on, at these brokers or all."""
        made = _rule_of(rule)
        self._run.promises.interfere()
        self._run.tell(f"the scenario asks for a fault: {rule}")
        self._rules[key] = made
        for node in self._run.view.brokers:
            if node.alive and (brokers is None or node.node_id in brokers):
                self._of(node).add(key, made)
        yield 0.0

    def lift(self, key: str) -> Waits:
        """It is no more; how many requests it has met."""
        rule = self._rules.pop(key, None)
        for faults in self._faults.values():
            faults.lift(key)
        yield 0.0
        return 0 if rule is None else rule.met

    def lift_all(self) -> None:
        """No fault of requests any more."""
        self._rules.clear()
        for faults in self._faults.values():
            faults.clear()

    def _of(self, broker: SimBroker) -> RequestFaults:
        found = self._faults.get(broker)
        if found is None:
            assert broker.node is not None
            found = self._faults[broker] = faults_of(broker.node)
        return found

    # --- what the simulation knows ---------------------------------------------------------------

    def leader(self, topic: str, partition: int) -> Waits:
        """The id of the leader of a partition, once there is one that serves."""
        view = self._run.view

        def there() -> bool:
            found = view.leader(topic, partition)
            return found is not None and found.serving

        yield from self._until(there, f"nobody leads {topic}-{partition}")
        found = view.leader(topic, partition)
        assert found is not None
        return found.node_id

    def controller(self) -> Waits:
        """The id of the active controller."""
        view = self._run.view
        yield from self._until(lambda: view.active_controller() is not None, "no controller")
        found = view.active_controller()
        assert found is not None
        return found.node_id

    def _until(self, condition: Callable[[], bool], otherwise: str) -> Waits:
        waited_ms = 0.0
        while not condition():
            if waited_ms >= WITHIN_MS:
                raise NotDone(TIMED_OUT, f"{otherwise} within {WITHIN_MS / 1000:g} s")
            yield LOOK_MS
            waited_ms += LOOK_MS

    def _node(self, broker: int) -> SimBroker:
        found = self._run.view.node(broker)
        if found is None:
            known = ", ".join(str(one.node_id) for one in self._run.view.nodes)
            raise WrongRequest(f"no broker {broker}: there are {known}")
        return found

    def _machine(self, name: int | str) -> str:
        return self._node(name).address if isinstance(name, int) else name


def _rule_of(asked: Mapping[str, Json]) -> Rule:
    """The rule of what a user asks for. Raises WrongRequest."""
    name = asked.get("error")
    if name is not None and name not in ErrorCode.__members__:
        raise WrongRequest(f"no error {name}: as Kafka calls it, for example REQUEST_TIMED_OUT")
    aim = Aim(
        None if asked.get("api") is None else api_of(asked["api"]),
        asked.get("topic"),
        asked.get("group"),
        asked.get("transactional_id"),
        asked.get("client_id"),
    )
    return Rule(
        aim,
        Deed(asked["deed"]),
        ErrorCode.NONE if name is None else ErrorCode[name],
        delay_ms=float(asked.get("delay_ms") or 0.0),
        after=int(asked.get("after") or 0),
        times=asked.get("times"),
        probability=float(asked.get("probability", 1.0)),
        seed=int(asked.get("seed") or 0),
    )
