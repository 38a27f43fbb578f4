"""`python -m tests.simulation`: run seeds, and tell of each failure.

    --seeds N [--from S] [--jobs J] [--brokers B] [--quotas] [--groups] [--shares]
    --seed S [--brokers B] [--quotas] [--groups] [--shares] [--trace FILE]
    --mutants

Without `--brokers` a seed is that of a cluster, of three brokers or now and then five, and every
fourth is run with one broker, too. With `--quotas` clients have quotas in all of them. With
`--groups` all of them have groups that the broker assigns (KIP-848), and no transactions and
rights; with `--shares` share groups (KIP-932), and no rights. The exit code is 1 where a seed
failed. `--seed` runs one seed and prints its outcome, `--trace` keeps all of its trace; what failed
once fails again, with the same trace. `--mutants` prints the tables of README.md: which broken
broker is caught by what.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from simulation.sim_trace import Grouped, Judged, Muted, Shared
from tests.simulation.acls.acl_mutants import acl_table
from tests.simulation.cluster_mutants import cluster_table
from tests.simulation.consumer_groups.consumer_mutants import consumer_table
from tests.simulation.mutants import table
from tests.simulation.plans import Plan, brokers_of
from tests.simulation.quotas.quota_mutants import quota_table
from tests.simulation.share_groups.share_mutants import share_table
from tests.simulation.simulation import Failure, RunOutcome, Simulation
from tests.simulation.transaction_mutants import transaction_table

ONE_BROKER_EVERY = 4


class Job(NamedTuple):
    """One run."""

    seed: int
    brokers: int
    quotas: bool = False
    """Whether clients have quotas in any case."""
    groups: bool = False
    """Whether there are groups that the broker assigns in any case."""
    shares: bool = False
    """Whether there are share groups in any case."""

    @property
    def plan(self) -> Plan:
        plan = Plan.of(self.seed) if self.brokers == 1 else Plan.cluster(self.seed, self.brokers)
        plan = plan.with_groups() if self.groups else plan
        plan = plan.with_shares() if self.shares else plan
        return replace(plan, limited=True) if self.quotas else plan


def run_seed(job: Job, trace: str | None = None) -> RunOutcome | Failure:
    """One seed's outcome; its whole trace goes to the file `trace`."""
    simulation = Simulation(job.seed, job.plan)
    lines: list[str] = []
    if trace is not None:
        simulation.trace.everything = lines
    try:
        return simulation.run()
    except Failure as failure:
        return failure
    finally:
        if trace is not None:
            Path(trace).write_text("\n".join(lines))


def _report(job: Job) -> tuple[RunOutcome | None, str]:
    """The same, as it can be sent between processes."""
    outcome = run_seed(job)
    return (None, str(outcome)) if isinstance(outcome, Failure) else (outcome, "")


def main(arguments: list[str] | None = None) -> int:
    """Do what the arguments ask for, and return the exit code: 1 if a seed fails."""
    options = _parser().parse_args(arguments)
    logging.getLogger().addHandler(logging.NullHandler())
    if options.seed is not None:
        brokers = options.brokers or brokers_of(options.seed)
        job = Job(options.seed, brokers, options.quotas, options.groups, options.shares)
        outcome = run_seed(job, options.trace)
        print(outcome)
        return int(isinstance(outcome, Failure))
    if options.mutants:
        tables = (
            *(table, cluster_table, transaction_table, acl_table, quota_table),
            *(consumer_table, share_table),
        )
        print("\n\n".join("\n".join(rows()) for rows in tables))
        return 0
    return _run_all(_jobs(options), options.jobs)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=50, metavar="N", help="how many seeds to run")
    parser.add_argument("--from", type=int, default=0, metavar="S", dest="first", help="the first")
    parser.add_argument("--seed", type=int, metavar="S", help="run this one, and print its outcome")
    parser.add_argument("--jobs", type=int, default=1, metavar="J", help="processes (1)")
    parser.add_argument("--brokers", type=int, metavar="B", help="how many brokers")
    parser.add_argument("--quotas", action="store_true", help="clients have quotas")
    parser.add_argument("--groups", action="store_true", help="the broker assigns groups")
    parser.add_argument("--shares", action="store_true", help="there are share groups")
    parser.add_argument("--trace", metavar="FILE", help="with --seed: write its trace there")
    parser.add_argument("--mutants", action="store_true", help="print who catches each mutant")
    return parser


def _jobs(options: argparse.Namespace) -> list[Job]:
    """Return the runs of the seeds that the options name."""
    jobs = []
    for seed in range(options.first, options.first + options.seeds):
        brokers = options.brokers or brokers_of(seed)
        jobs.append(Job(seed, brokers, options.quotas, options.groups, options.shares))
        if options.brokers is None and seed % ONE_BROKER_EVERY == 0:
            jobs.append(jobs[-1]._replace(brokers=1))
    return jobs


def _run_all(jobs: list[Job], processes: int) -> int:
    """Run seeds, print each failure at once and the counts at the end; return the exit code."""
    started, failed, requests = time.monotonic(), 0, 0
    judged, muted, grouped, shared = Judged(), Muted(), Grouped(), Shared()
    with multiprocessing.Pool(processes) as pool:
        for outcome, failure in pool.imap(_report, jobs):
            if outcome is None:
                failed += 1
                print(failure, flush=True)
            else:
                requests += outcome.requests
                judged = Judged(*map(sum, zip(judged, outcome.judged, strict=True)))
                muted += outcome.muted
                grouped = Grouped(*map(sum, zip(grouped, outcome.grouped, strict=True)))
                shared = Shared(*map(sum, zip(shared, outcome.shared, strict=True)))
    took = time.monotonic() - started
    print(f"{len(jobs)} runs, {failed} failed, {requests} requests, {took:.1f} s")
    print("\n".join(_counts(judged, muted, grouped, shared)))
    return int(failed > 0)


def _counts(judged: Judged, muted: Muted, grouped: Grouped, shared: Shared) -> Iterator[str]:
    """Yield a line for each kind of events."""
    yield (
        f"of rights: {judged.allowed} allowed, {judged.denied} denied, ACLs changed meanwhile "
        f"in {judged.changing}"
    )
    yield (
        f"of quotas: clients waited after {muted.produces} produces, {muted.fetches} fetches, "
        f"{muted.mutations} mutations and {muted.others} others, "
        f"{muted.longest_ms} ms at the longest"
    )
    yield (
        f"of groups that the broker assigns: {grouped.joins} joins, "
        f"{grouped.reconciliations} reconciliations, {grouped.hand_overs} hand-overs, "
        f"{grouped.upgrades} conversions from classic, {grouped.downgrades} back, "
        f"{grouped.settled} times quiet and Stable"
    )
    yield (
        f"of share groups: {shared.loads} loads, {shared.deliveries} deliveries, "
        f"{shared.redeliveries} of them again, {shared.accepts} accepts, {shared.releases} "
        f"releases, {shared.rejects} rejects, {shared.renewals} renewals, {shared.gaps} gaps, "
        f"{shared.letters} dead letters"
    )


if __name__ == "__main__":
    sys.exit(main())
