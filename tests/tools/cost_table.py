"""Tables of the time that a run of the tests took, and a check of its budget.

    python -m tests.tools.cost_table FILE [--slowest 100]     seconds by folder, the slowest tests
    python -m tests.tools.cost_table FILE --check             exit code 1 if a budget is exceeded

`pytest --costs=FILE` writes FILE. `tests/budget.toml` has the budgets, in processor seconds, which
vary little on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Cost: TypeAlias = dict[str, float]
"""`wall` and `cpu` in seconds, `jvm` and `broker` as numbers of starts."""
Costs: TypeAlias = Mapping[str, Cost]
"""The cost of each test, by its node id."""

BUDGET = Path(__file__).resolve().parents[1] / "budget.toml"


@dataclass(frozen=True)
class Budget:
    """The processor seconds that the tests of a folder, and a single test, may take."""

    folders: Mapping[str, float]
    test_s: float
    larger: tuple[str, ...]
    """Beginnings of the node ids of tests without the limit of a test: Spark, simulated clusters.
    """

    @classmethod
    def read(cls, file: Path = BUDGET) -> Budget:
        """Read the budget from a file such as `tests/budget.toml`."""
        values = tomllib.loads(file.read_text())
        return cls(values["folders"], values["test_s"], tuple(values["larger"]))

    def excesses(self, costs: Costs) -> list[str]:
        """Return a line for each folder and each test above its budget."""
        spent = {name: total["cpu"] for name, total in by_folder(costs).items()}
        lines = [
            f"{name} took {seconds:.0f} s of processor time, its budget is {self.of(name):.0f} s"
            for name, seconds in sorted(spent.items())
            if seconds > self.of(name)
        ]
        for name, cost in sorted(costs.items()):
            if cost.get("cpu", 0) > self.test_s and not name.startswith(self.larger):
                lines.append(
                    f"{name} took {cost['cpu']:.0f} s, a test may take {self.test_s:.0f} s"
                )
        return lines

    def of(self, folder: str) -> float:
        """Return a folder's processor seconds; 0 for a folder without a budget."""
        return self.folders.get(folder, 0)


def folder_of(node_id: str) -> str:
    """Return the folder whose budget a test counts for: `tests/x`, or in `tests/unit` the
    package's.
    """
    parts = node_id.partition("::")[0].split("/")[:-1]
    return "/".join(parts[: 3 if parts[1:2] == ["unit"] else 2])


def by_folder(costs: Costs) -> dict[str, Cost]:
    """Return the sums of each folder; `tests` is the number of its tests."""
    folders: dict[str, Cost] = {}
    for node_id, cost in costs.items():
        total = folders.setdefault(
            folder_of(node_id),
            {"tests": 0, "wall": 0, "cpu": 0, "waiting": 0, "jvm": 0, "broker": 0},
        )
        waiting = max(0, cost.get("wall", 0) - cost.get("cpu", 0))
        for name, amount in {"tests": 1, "waiting": waiting, **cost}.items():
            total[name] += amount
    return folders


def slowest(costs: Costs, count: int) -> list[str]:
    """Return a line for each of the `count` tests that took longest."""
    ordered = sorted(costs.items(), key=lambda item: -item[1].get("wall", 0))
    return [
        f"{cost.get('wall', 0):7.1f} s, processor {cost.get('cpu', 0):6.1f} s  {node_id}"
        for node_id, cost in ordered[:count]
    ]


def table(costs: Costs) -> list[str]:
    """Return the seconds and starts by folder, with the sum, as lines of Markdown."""
    columns = ("tests", "wall", "cpu", "waiting", "jvm", "broker")
    rows = sorted(by_folder(costs).items(), key=lambda row: -row[1]["wall"])
    total = {name: sum(row[name] for _, row in rows) for name in columns}
    lines = ["| folder | " + " | ".join(columns) + " |", "| --- |" + " ---: |" * len(columns)]
    for folder, row in [*rows, ("all", total)]:
        lines.append(f"| {folder} | " + " | ".join(f"{row[name]:,.0f}" for name in columns) + " |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.tools.cost_table")
    parser.add_argument("file", type=Path)
    parser.add_argument("--slowest", type=int, default=20, metavar="N")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    costs: Costs = json.loads(options.file.read_text())
    if options.check:
        excesses = Budget.read().excesses(costs)
        print("\n".join(excesses) or "every folder and test is within its budget")
        return 1 if excesses else 0
    print("\n".join([*table(costs), "", *slowest(costs, options.slowest)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
