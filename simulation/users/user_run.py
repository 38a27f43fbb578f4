"""One seed of a user's simulation: the cluster, the clients' operations, faults, the verdict.

Operations are begun with `submit` and known by the number that their user gave them. `advance`
lets virtual time pass until at least one is done. `finish` ends the faults, lets the cluster come
to rest, reads everything, and judges it. What went wrong is raised as `Failure`.
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
from simulation.sim_client import Task, Waits
from simulation.sim_trace import Violation
from simulation.simulated_cluster import SimulatedCluster
from simulation.users.fault_choices import faults_of, weather_of
from simulation.users.fault_operations import FaultOperations
from simulation.users.final_reading import FinalReading
from simulation.users.plain_messages import WrongRequest
from simulation.users.user_client import NotDone, UserClient

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
    """See the module."""

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
        """Whether the scenario takes longer than it may."""
        self._done: list[dict[str, Json]] = []
        self._happened: list[tuple[float, str]] = []
        self._limit_ms = limit_ms
        self._choice = faults
        self._tasks: dict[int, Task] = {}
        self._users: dict[str, UserClient] = {}
        self._by_hand = FaultOperations(self, seed)
        for broker in self.brokers:
            broker.call_when_made(self._by_hand.node_made)

    def tell(self, text: str) -> None:
        """See `SimulatedCluster.tell`; the user is told, too."""
        super().tell(text)
        self._happened.append((self.world.now_ms, text))

    # --- the run -------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start the brokers; the faults begin once all of them serve."""
        self.watched(self._begin)

    def _begin(self) -> None:
        self.start_brokers()
        self.run_until(lambda: all(one.serving for one in self.brokers), START_WITHIN_MS)
        if self._choice != "none":
            self.network.turn(weather_of(self._choice))
            self.nemesis.start()

    def advance(self) -> None:
        """Let time pass until an operation is done, or the time of all is over."""
        self.watched(self._advance)

    def _advance(self) -> None:
        while not self._done and not self.over:
            if not self.step():
                raise Violation("I20", "nothing will ever happen any more")
            self.over = self.world.now_ms > self._limit_ms

    def finish(self) -> FinalReading:
        """End the faults, come to rest, read, and judge."""
        reading: list[FinalReading] = []
        self.watched(lambda: reading.append(self._finish()))
        self.add_disks()
        return reading[0]

    def _finish(self) -> FinalReading:
        for task in self._tasks.values():
            task.cancel()
        for client in self._users.values():
            client.hang_up()
        self.end_faults()
        self.run_until(lambda: all(one.serving for one in self.brokers), HEAL_WITHIN_MS)
        if self.is_cluster:
            self.converge()
        self.promises.rest(self.world.now_ms)
        self._let_polls_end()
        reading = FinalReading(self._client(READER, idempotent=False), self.view)
        Task(self.world, reading.read(self._offsets.places()))
        self.run_until(lambda: reading.done, READ_WITHIN_MS)
        if self.is_cluster:
            self.converge()
        self._users[READER].hang_up()
        for invariant in self.invariants:
            invariant.at_end(reading)
        return reading

    def _let_polls_end(self) -> None:
        """What clients that are gone wait for ends with its own time."""
        end_ms = self.world.now_ms + POLLS_END_WITHIN_MS
        brokers = [one for one in self.brokers if not self.is_cluster]  # else followers wait, too
        while self.world.now_ms < end_ms and any(
            len(one.replicas.fetch_purgatory) for one in brokers
        ):
            self.run_for(100.0)

    def end_faults(self) -> None:
        """No fault any more, of the nemesis or by hand."""
        self.tell("all is healed")
        self.network.turn(weather_of("none"))
        self._by_hand.lift_all()
        self.nemesis.heal()

    # --- what the user asks for ------------------------------------------------------------------

    def submit(self, number: int, client: str | None, op: str, args: Mapping[str, Json]) -> None:
        """Begin an operation of a client; None: of the cluster itself."""
        idempotent = bool(args.get("idempotent", False))
        given = {name: value for name, value in args.items() if name != "idempotent"}
        if op == "create_topic":
            given["existed"] = args["topic"] in self.view.newest_image().topics.by_name
        if client is None:
            begun = self._by_hand.operation(op, given)
        else:
            begun = self._client(client, idempotent=idempotent).operation(op, given)
        self._tasks[number] = Task(self.world, self._operate(number, begun))

    def cancel(self, number: int) -> None:
        """Whoever wanted an operation is gone."""
        task = self._tasks.pop(number, None)
        if task is not None:
            task.cancel()

    def hang_up(self, client: str) -> None:
        """A client's process is gone."""
        gone = self._users.pop(client, None)
        if gone is not None:
            self.clients.remove(gone)
            gone.hang_up()

    def take_done(self) -> list[dict[str, Json]]:
        """Operations that have ended since the last look: id, and result or error."""
        done, self._done = self._done, []
        return done

    def take_happened(self) -> list[tuple[float, str]]:
        """Faults, and what became of brokers, since the last look."""
        happened, self._happened = self._happened, []
        return happened

    def _client(self, name: str, *, idempotent: bool) -> UserClient:
        found = self._users.get(name)
        if found is None:
            found = UserClient(
                name, str(self.seed), self.world, self.network, idempotent=idempotent
            )
            self._users[name] = found
            self.clients.append(found)
        return found

    def _operate(self, number: int, begun: Waits) -> Waits:
        try:
            result = yield from begun
        except NotDone as error:
            told = {"error": error.error, "text": str(error), "unsure": error.unsure}
            self._end(number, {"error": told})
        except WrongRequest as error:
            self._end(number, {"error": {"error": "MISUSE", "text": str(error), "unsure": False}})
        else:
            self._end(number, {"result": result})

    def _end(self, number: int, outcome: dict[str, Json]) -> None:
        self._tasks.pop(number, None)
        self._done.append({"id": number, **outcome})


def _sizes(brokers: int) -> dict[str, str]:
    """Replication as far as there are brokers for it; a topic stands the loss of one of three."""
    replicas = str(min(brokers, 3))
    return {
        "log.dirs": "/data",
        # Whoever waits on a connection whose answers are lost gives it up before the end is read.
        "replica.socket.timeout.ms": "4000",
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": "2" if brokers > 2 else "1",
        "default.replication.factor": replicas,
        "min.insync.replicas": "2" if brokers > 2 else "1",
    }
