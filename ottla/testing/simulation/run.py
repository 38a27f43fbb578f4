"""`simulate`: run a scenario with many seeds, each on a simulated cluster in virtual time.

    from ottla.testing import simulate

    async def scenario(cluster):
        client = cluster.client("billing")
        await client.create_topic("payments")
        await client.produce("payments", "17")

    def test_payments():
        simulate(scenario, seeds=100)

The brokers run Ottla's whole code. Only the network, the disks, the processes and the clocks are
simulated. The seed decides all random choices, so the same seed is the same run, byte for byte. The
first seed that fails is reported with what happened. Run it again by `seeds=[17]`, or by the
environment variable OTTLA_SEED=17.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import methodcaller
from pathlib import Path

from ottla.testing.errors import Misuse, OttlaError
from ottla.testing.frames import Json
from ottla.testing.simulation.cluster import SimulatedCluster
from ottla.testing.simulation.driver import Driver, Operation
from ottla.testing.simulation.errors import SimulationFailed, error_of
from ottla.testing.simulation.finished import FinishedRun, logs_of, offsets_of
from ottla.testing.simulation.timeline import Timeline
from ottla.testing.simulation.worker import WorkerProcess, the_worker

__tracebackhide__ = methodcaller("errisinstance", (OttlaError, SimulationFailed))

Scenario = Callable[[SimulatedCluster], Coroutine[object, object, object]]
CheckOfRun = Callable[[FinishedRun], object]
FAULTS = ("none", "some", "many")
BROKERS_MAX = 7
SEED_VARIABLE = "OTTLA_SEED"
_OTTLA_FOLDER = str(Path(__file__).parent)


def simulate(
    scenario: Scenario,
    seeds: int | Iterable[int] = 100,
    *,
    brokers: int = 3,
    faults: str = "some",
    invariants: Sequence[CheckOfRun] = (),
    properties: Mapping[str, str] | None = None,
    limit: float = 600.0,
    trace: str | os.PathLike[str] | None = None,
) -> list[FinishedRun]:
    """Run `scenario` once for each seed. Return the runs, in the order of the seeds.

    `scenario`    an async function of one `SimulatedCluster`; it awaits only what the cluster gives
    `seeds`       a number of seeds from 0 on, or the seeds; OTTLA_SEED overrides it
    `brokers`     the number of brokers, each also a controller: 1 to 7
    `faults`      "some" (every 2 s on average: deaths, pauses, cut and slow links, clocks that
                  jump; 2 % of the requests lose their connection, 1 % their answer), "many" (every
                  1 s; 5 % and 2 %), or "none": only those of the scenario. No fault destroys data
    `invariants`  functions of a finished run; AssertionError, or False, fails the seed
    `properties`  server keys of each broker, as in `server.properties`
    `limit`       seconds of virtual time that a scenario may take
    `trace`       a file to which all events of the last seed that ran are written

    Raises SimulationFailed at the first seed that fails: the scenario raised, or an invariant does
    not hold. Beside `invariants`, Ottla checks its own: acknowledged records exist, an offset has a
    single content, replicas are equal, committed offsets survive, and others. Raises Misuse for a
    wrong argument, or while another `simulate` of this process runs.
    """
    _check_options(brokers, faults, limit)
    options: dict[str, Json] = {
        "brokers": brokers,
        "faults": faults,
        "properties": dict(properties or {}),
        "limit_ms": limit * 1000,
        "keep_trace": trace is not None,
    }
    worker = the_worker()
    if not worker.in_use.acquire(blocking=False):
        raise Misuse("another simulation is under way in this process: end that first")
    try:
        return [
            _Run(worker, seed, options, trace).run(scenario, invariants) for seed in _seeds(seeds)
        ]
    finally:
        worker.in_use.release()


def _check_options(brokers: int, faults: str, limit: float) -> None:
    """Raise Misuse if an option is out of range."""
    if faults not in FAULTS:
        raise Misuse(f"faults are one of {', '.join(FAULTS)}, not {faults!r}")
    if not 1 <= brokers <= BROKERS_MAX:
        raise Misuse(f"a simulated cluster has 1 to {BROKERS_MAX} brokers, not {brokers}")
    if limit <= 0:
        raise Misuse(f"limit is seconds of virtual time, not {limit}")


def _seeds(seeds: int | Iterable[int]) -> Iterable[int]:
    """Return the seeds to run: that of SEED_VARIABLE if it is set, else those given; a number means
    the seeds from 0 on.

    Raises Misuse if the variable is no number.
    """
    chosen = os.environ.get(SEED_VARIABLE, "").strip()
    if chosen:
        try:
            return [int(chosen)]
        except ValueError:
            raise Misuse(f"{SEED_VARIABLE} is the number of a seed, not {chosen!r}") from None
    return range(seeds) if isinstance(seeds, int) else seeds


class _Broken(Exception):
    """The simulated cluster violated an invariant of Ottla's."""


@dataclass(slots=True)
class _Verdict:
    """The reason why a seed failed."""

    why: str
    cause: BaseException


