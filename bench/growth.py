"""`python -m bench.growth`: the growth of a request's cost with idle things beside it.

Each curve has a peer for each size. All run at once on new data and are loaded in turns, forwards
and backwards, so that a machine whose speed drifts favours no size. A cost is broker CPU per
request, the median of the turns; its growth is the median of each turn's ratio to the smallest size
in the same turn. Then the CPU of the idle peers is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench.curves import CURVES, Curve, Prepared
from bench.growth_picture import picture
from bench.idle import RATIO_LIMIT, cpu_per_unit
from bench.peers import BenchPeer, start_peer
from bench.scenario import Load

TURNS = 5
WINDOW_S = 1.0
SETTLE_S = 3.0


@dataclass(slots=True)
class PeerCurve:
    """A curve of one peer. `turns` has, by size, the CPU seconds per request of each turn."""

    curve: str
    peer: str
    turns: dict[int, list[float]]
    idle: dict[int, float] = field(default_factory=dict)
    """The share of a core that an idle peer takes, by size."""
    memory_mib: dict[int, float] = field(default_factory=dict)

    @property
    def cost_us(self) -> dict[int, float]:
        """The median of microseconds per request, by size."""
        return {size: statistics.median(turns) * 1e6 for size, turns in self.turns.items()}

    @property
    def growth(self) -> dict[int, float]:
        """The cost as a multiple of that of the smallest size, by size."""
        least = self.turns[min(self.turns)]
        return {
            size: statistics.median(
                turn / smallest for turn, smallest in zip(turns, least, strict=True)
            )
            for size, turns in self.turns.items()
        }

    @property
    def is_flat(self) -> bool:
        """Whether no size costs more than the goal allows."""
        return max(self.growth.values()) <= RATIO_LIMIT


def in_turns(
    loads: Mapping[int, tuple[BenchPeer, Load]], turns: int, window_s: float
) -> dict[int, list[float]]:
    """Return, by size, `turns` values of CPU seconds per request, measured to and fro."""
    values_by_size: dict[int, list[float]] = {size: [] for size in loads}
    order = list(loads)
    for number in range(turns):
        for size in order if number % 2 == 0 else reversed(order):
            peer, load = loads[size]
            values_by_size[size].append(cpu_per_unit(peer, load, window_s))
    return values_by_size


def measure(curve: Curve, name: str, turns: int, window_s: float) -> PeerCurve:
    """Measure a curve with one kind of peer."""
    peers: dict[int, BenchPeer] = {}
    loads: dict[int, tuple[BenchPeer, Load]] = {}
    with ExitStack() as stack:
        for size in curve.sizes:
            peer = peers[size] = start_peer(name)
            stack.callback(peer.stop)
            prepared: Prepared = curve.prepare(peer, size)
            stack.callback(prepared.close)
            loads[size] = (peer, prepared.load)
        time.sleep(min(SETTLE_S, 3 * window_s))
        for _, load in loads.values():
            load(2 * window_s)  # warm-up
        measured = PeerCurve(curve.name, name, in_turns(loads, turns, window_s))
        measured.idle = {size: idle_share(peer, window_s) for size, peer in peers.items()}
        measured.memory_mib = {size: peer.resident_mib() for size, peer in peers.items()}
    return measured


def idle_share(peer: BenchPeer, window_s: float) -> float:
    """Return the share of a core, 0 to 1, that an idle peer takes in two windows."""
    cpu, began = peer.cpu_seconds(), time.monotonic()
    time.sleep(2 * window_s)
    return (peer.cpu_seconds() - cpu) / (time.monotonic() - began)


def table(curves: Sequence[Curve], all_measured: Sequence[PeerCurve]) -> list[str]:
    """Return the lines of a block for each curve, with a row for each peer and size."""
    lines = []
    for curve in curves:
        lines.append(f"{curve.what} ({curve.request})")
        for measured in all_measured:
            if measured.curve != curve.name:
                continue
            for size, cost in measured.cost_us.items():
                growth = measured.growth[size]
                verdict = "" if growth <= RATIO_LIMIT else f"  grows: goal ≤ {RATIO_LIMIT}"
                lines.append(
                    f"  {measured.peer:10}{size:6,}{cost:9.1f} µs/req {growth:6.2f} ×"
                    f"   idle {measured.idle[size] * 100:5.2f} % core"
                    f" {measured.memory_mib[size]:7.0f} MiB{verdict}"
                )
    return lines


def as_json(all_measured: Sequence[PeerCurve]) -> str:
    """Return every turn of every size, with the machine and the day."""
    return json.dumps(
        {
            "date": time.strftime("%Y-%m-%d"),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "curves": [
                {
                    "curve": measured.curve,
                    "peer": measured.peer,
                    "sizes": list(measured.turns),
                    "us_per_request": [
                        [round(turn * 1e6, 2) for turn in turns]
                        for turns in measured.turns.values()
                    ],
                    "growth": [round(value, 3) for value in measured.growth.values()],
                    "idle_share": [round(value, 4) for value in measured.idle.values()],
                    "memory_mib": [round(value, 1) for value in measured.memory_mib.values()],
                }
                for measured in all_measured
            ],
        },
        indent=1,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if Ottla's cost grows with idle things."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("--peers", default="ottla", help="as of python -m bench; default: ottla")
    parser.add_argument("--curves", help=f"of {', '.join(curve.name for curve in CURVES)}")
    parser.add_argument("--turns", type=int, default=TURNS, help="of each size")
    parser.add_argument("--window", type=float, default=WINDOW_S, help="seconds of one turn")
    parser.add_argument("--json", type=Path, help="write every turn to this file")
    parser.add_argument("--picture", type=Path, help="draw the curves into this file (SVG)")
    options = parser.parse_args(arguments)
    wanted = options.curves.split(",") if options.curves else [curve.name for curve in CURVES]
    if unknown := set(wanted) - {curve.name for curve in CURVES}:
        parser.error(f"there is no curve {', '.join(sorted(unknown))}")
    curves = [curve for curve in CURVES if curve.name in wanted]
    all_measured: list[PeerCurve] = []
    for curve in curves:
        for name in options.peers.split(","):
            print(f"{name}: {curve.what}", file=sys.stderr, flush=True)
            all_measured.append(measure(curve, name, options.turns, options.window))
            if options.json:
                options.json.write_text(as_json(all_measured) + "\n")
    print(
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, Python {platform.python_version()}"
    )
    print("\n".join(table(curves, all_measured)))
    if options.picture:
        options.picture.write_text(picture(curves, all_measured))
    own = [measured for measured in all_measured if measured.peer.startswith("ottla")]
    return 0 if all(measured.is_flat for measured in own) else 1


if __name__ == "__main__":
    sys.exit(main())
