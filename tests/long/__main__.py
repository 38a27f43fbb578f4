"""`python -m tests.long`, which is `make test-long`: the suites that are not part of `make test`.

Runs one suite after the other, first what has not passed for longest. What a suite prints goes to
`.cache/long/NAME.log`. A suite that passes on committed files gets its row in `passed.toml`, at
once, so that a run in pieces keeps what passed. The exit code is 1 where a suite failed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.long import passed
from tests.long.suites import Suite, fitting, suites, unpassed_for
from tests.plugins import toolchains

LOGS = Path(".cache/long")
LAST_LINES = 30
NAMED_MAX = 8
"""The warning names so many suites, and counts the others."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suites that the arguments choose, and return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    known, passes, commits = suites(), passed.read(), passed.history()
    ages = passed.ages(passes, commits)
    if options.warn is not None:
        late = unpassed_for(known.values(), ages, options.warn) if commits else []
        print(warning(late, options.warn), end="\n" if late else "")
        return 0
    if unknown := set(options.suites) - set(known):
        parser.error(f"no suite is named {', '.join(sorted(unknown))}; --list names them")
    asked = [known[name] for name in options.suites] or known.values()
    wanted = unpassed_for(asked, ages, options.stale)
    if options.list:
        print("\n".join(_listed(suite, ages, passes) for suite in wanted))
        return 0
    commit = next(iter(commits)) if commits and not options.dirty else None
    if not options.dirty and not (commit and passed.is_as_committed(commit)):
        print("tracked files are not as committed: --dirty runs, and keeps no pass")
        return 1
    lacks = {suite.name: why_not(suite) for suite in wanted}
    for reason in sorted({*lacks.values()} - {""}):
        print(f"{reason}: not run: {', '.join(name for name in lacks if lacks[name] == reason)}")
    ready = [suite for suite in wanted if not lacks[suite.name]]
    chosen = ready if options.within is None else fitting(ready, options.within)
    seed = options.seed or random.randint(1, 999_999)
    print(f"{len(chosen)} suites, {sum(s.minutes for s in chosen):g} minutes, seed {seed}")
    failed = sum(not run(suite, seed, commit) for suite in chosen)
    return min(failed, 1)


def run(suite: Suite, seed: int, commit: str | None) -> bool:
    """Return whether a suite passes, and keep that it does so at a commit, unless that is None."""
    log = passed.ROOT / LOGS / f"{suite.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    print(f"{suite.name:26}", end="", flush=True)
    began = time.monotonic()
    status = _status(suite.words(seed), log)
    seconds = round(time.monotonic() - began)
    if status:
        last = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        print(f"FAILED {seconds:6} s, status {status}, {log} ends:", *last, sep="\n", flush=True)
        return False
    keeps = commit is not None and passed.is_as_committed(commit)
    print(f"passed {seconds:6} s{'' if keeps else ', not kept'}", flush=True)
    if keeps:
        drawn = seed if suite.is_seeded else None
        passed.record(suite.name, passed.Pass(commit, datetime.now(UTC), seconds, drawn))
    return True


def _status(words: list[str], log: Path) -> int:
    """Return a command's exit code. Where the run is stopped, stop it, and let it clean up."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    with open(log, "w") as file:
        process = subprocess.Popen(
            words,
            cwd=passed.ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait()
        except KeyboardInterrupt:
            with contextlib.suppress(ProcessLookupError):  # it has ended at this moment
                os.killpg(process.pid, signal.SIGINT)
            process.wait()
            raise


def why_not(suite: Suite) -> str:
    """Return what a suite lacks on this machine, empty for nothing."""
    lacks = (toolchains.why_not(need) for need in suite.needs)
    return next((reason for reason in lacks if reason), "")


def warning(unpassed: Sequence[Suite], commits: int) -> str:
    """Return a line about suites that have not passed for so many commits, empty for none."""
    names = [suite.name for suite in unpassed]
    if more := names[NAMED_MAX:]:
        names[NAMED_MAX:] = [f"{len(more)} more (make test-long ARGS=--list)"]
    return f"Not passed for {commits} commits: {', '.join(names)}" if names else ""


def _listed(suite: Suite, ages: Mapping[str, int], passes: Mapping[str, passed.Pass]) -> str:
    """Return a suite's line of `--list`."""
    last = "never passed"
    if suite.name in ages:
        last = f"{passes[suite.name].commit} {ages[suite.name]:5} commits ago"
    kind = "figures " if suite.figure else ""
    return f"{suite.name:26}{suite.minutes:4g} min  {last:32} {kind}guards {' '.join(suite.guards)}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.long", description=__doc__)
    parser.add_argument("--list", action="store_true", help="run none, tell when each passed")
    parser.add_argument(
        "--suites", type=lambda names: names.split(","), default=[], help="these, by commas"
    )
    parser.add_argument("--stale", type=int, default=0, help="not passed for so many commits")
    parser.add_argument("--within", type=float, metavar="MINUTES", help="as many as fit")
    parser.add_argument("--seed", type=int, help="of all that is drawn (default: another one)")
    parser.add_argument("--dirty", action="store_true", help="of changed files; no pass is kept")
    parser.add_argument(
        "--warn", type=int, metavar="COMMITS", help="run none, name what has not passed for so many"
    )
    return parser


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        # A shell has its background jobs ignore SIGINT, and suites would inherit that.
        signal.signal(number, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(" stopped")
