"""Runs of ducktape: the list of all cases, and a case on fresh hosts.

Owns the folders of results below `.cache/kafkatest/results/`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.kafkatest import layout
from tests.kafkatest.cases import Case
from tests.kafkatest.hosts import DEV, Hosts

HOSTS = 14
"""The number of hosts that the largest case needs."""
RESULTS = layout.WORK / "results"
WITHIN_S = 1500
"""A case that has not ended by then is stopped, and has failed."""
STOPS_WITHIN_S = 60
COLLECTED = ("kafkatest/sanity_checks", "kafkatest/tests")
_LAST_LETTERS = 600
ERROR_LETTERS_MAX = 300
_FOLDERS = re.compile(r"(?<![\w.])/(?:[\w.-]+/)+")


@dataclass(frozen=True)
class Outcome:
    """How a case ended."""

    passed: bool
    seconds: float
    error: str
    """The first line of the failure."""
    folder: Path
    """The logs of a case that failed."""


def collect() -> str:
    """Return ducktape's list of all cases."""
    with Hosts(1, layout.WORK) as hosts:
        words = [*_ducktape(hosts), "--results-root", str(RESULTS / "collected"), "--collect-only"]
        done = subprocess.run(
            [*words, *COLLECTED], env=_environment(1), stdout=subprocess.PIPE, text=True
        )
    return done.stdout


def run(case: Case, peer: str, patience: float) -> Outcome:
    """Run a case on `ottla` or `kafka`, on hosts of its own.

    Its waits last `patience` times as long as the test says.
    """
    (layout.DEV / "peer").write_text(f"{peer}\n")
    folder = RESULTS / f"{peer}-{datetime.now(UTC):%m%d-%H%M%S}"
    with Hosts(HOSTS, layout.WORK) as hosts:
        words = [*_ducktape(hosts), "--results-root", str(folder), "--max-parallel", "1"]
        words += ["--test-runner-timeout", str(WITHIN_S * 2000), case.symbol]
        if case.parameters:
            words += ["--parameters", case.parameters]
        began = time.monotonic()
        output = _output(words, patience)
        seconds = time.monotonic() - began
    outcome = _outcome(folder, seconds, output)
    if outcome.passed:
        shutil.rmtree(folder)
    return outcome


def _ducktape(hosts: Hosts) -> list[str]:
    """Return the command line of ducktape in the hub. Its script names a folder of the past."""
    script = "import sys; from ducktape.command_line.main import main; sys.exit(main())"
    tests = f'cd {DEV}/tests && exec "$0" "$@"'
    words = hosts.inside("sh", "-c", tests, layout.ducktapes_python(), "-c", script)
    cluster = ["--cluster", "ducktape.cluster.json.JsonCluster", "--default-num-nodes", "1"]
    return [*words, *cluster, "--cluster-file", str(hosts.cluster_file)]


def _environment(patience: float) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": f"{layout.PATIENCE}:{DEV}/tests",
        "PYTHONWARNINGS": "ignore",
        "PATIENCE": str(patience),
    }


def _output(words: list[str], patience: float) -> str:
    """Return what ducktape prints, and stop it after `WITHIN_S`."""
    process = subprocess.Popen(
        words,
        env=_environment(patience),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    for number, within_s in ((signal.SIGINT, WITHIN_S), (signal.SIGKILL, STOPS_WITHIN_S)):
        try:
            return process.communicate(timeout=within_s)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, number)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    return process.communicate()[0]


def _outcome(folder: Path, seconds: float, output: str) -> Outcome:
    """Return the outcome by ducktape's report, a failure if there is none."""
    reports = sorted(folder.glob("*/report.json"))
    results = json.loads(reports[0].read_text())["results"] if reports else []
    if not results:
        return Outcome(False, seconds, f"no report: {output[-_LAST_LETTERS:]}", folder)
    passed = all(result["test_status"] == "PASS" for result in results)
    summaries = (str(result["summary"]).strip() for result in results)
    error = next((brief(summary) for summary in summaries if summary), "")
    return Outcome(passed, seconds, "" if passed else error, folder)


def brief(summary: str) -> str:
    """Return the line of a failure that says most, with names of files instead of paths.

    It is the first line, or the last one of an error from another thread, which is quoted in it.
    The middle of a long line is left out.
    """
    first = summary.splitlines()[0]
    if "Traceback" in first:
        quoted = (text.strip(" '\")") for text in first.split("\\n"))
        first = [line for line in quoted if line][-1]
    text = _FOLDERS.sub("", first)
    half = ERROR_LETTERS_MAX // 2
    return text if len(text) <= ERROR_LETTERS_MAX else f"{text[:half]} … {text[-half:]}"
