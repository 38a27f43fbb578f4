"""`python -m tests.compat.quota_rates`: what rates four clients reach under a quota.

Each cell is one client, produce or fetch, and 1 or 20 of them that log in as one user with a quota
of its own. A cell's rate is told as a share of its quota: over so many seconds from the first byte
on, and over as many after the first window, in which a broker lets go what was not used before it.
The status is 1 where a rate after the first window is not within 10 % of the quota.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from tests.compat.quota_rates.cells import (
    CLIENTS,
    COUNTS,
    OPERATIONS,
    Cell,
    Rates,
    every_cell,
)
from tests.compat.quota_rates.measure import MeasureOptions, measured
from tests.compat.quota_rates.peers import KAFKA, OTTLA

TOLERANCE = 0.1
AT_ONCE = 8


def main() -> int:
    options = _parser().parse_args()
    # The broker and the clients end with us, also where we are told to end.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    counts = [int(count) for count in options.counts.split(",")]
    cells = every_cell(options.clients.split(","), options.operations.split(","), counts)
    asked = MeasureOptions(options.seconds, options.quota)
    by_peer: dict[str, Mapping[Cell, Rates]] = {}
    for peer in options.peer or [OTTLA]:
        by_peer[peer] = measured(peer, cells, asked, options.at_once)
        print(table(peer, by_peer[peer]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(report_of(asked, by_peer), indent=1) + "\n")
    return 0 if all(is_within(one) for one in by_peer.get(OTTLA, {}).values()) else 1


def is_within(one: Rates) -> bool:
    """Whether it is the quota, but for a tenth."""
    return abs(one.after - 1) <= TOLERANCE


def table(peer: str, found: Mapping[Cell, Rates]) -> str:
    """A line a cell, percent of the quota."""
    lines = [f"{peer:44} from the start   after the first window"]
    for cell, one in found.items():
        what = f"{cell.client}, {cell.operation}, {cell.count} of one user"
        line = f"  {what:42} {one.from_start:12.1%} {one.after:18.1%}"
        lines.append(line if is_within(one) else f"{line}   NOT WITHIN {TOLERANCE:.0%}")
    return "\n".join(lines)


def report_of(
    asked: MeasureOptions, by_peer: Mapping[str, Mapping[Cell, Rates]]
) -> dict[str, object]:
    """As JSON has it."""
    rows = [
        {"peer": peer, **asdict(cell), **asdict(one)}
        for peer, found in by_peer.items()
        for cell, one in found.items()
    ]
    return {**asdict(asked), "rates": rows}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.compat.quota_rates", description=__doc__)
    parser.add_argument(
        "--peer",
        action="append",
        choices=(OTTLA, KAFKA),
        help="whose quotas; both where it is given twice (default: ottla)",
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="over how long a rate is")
    parser.add_argument("--quota", type=float, default=1_000_000.0, help="bytes a second, a cell")
    parser.add_argument("--clients", default=",".join(CLIENTS))
    parser.add_argument("--operations", default=",".join(OPERATIONS))
    parser.add_argument("--counts", default=",".join(map(str, COUNTS)))
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="cells that run together")
    parser.add_argument("--json", type=Path, help="where the result goes as well")
    return parser


if __name__ == "__main__":
    sys.exit(main())