class _Run:
    """The run of one seed, which is the driver's world."""

    def __init__(
        self,
        worker: WorkerProcess,
        seed: int,
        options: Mapping[str, Json],
        trace: str | os.PathLike[str] | None,
    ) -> None:
        self._worker = worker
        self._seed = seed
        self._options = options
        self._trace = trace
        self._lines: list[str] = []
        self._timeline = Timeline()
        self._history: list[Operation] = []
        self._under_way: dict[int, Operation] = {}

    def run(self, scenario: Scenario, invariants: Sequence[CheckOfRun]) -> FinishedRun:
        """Run the scenario, check the invariants, write the trace file if one was requested, and
        return the finished run. Raises SimulationFailed if the seed fails, and Misuse."""
        try:
            finished = self._run_to_end(scenario)
            for invariant in invariants:
                if invariant(finished) is False:
                    name = getattr(invariant, "__name__", repr(invariant))
                    raise AssertionError(f"the invariant {name} does not hold")
        except Misuse:
            raise
        except Exception as error:
            raise self._failure(error) from error
        finally:
            self._write_trace()
        return finished

    def _run_to_end(self, scenario: Scenario) -> FinishedRun:
        """Run the scenario, end the simulation, and return all that it recorded.

        Raises what the scenario raises, or the failure that the worker process answers.
        """
        self._take_report(self._worker.call("begin", {"seed": self._seed, **self._options}))
        driver = Driver(self)
        cluster = SimulatedCluster(
            self._seed,
            self._options["brokers"],
            driver=driver,
            clock=self._timeline,
            timeline=self._timeline,
            faulty=self._options["faults"] != "none",
        )
        result = driver.run(scenario(cluster))
        report = self._worker.call("finish", {})
        self._take_report(report)
        return FinishedRun(
            self._seed,
            result,
            self._history,
            self._timeline.now,
            report["faults"],
            report["requests"],
            report["checksum"],
            logs_of(report["logs"]),
            offsets_of(report["offsets"]),
        )

    def step(
        self, submit: list[Operation], cancel: list[Operation], hang_up: list[str]
    ) -> list[Operation]:
        """Have the worker begin and cancel operations and close the clients in `hang_up`. Return
        the operations that are done, as `driver.World` asks for.

        Adds new operations to the history, and events to the timeline. Raises _Broken if an
        invariant is broken, AssertionError after the time limit.
        """
        for operation in submit:
            operation.number = len(self._history) + 1
            operation.began = self._timeline.now
            self._history.append(operation)
            self._under_way[operation.number] = operation
        for operation in cancel:
            if self._under_way.pop(operation.number, None) is not None:
                self._timeline.cancelled(operation)
        report = self._worker.call(
            "step",
            {
                "submit": [
                    [operation.number, operation.client, operation.name, operation.args]
                    for operation in submit
                ],
                "cancel": [operation.number for operation in cancel],
                "hang_up": hang_up,
            },
        )
        return self._take_report(report)

    def _take_report(self, report: Mapping[str, Json]) -> list[Operation]:
        """Add the worker's events to the timeline and the trace, and set the virtual time. Return
        the operations that are done. Raises _Broken if an invariant is broken, AssertionError after
        the time limit."""
        self._lines += report["trace"]
        for when_ms, text in report["happened"]:
            self._timeline.say(text, when_ms / 1000)
        self._timeline.move_to(report["now_ms"] / 1000)
        done = [self._end(operation_report) for operation_report in report["done"]]
        if "failure" in report:
            name, reason = report["failure"]
            raise _Broken(f"the cluster broke invariant {name}: {reason}")
        if report["over"]:
            limit = self._options["limit_ms"] / 1000
            raise AssertionError(f"the scenario has not ended within {limit:g} s of virtual time")
        return done

    def _end(self, report: Mapping[str, Json]) -> Operation:
        """Return the operation that a report of the worker ends, with its result or error.

        Adds it to the timeline.
        """
        operation = self._under_way.pop(report["id"])
        operation.ended = self._timeline.now
        operation.result = report.get("result")
        if "error" in report:
            operation.error = error_of(report["error"])
        self._timeline.ended(operation)
        return operation

    # --- how it ended --------------------------------------------------------------------------

    def _failure(self, error: Exception) -> SimulationFailed:
        """Return the error of a failed seed, with the reason, the timeline and the way to replay
        it. Adds the unfinished operations to the timeline."""
        for operation in self._under_way.values():
            self._timeline.under_way(operation)
        replay = f"seeds=[{self._seed}], or {SEED_VARIABLE}={self._seed} in the environment"
        return SimulationFailed(self._seed, _why(error), self._timeline.lines(), replay)

    def _write_trace(self) -> None:
        """Write the events to the file that `simulate` was given, if any."""
        if self._trace is not None:
            Path(self._trace).write_text("\n".join(self._lines) + "\n")


def _why(error: Exception) -> str:
    """Return a text about an error, with the file and line of the user's own code that raised
    it."""
    if isinstance(error, _Broken):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    user_frames = [frame for frame in frames if not frame.filename.startswith(_OTTLA_FOLDER)]
    where = (
        f" ({Path(user_frames[-1].filename).name}:{user_frames[-1].lineno})" if user_frames else ""
    )
    first_line, _, rest = (str(error) or repr(error)).partition("\n")
    more = f"\n{rest}" if rest else ""
    kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
    return f"{kind}{first_line}{where}{more}"
