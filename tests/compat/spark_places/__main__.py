"""`python -m tests.compat.spark_places --place cluster`: every job, from generator to audit.

Without `--place` at each of them in turn; they stand in `places`. Prints a line for each job, and
what it said last where it failed; the exit code is 1 where one did.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.compat.spark_places.places import PLACES, Place
from tests.compat.spark_places.steps import Step, steps
from tests.tools.java_tools import PROJECT_DIR

JOB_S = 600
_LINES = 12


def run(step: Step, place: Place) -> str | None:
    """What it said last where it did not do what it must; None where it did."""
    # Without Spark the one, without a broker the others: told of one, they would refuse it.
    told = () if "--from-folder" in step.arguments else place.broker
    told += () if step.job == "generate" else place.spark
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pipeline", step.job, *told, *step.arguments],
            cwd=PROJECT_DIR,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=JOB_S,
        )
    except subprocess.TimeoutExpired:
        return f"no end within {JOB_S} s"
    said = done.stdout + done.stderr
    if done.returncode == 0 and step.says in said:
        return None
    return "\n".join([f"exit code {done.returncode}", *said.splitlines()[-_LINES:]])


def at(name: str, events: int, folder: Path) -> list[tuple[str, float, str | None]]:
    """All steps at one place: name, seconds, and what went wrong."""
    copied = folder / "copy"
    found = []
    with PLACES[name](folder) as place:
        for step in steps(place.root, events, str(copied), str(folder / "report.html")):
            if str(copied) in step.arguments and not copied.exists():
                shutil.copytree(place.data, copied)
            began = time.monotonic()
            wrong = run(step, place)
            found.append((step.name, time.monotonic() - began, wrong))
            verdict = "ok" if wrong is None else f"FAILED\n{wrong}"
            print(f"{name:8} {step.name:26} {found[-1][1]:6.1f} s  {verdict}", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.compat.spark_places", description=__doc__)
    parser.add_argument("--place", action="append", choices=tuple(PLACES))
    parser.add_argument("--events", type=int, default=500)
    options = parser.parse_args()
    # What was started here ends also where we are told to end.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    failed = 0
    for name in options.place or PLACES:
        with tempfile.TemporaryDirectory(prefix="spark-places-") as folder:
            found = at(name, options.events, Path(folder))
        wrong = sum(said is not None for _, _, said in found)
        spent = sum(seconds for _, seconds, _ in found)
        print(f"{name}: {len(found) - wrong} of {len(found)} jobs, {spent:.0f} s", flush=True)
        failed += wrong
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
