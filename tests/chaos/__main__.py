"""`python -m tests.chaos --seconds 600 --seed 1 --peer ottla`: one run, its verdict as JSON.

Exit code 0: clean; 1: a promise was broken; 2: the run shows nothing (too few operations or kinds
of faults). With `--keep DIR` history, logs and data folders of a run that is not clean stay there.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from tests.chaos.run import ChaosRun, commit_of_sources
from tests.tools.cluster_processes import OTTLA, named_nodes

AROUND_S = 90
"""Of the whole time: boot, healing, the final reads and the comparison."""
KINDS_IN_A_LONG_RUN = 8


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, help="of the whole run (default 600)")
    parser.add_argument("--seed", type=int, default=None, help="of schedule and load")
    parser.add_argument("--runs", type=int, default=1, help="so many, with seeds one after another")
    parser.add_argument("--peer", default=OTTLA, help="ottla, kafka, or either @CHECKOUT, @RELEASE")
    parser.add_argument(
        "--others", type=named_nodes, default={}, help="other nodes, as 2=kafka,3=kafka@RELEASE"
    )
    parser.add_argument(
        "--secure", action="store_true", help="TLS and logins, for clients and between nodes"
    )
    parser.add_argument("--mode", choices=("raw", "confluent"), default="raw")
    parser.add_argument("--kinds", default=None, help="these faults in this order, by commas")
    parser.add_argument("--keep", type=Path, default=None, help="where a run that fails leaves all")
    parser.add_argument("--keep-always", action="store_true", help="a clean run leaves all too")
    options = parser.parse_args()
    first = options.seed if options.seed is not None else random.randrange(10**6)
    worst = 0
    for seed in range(first, first + options.runs):
        seconds = max(30, options.seconds - AROUND_S)
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
        run = ChaosRun(
            seconds=seconds,
            seed=seed,
            peer=options.peer,
            others=options.others,
            mode=options.mode,
            kinds=options.kinds.split(",") if options.kinds else None,
            folder=options.keep,
            keep_always=options.keep_always,
            secured=options.secure,
            least_faults=KINDS_IN_A_LONG_RUN if options.seconds >= 300 else 0,
        )
        print(
            f"seed {seed}, commit {commit_of_sources()}, {options.peer} {options.others or ''}",
            flush=True,
        )
        verdict = run.run()
        text = verdict.to_json()
        print(text, flush=True)
        if options.keep is not None:
            (options.keep / f"verdict-{seed}.json").write_text(text + "\n")
        worst = max(worst, verdict.exit_code, key=lambda code: (code == 1, code))
    return worst


if __name__ == "__main__":
    sys.exit(main())
