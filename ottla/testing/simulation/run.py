"""`simulate`: run a scenario under many seeds, each on a simulated cluster in virtual time.

    from ottla.testing import simulate

    async def scenario(cluster):
        client = cluster.client("billing")
        await client.create_topic("payments")
        await client.produce("payments", "17")

    def test_payments():
        simulate(scenario, seeds=100)

The brokers are Ottla's own, whole: what is simulated is the network, the disks, the processes and
the clocks. A seed decides everything by chance, so the same seed is the same run, byte for byte.
The first seed that fails is told with what happened, and is run again by `seeds=[17]`, or by the
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
_OURS = str(Path(__file__).parent)


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
    """Run `scenario` once for each seed; the runs, in the order of the seeds.

    `scenario`    an async function of one `SimulatedCluster`. It awaits only what that gives
    `seeds`       a number of seeds from 0 on, or the seeds. OTTLA_SEED overrides it
    `brokers`     how many, each broker and controller: 1 to 7
    `faults`      "some" (every 2 s on average: deaths, pauses, cut and slow links, clocks that
                  jump; 2 % of the requests lose their connection, 1 % their answer), "many" (every
                  1 s; 5 % and 2 %), or "none": only those by hand. No fault destroys data
    `invariants`  called with each finished run; AssertionError, or False, is a failed seed
    `properties`  of every broker, as in `server.properties`
    `limit`       seconds of virtual time that a scenario may take
    `trace`       a file that gets all that happened, of the last seed that ran

    Raises SimulationFailed at the first seed that fails: the scenario raised, an invariant of the
    user's does not hold, or one of the project's (acknowledged records are there, an offset has one
    content, replicas are equal, committed offsets survive …).
    """
    _check(brokers, faults, limit)
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


def _check(brokers: int, faults: str, limit: float) -> None:
    if faults not in FAULTS:
        raise Misuse(f"faults are one of {', '.join(FAULTS)}, not {faults!r}")
    if not 1 <= brokers <= BROKERS_MAX:
        raise Misuse(f"a simulated cluster has 1 to {BROKERS_MAX} brokers, not {brokers}")
    if limit <= 0:
        raise Misuse(f"limit is seconds of virtual time, not {limit}")


def _seeds(seeds: int | Iterable[int]) -> Iterable[int]:
    chosen = os.environ.get(SEED_VARIABLE, "").strip()
    if chosen:
        try:
            return [int(chosen)]
        except ValueError:
            raise Misuse(f"{SEED_VARIABLE} is the number of a seed, not {chosen!r}") from None
    return range(seeds) if isinstance(seeds, int) else seeds


class _Broken(Exception):
    """The simulated cluster did what it must not, or did not what it must."""


@dataclass(slots=True)
class _Verdict:
    """Why a seed failed."""

    why: str
    cause: BaseException


class _Run:
    """One seed; the driver's world."""

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
        """Raises SimulationFailed."""
        try:
            finished = self._finished(scenario)
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

    def _finished(self, scenario: Scenario) -> FinishedRun:
        self._told(self._worker.call("begin", {"seed": self._seed, **self._options}))
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
        told = self._worker.call("finish", {})
        self._told(told)
        return FinishedRun(
            self._seed,
            result,
            self._history,
            self._timeline.now,
            told["faults"],
            told["requests"],
            told["checksum"],
            logs_of(told["logs"]),
            offsets_of(told["offsets"]),
        )

    def step(
        self, submit: list[Operation], cancel: list[Operation], hang_up: list[str]
    ) -> list[Operation]:
        """See `driver.World`."""
        for operation in submit:
            operation.number = len(self._history) + 1
            operation.began = self._timeline.now
            self._history.append(operation)
            self._under_way[operation.number] = operation
        for operation in cancel:
            if self._under_way.pop(operation.number, None) is not None:
                self._timeline.given_up(operation)
        told = self._worker.call(
            "step",
            {
                "submit": [[one.number, one.client, one.name, one.args] for one in submit],
                "cancel": [one.number for one in cancel],
                "hang_up": hang_up,
            },
        )
        return self._told(told)

    def _told(self, told: Mapping[str, Json]) -> list[Operation]:
        """Take what the worker tells; the operations that are done."""
        self._lines += told["trace"]
        for when_ms, text in told["happened"]:
            self._timeline.say(text, when_ms / 1000)
        self._timeline.move_to(told["now_ms"] / 1000)
        done = [self._end(one) for one in told["done"]]
        if "failure" in told:
            name, reason = told["failure"]
            raise _Broken(f"the cluster broke invariant {name}: {reason}")
        if told["over"]:
            limit = self._options["limit_ms"] / 1000
            raise AssertionError(f"the scenario has not ended within {limit:g} s of virtual time")
        return done

    def _end(self, told: Mapping[str, Json]) -> Operation:
        operation = self._under_way.pop(told["id"])
        operation.ended = self._timeline.now
        operation.result = told.get("result")
        if "error" in told:
            operation.error = error_of(told["error"])
        self._timeline.ended(operation)
        return operation

    # --- how it ended --------------------------------------------------------------------------

    def _failure(self, error: Exception) -> SimulationFailed:
        for operation in self._under_way.values():
            self._timeline.under_way(operation)
        replay = f"seeds=[{self._seed}], or {SEED_VARIABLE}={self._seed} in the environment"
        return SimulationFailed(self._seed, _why(error), self._timeline.lines(), replay)

    def _write_trace(self) -> None:
        if self._trace is not None:
            Path(self._trace).write_text("\n".join(self._lines) + "\n")


def _why(error: Exception) -> str:
    """One error in words, with the line of the user's own code that it came from."""
    if isinstance(error, _Broken):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [one for one in frames if not one.filename.startswith(_OURS)]
    where = f" ({Path(theirs[-1].filename).name}:{theirs[-1].lineno})" if theirs else ""
    first, _, rest = (str(error) or repr(error)).partition("\n")
    more = f"\n{rest}" if rest else ""
    kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
    return f"{kind}{first}{where}{more}"
