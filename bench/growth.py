"""`python -m bench.growth`: how the cost of a request grows with what is idle beside it.

For each curve there is a peer for each size, all running at once on fresh data and loaded in turns,
forwards and backwards, so that a machine whose speed drifts favours no size. A cost is broker CPU
per request from `/proc`, the median of the turns; its growth is the median of each turn's ratio to
the least size in the same turn. Then the idle peers are watched: what they cost by themselves.
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
from bench.peers import Peer, start_peer
from bench.scenario import Load

TURNS = 5
WINDOW_S = 1.0
SETTLE_S = 3.0


@dataclass(slots=True)
class Measured:
    """One curve of one peer. `turns` has CPU seconds per request by size, a list of turns each."""

    curve: str
    peer: str
    turns: dict[int, list[float]]
    idle: dict[int, float] = field(default_factory=dict)
    """By size: share of a core that it takes when nobody asks."""
    memory_mib: dict[int, float] = field(default_factory=dict)

    @property
    def cost_us(self) -> dict[int, float]:
        """By size: microseconds per request."""
        return {size: statistics.median(turns) * 1e6 for size, turns in self.turns.items()}

    @property
    def growth(self) -> dict[int, float]:
        """By size: cost as a multiple of that of the least size."""
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
    loads: Mapping[int, tuple[Peer, Load]], turns: int, window_s: float
) -> dict[int, list[float]]:
    """CPU seconds per request by size: `turns` values each, in turns forwards and backwards."""
    found: dict[int, list[float]] = {size: [] for size in loads}
    order = list(loads)
    for number in range(turns):
        for size in order if number % 2 == 0 else reversed(order):
            peer, load = loads[size]
            found[size].append(cpu_per_unit(peer, load, window_s))
    return found


def measure(curve: Curve, name: str, turns: int, window_s: float) -> Measured:
    """One curve of one kind of peer."""
    peers: dict[int, Peer] = {}
    loads: dict[int, tuple[Peer, Load]] = {}
    with ExitStack() as stack:
        for size in curve.sizes:
            peer = peers[size] = start_peer(name)
            stack.callback(peer.stop)
            prepared: Prepared = curve.prepare(peer, size)
            stack.callback(prepared.close)
            loads[size] = (peer, prepared.load)
        time.sleep(min(SETTLE_S, 3 * window_s))
        for _, load in loads.values():
            load(2 * window_s)  # warm
        measured = Measured(curve.name, name, in_turns(loads, turns, window_s))
        measured.idle = {size: idle_share(peer, window_s) for size, peer in peers.items()}
        measured.memory_mib = {size: peer.resident_mib() for size, peer in peers.items()}
    return measured


def idle_share(peer: Peer, window_s: float) -> float:
    """Share of a core, 0 to 1, that it takes in two windows in which nobody asks."""
    cpu, began = peer.cpu_seconds(), time.monotonic()
    time.sleep(2 * window_s)
    return (peer.cpu_seconds() - cpu) / (time.monotonic() - began)


def table(curves: Sequence[Curve], all_measured: Sequence[Measured]) -> list[str]:
    """A block for each curve, a row for each peer and size."""
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


def as_json(all_measured: Sequence[Measured]) -> str:
    """Every turn of every size, with the machine and the day."""
    return json.dumps(
        {
            "date": time.strftime("%Y-%m-%d"),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "curves": [
                {
                    "curve": one.curve,
                    "peer": one.peer,
                    "sizes": list(one.turns),
                    "us_per_request": [
                        [round(turn * 1e6, 2) for turn in turns] for turns in one.turns.values()
                    ],
                    "growth": [round(value, 3) for value in one.growth.values()],
                    "idle_share": [round(value, 4) for value in one.idle.values()],
                    "memory_mib": [round(value, 1) for value in one.memory_mib.values()],
                }
                for one in all_measured
            ],
        },
        indent=1,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 1 where Ottla's cost grows with what is idle."""
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
    all_measured: list[Measured] = []
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
    own = [one for one in all_measured if one.peer.startswith("ottla")]
    return 0 if all(one.is_flat for one in own) else 1


if __name__ == "__main__":
    sys.exit(main())
