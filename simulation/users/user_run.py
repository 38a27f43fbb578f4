"""One seed of a user's simulation: the cluster, the clients' operations, faults, the verdict.

An operation begins with `submit`, and has the number that the user gave it. `advance` lets virtual
time pass until an operation is done. `finish` ends the faults, waits until the cluster is at rest,
reads everything and checks it. A broken invariant is raised as `Failure`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ottla.testing.frames import Json
from simulation.invariants.cluster_invariants import CLUSTER_INVARIANTS
from simulation.invariants.control_invariants import CONTROL_INVARIANTS
from simulation.invariants.invariant import Invariant
from simulation.invariants.offset_invariants import CommittedOffsetsSurvive
from simulation.invariants.record_invariants import RECORD_INVARIANTS
from simulation.invariants.replica_watermarks import ReplicasWatermarksDoNotGoBack
from simulation.machines.layout import Layout
from simulation.sim_client import GeneratorRun, Waits
from simulation.sim_trace import Violation
from simulation.simulated_cluster import SimulatedCluster
from simulation.users.fault_choices import faults_of, weather_of
from simulation.users.fault_operations import FaultOperations
from simulation.users.final_reading import FinalReading
from simulation.users.plain_messages import WrongRequest
from simulation.users.user_client import UserClient, UserOperationFailed

INVARIANTS: tuple[type[Invariant], ...] = (
    *RECORD_INVARIANTS,
    ReplicasWatermarksDoNotGoBack,
    *CONTROL_INVARIANTS,
)
START_WITHIN_MS = 20_000.0
HEAL_WITHIN_MS = 20_000.0
READ_WITHIN_MS = 120_000.0
POLLS_END_WITHIN_MS = 60_000.0
READER = "the-last-reader"


class UserRun(SimulatedCluster):
    """The run of one seed of a user's simulation."""

    def __init__(
        self,
        seed: int,
        *,
        brokers: int = 3,
        faults: str = "some",
        properties: Mapping[str, str] | None = None,
        limit_ms: float = 600_000.0,
        keep_trace: bool = False,
    ) -> None:
        """Create the cluster, which `begin` starts. `faults` is "none", "some" or "many";
        `limit_ms` is the scenario's limit in virtual time."""
        several = brokers > 1
        super().__init__(
            seed, Layout.combined(brokers) if several else Layout(),
            {**_sizes(brokers), **(properties or {})},
            weather=weather_of("none"), faults=faults_of(faults, brokers),
            invariants=(*INVARIANTS, *(CLUSTER_INVARIANTS if several else ())),
        )  # fmt: skip
        self.trace.keep(keep_trace)
        self._offsets = CommittedOffsetsSurvive(self.world, self.promises)
        self.watch(self._offsets)
        self.over = False
        """Whether the scenario has exceeded its time limit."""
        self._done: list[dict[str, Json]] = []
        self._happened: list[tuple[float, str]] = []
        self._limit_ms = limit_ms
        self._choice = faults
        self._tasks: dict[int, GeneratorRun] = {}
        self._users: dict[str, UserClient] = {}
        self._by_hand = FaultOperations(self, seed)
        for broker in self.brokers:
            broker.call_when_made(self._by_hand.node_made)

    def tell(self, text: str) -> None:
        """Add a line to the trace and, with the time, to the user's timeline (`take_happened`)."""
        super().tell(text)
        self._happened.append((self.world.now_ms, text))

    # --- the run -------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start the brokers, and the faults once all brokers serve. Raises Failure if they do not,
        or if an invariant is broken."""
        self.watched(self._begin)

    def _begin(self) -> None:
        """Start the brokers, let time pass until all serve, and then start the faults. Raises
        Violation if not all serve within START_WITHIN_MS."""
        self.start_brokers()
        self.run_until(lambda: all(broker.serving for broker in self.brokers), START_WITHIN_MS)
        if self._choice != "none":
            self.network.set_weather(weather_of(self._choice))
            self.nemesis.start()

    def advance(self) -> None:
        """Let time pass until an operation is done, or the time limit is over, which sets `over`.
        Raises Failure if an invariant is broken or no event is left."""
        self.watched(self._advance)

    def _advance(self) -> None:
        """Run until an operation is done or the time limit has passed.

        Raises Violation if no event is left.
        """
        while not self._done and not self.over:
            if not self.step():
                raise Violation("I20", "nothing will ever happen any more")
            self.over = self.world.now_ms > self._limit_ms

    def finish(self) -> FinalReading:
        """End the faults, wait until the cluster is at rest, read everything, check it, and return
        it. Raises Failure if an invariant is broken."""
        reading: list[FinalReading] = []
        self.watched(lambda: reading.append(self._finish()))
        self.add_disks()
        return reading[0]

    def _finish(self) -> FinalReading:
        """End clients and faults, let the cluster converge, and return all that the logs and groups
        hold.

        Raises Violation if the cluster does not converge, or if an invariant is broken.
        """
        for task in self._tasks.values():
            task.cancel()
        for client in self._users.values():
            client.hang_up()
        self.end_faults()
        self.run_until(lambda: all(broker.serving for broker in self.brokers), HEAL_WITHIN_MS)
        if self.is_cluster:
            self.converge()
        self.promises.rest(self.world.now_ms)
        self._let_polls_end()
        reading = FinalReading(self._client(READER, idempotent=False), self.view)
        GeneratorRun(self.world, reading.read(self._offsets.places()))
        self.run_until(lambda: reading.done, READ_WITHIN_MS)
        if self.is_cluster:
            self.converge()
        self._users[READER].hang_up()
        for invariant in self.invariants:
            invariant.at_end(reading)
        return reading

    def _let_polls_end(self) -> None:
        """Let time pass until a single broker holds no fetch of clients that are gone, at most
        POLLS_END_WITHIN_MS. In a cluster, nothing happens."""
        end_ms = self.world.now_ms + POLLS_END_WITHIN_MS
        brokers = [
            b for b in self.brokers if not self.is_cluster
        ]  # in a cluster followers wait too
        while self.world.now_ms < end_ms and any(
            len(broker.replicas.fetch_purgatory) for broker in brokers
        ):
            self.run_for(100.0)

    def end_faults(self) -> None:
        """End all faults, those of the nemesis and those of the scenario."""
        self.tell("all is healed")
        self.network.set_weather(weather_of("none"))
        self._by_hand.lift_all()
        self.nemesis.heal()

    # --- operations and their results ------------------------------------------------------------

    def submit(self, number: int, client: str | None, op: str, args: Mapping[str, Json]) -> None:
        """Begin an operation of a client, or of the cluster itself if `client` is None. Its result
        or error comes from `take_done`, under this number."""
        idempotent = bool(args.get("idempotent", False))
        op_args = {name: value for name, value in args.items() if name != "idempotent"}
        if op == "create_topic":
            op_args["existed"] = args["topic"] in self.view.newest_image().topics.by_name
        if client is None:
            steps = self._by_hand.operation(op, op_args)
        else:
            steps = self._client(client, idempotent=idempotent).operation(op, op_args)
        self._tasks[number] = GeneratorRun(self.world, self._operate(number, steps))

    def cancel(self, number: int) -> None:
        """Cancel an operation, which then has no result: the user's task that waited for it has
        ended."""
        task = self._tasks.pop(number, None)
        if task is not None:
            task.cancel()

    def hang_up(self, client: str) -> None:
        """Close a client's connections and remove it: its process has ended."""
        user = self._users.pop(client, None)
        if user is not None:
            self.clients.remove(user)
            user.hang_up()

    def take_done(self) -> list[dict[str, Json]]:
        """Return the operations that have ended since the last call: id, and result or error."""
        done, self._done = self._done, []
        return done

    def take_happened(self) -> list[tuple[float, str]]:
        """Return the faults and changes of brokers since the last call, with their times in ms."""
        happened, self._happened = self._happened, []
        return happened

    def _client(self, name: str, *, idempotent: bool) -> UserClient:
        """Return the client of this name; create it at the first use."""
        user = self._users.get(name)
        if user is None:
            user = UserClient(name, str(self.seed), self.world, self.network, idempotent=idempotent)
            self._users[name] = user
            self.clients.append(user)
        return user

    def _operate(self, number: int, steps: Waits) -> Waits:
        """Run an operation, and add its result or error under this number for `take_done`."""
        try:
            result = yield from steps
        except UserOperationFailed as error:
            details = {"error": error.error, "text": str(error), "unsure": error.unsure}
            self._end(number, {"error": details})
        except WrongRequest as error:
            self._end(number, {"error": {"error": "MISUSE", "text": str(error), "unsure": False}})
        else:
            self._end(number, {"result": result})

    def _end(self, number: int, outcome: dict[str, Json]) -> None:
        """Remove an operation from those under way, and add its outcome for `take_done`."""
        self._tasks.pop(number, None)
        self._done.append({"id": number, **outcome})


def _sizes(brokers: int) -> dict[str, str]:
    """Return the properties of replication for so many brokers: with three, a topic survives the
    loss of one."""
    replicas = str(min(brokers, 3))
    return {
        "log.dirs": "/data",
        # A node whose connection loses all responses closes it before the last reading.
        "replica.socket.timeout.ms": "4000",
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": "2" if brokers > 2 else "1",
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": "2" if brokers > 2 else "1",
        "default.replication.factor": replicas,
        "min.insync.replicas": "2" if brokers > 2 else "1",
    }
