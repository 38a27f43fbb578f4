"""`python -m tests.simulation`: run seeds, and tell of each failure.

    --seeds N [--from S] [--jobs J] [--brokers B] [--quotas]
    --seed S [--brokers B] [--quotas] [--trace FILE]
    --mutants

Without `--brokers` a seed is that of a cluster, of three brokers or now and then five, and every
fourth is run with one broker, too. With `--quotas` clients have quotas in all of them. The exit
code is 1 where a seed failed. `--seed` runs one seed and prints its outcome, `--trace` keeps all of
its trace; what failed once fails again, with the same trace. `--mutants` prints the tables of
README.md: which broken broker is caught by what.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import sys
import time
from dataclasses import replace
from pathlib import Path

from broker.testing.simulation.sim_trace import Judged, Muted
from tests.simulation.acls.acl_mutants import acl_table
from tests.simulation.cluster_mutants import cluster_table
from tests.simulation.consumer_groups.consumer_mutants import consumer_table
from tests.simulation.mutants import table
from tests.simulation.plans import Plan, brokers_of
from tests.simulation.quotas.quota_mutants import quota_table
from tests.simulation.simulation import Failure, Outcome, Simulation
from tests.simulation.transaction_mutants import transaction_table

ONE_BROKER_EVERY = 4


def run_seed(
    seed: int, brokers: int, quotas: bool = False, trace: str | None = None
) -> Outcome | Failure:
    """One seed's outcome, in any case with `quotas`; its whole trace goes to the file `trace`."""
    plan = Plan.of(seed) if brokers == 1 else Plan.cluster(seed, brokers)
    simulation = Simulation(seed, replace(plan, limited=True) if quotas else plan)
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


def _report(job: tuple[int, int, bool]) -> tuple[Outcome | None, str]:
    """The same, as it can be sent between processes."""
    outcome = run_seed(*job)
    return (None, str(outcome)) if isinstance(outcome, Failure) else (outcome, "")


def main(arguments: list[str] | None = None) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=50, metavar="N", help="how many seeds to run")
    parser.add_argument("--from", type=int, default=0, metavar="S", dest="first", help="the first")
    parser.add_argument("--seed", type=int, metavar="S", help="run this one, and print its outcome")
    parser.add_argument("--jobs", type=int, default=1, metavar="J", help="processes (1)")
    parser.add_argument("--brokers", type=int, metavar="B", help="how many brokers")
    parser.add_argument("--quotas", action="store_true", help="clients have quotas")
    parser.add_argument("--trace", metavar="FILE", help="with --seed: write its trace there")
    parser.add_argument("--mutants", action="store_true", help="print who catches each mutant")
    options = parser.parse_args(arguments)
    logging.getLogger().addHandler(logging.NullHandler())
    if options.seed is not None:
        brokers = options.brokers or brokers_of(options.seed)
        outcome = run_seed(options.seed, brokers, options.quotas, options.trace)
        print(outcome)
        return int(isinstance(outcome, Failure))
    if options.mutants:
        tables = (
            *(table, cluster_table, transaction_table, acl_table, quota_table),
            consumer_table,
        )
        print("\n\n".join("\n".join(one()) for one in tables))
        return 0
    jobs = []
    for seed in range(options.first, options.first + options.seeds):
        jobs.append((seed, options.brokers or brokers_of(seed), options.quotas))
        if options.brokers is None and seed % ONE_BROKER_EVERY == 0:
            jobs.append((seed, 1, options.quotas))
    started, failed, requests = time.monotonic(), 0, 0
    judged, muted = Judged(), Muted()
    with multiprocessing.Pool(options.jobs) as pool:
        for outcome, failure in pool.imap(_report, jobs):
            if outcome is None:
                failed += 1
                print(failure, flush=True)
            else:
                requests += outcome.requests
                judged = Judged(*map(sum, zip(judged, outcome.judged, strict=True)))
                muted += outcome.muted
    took = time.monotonic() - started
    print(f"{len(jobs)} runs, {failed} failed, {requests} requests, {took:.1f} s")
    print(f"of rights: {judged.allowed} allowed, {judged.denied} denied, ACLs changed meanwhile "
          f"in {judged.changing}")  # fmt: skip
    print(f"of quotas: clients waited after {muted.produces} produces, {muted.fetches} fetches, "
          f"{muted.mutations} mutations and {muted.others} others, "
          f"{muted.longest_ms} ms at the longest")  # fmt: skip
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
