"""`python -m bench`: the same load on Ottla and on Apache Kafka, as a table with ratios.

Peers run one after the other and alternate (A B A B), each time on fresh data, so that a machine
whose speed drifts favours neither. What is printed is the median of the alternations and the least
and greatest ratio of neighbours.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.cluster import CLUSTER_PEERS, CLUSTER_SCENARIOS
from bench.peers import PEERS
from bench.scenarios import LARGER, SCENARIOS, SMALLER, WINDOW_S, Figure

Rounds = dict[str, list[dict[str, Figure]]]

ROOT = Path(__file__).resolve().parent.parent
COMPILED = ("broker", "controller", "protocol", "storage")


def measure(
    peer: Any, scenarios: Mapping[str, Callable[[Any, float], list[Figure]]], window_s: float
) -> dict[str, Figure]:
    """All figures of one peer on fresh data."""
    figures = [
        Figure("start to first answer", "s", peer.start_s, SMALLER),
        Figure("memory, idle", "MiB", peer.resident_mib(), SMALLER),
    ]
    for name, scenario in scenarios.items():
        print(f"  {peer.name}: {name}", file=sys.stderr)
        figures += scenario(peer, window_s)
    figures.append(Figure("memory, after the load", "MiB", peer.resident_mib(), SMALLER))
    return {figure.name: figure for figure in figures}


def table(rounds: Rounds) -> list[str]:
    """Rows of medians; with two peers, the ratio first/second and its spread."""
    names = list(rounds)
    lines = [f"{'':40}" + "".join(f"{name:>12}" for name in names) + "       ratio   (min–max)"]
    for label, figure in rounds[names[0]][0].items():
        medians = [statistics.median(r[label].value for r in rounds[name]) for name in names]
        row = f"{label + ', ' + figure.unit:40}" + "".join(f"{value:12.4g}" for value in medians)
        if len(names) == 2:
            pairs = zip(rounds[names[0]], rounds[names[1]], strict=True)
            ratios = [a[label].value / b[label].value for a, b in pairs]
            arrow = "≥" if figure.better == LARGER else "≤"
            middle = statistics.median(ratios)
            row += f"  {middle:8.2f} ×   ({min(ratios):.2f}–{max(ratios):.2f})  {arrow} is better"
        lines.append(row)
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--peers", default="ottla,kafka", help="which, in which order")
    parser.add_argument("--cluster", action="store_true", help="three nodes of each, RF 3")
    parser.add_argument(
        "--spark", action="store_true", help="rows a second of Spark's Kafka source"
    )
    parser.add_argument(
        "--transactions", action="store_true", help="transactions a second, one node and RF 3"
    )
    parser.add_argument("--records", type=int, default=5_000_000, help="that Spark reads")
    parser.add_argument("--scenarios", help="which; default: all")
    parser.add_argument("--rounds", type=int, default=3, help="alternations")
    parser.add_argument("--window", type=float, default=WINDOW_S, help="seconds of one measurement")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    if options.spark:
        # Imported here: the rest needs no Spark.
        return int(import_module("bench.spark").run(options.records, options.rounds, options.json))
    if options.transactions:
        module = import_module("bench.transactions")
        names = options.scenarios.split(",") if options.scenarios else module.SCENARIOS
        peers_asked = options.peers.split(",")
        return int(
            module.run(peers_asked, options.rounds, options.window, names, options.json, table)
        )
    known: Mapping[str, Any] = CLUSTER_SCENARIOS if options.cluster else SCENARIOS
    peers: Mapping[str, Any] = CLUSTER_PEERS if options.cluster else PEERS
    names = options.scenarios.split(",") if options.scenarios else list(known)
    scenarios = {name: known[name] for name in names}
    for package in COMPILED:
        # As pip does with what it installs, and Kafka's jars are: a start compiles nothing.
        compileall.compile_dir(ROOT / package, quiet=1)
    rounds: Rounds = {name: [] for name in options.peers.split(",")}
    for number in range(options.rounds):
        for name in rounds:
            print(f"round {number + 1} of {options.rounds}: {name}", file=sys.stderr)
            peer = peers[name]()
            try:
                rounds[name].append(measure(peer, scenarios, options.window))
            finally:
                peer.stop()
    print(
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, Python {platform.python_version()}"
    )
    print("\n".join(table(rounds)))
    if options.json:
        flat = {
            name: [{k: f.value for k, f in figures.items()} for figures in measured]
            for name, measured in rounds.items()
        }
        options.json.write_text(json.dumps(flat, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
