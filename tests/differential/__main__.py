"""The command: sequences and grids on Ottla and on an Apache Kafka, and what differs.

    python -m tests.differential --sequences 1000 --seed 1     # and all grids
    python -m tests.differential --sequences 0 --grids frames  # a grid alone
    python -m tests.differential --replay sequence.json
    python -m tests.differential --peer-version VERSION        # of the release before

Starts both brokers and stops them; `--jobs N` shares the sequences between N pairs of brokers. Exit
1 where a difference is no row of `differences.toml`, or, in a run of all grids against the
reference, where a row is not met any more. The release before differs where Kafka has changed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.differential.campaign import Report
from tests.differential.differences import stale
from tests.differential.grids import GRIDS
from tests.differential.jobs import report_of
from tests.tools.kafka_release import BY_NUMBER, RELEASE


def main() -> int:
    options = _options()
    report = report_of(options)
    gone = [] if _is_partial(options) else stale(report.rows)
    show(report, gone, options.folder)
    return 1 if report.findings or gone else 0


def _is_partial(options: argparse.Namespace) -> bool:
    chosen = options.replay or options.grids is not None or options.every > 1 or options.skip
    return bool(chosen) or BY_NUMBER[options.peer_version] != RELEASE


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.differential")
    parser.add_argument("--sequences", type=int, default=200, help="random ones")
    parser.add_argument("--length", type=int, default=30, help="requests in each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first sequence")
    parser.add_argument("--jobs", type=int, default=1, help="pairs of brokers side by side")
    parser.add_argument("--grids", nargs="*", choices=list(GRIDS), help="these only, or none")
    parser.add_argument("--every", type=int, default=1, help="one sequence in so many of a grid")
    parser.add_argument("--replay", type=Path, nargs="+", help="sequences kept as JSON")
    parser.add_argument("--folder", type=Path, help="where the shortest sequences are kept")
    parser.add_argument("--peer-version", choices=list(BY_NUMBER), default=next(iter(BY_NUMBER)))
    parser.add_argument("--texts", action="store_true", help="compare error messages, too")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--skip", help="differences not to look at, by regular expression")
    return parser.parse_args()


def show(report: Report, gone: list[str], folder: Path | None) -> None:
    """The report for people: counts first, then what is unexplained."""
    requests = sum(report.asked.values())
    print(f"\n{report.sequences} sequences, {requests} requests, {report.seconds:.0f} s")
    for api in sorted({api for api, _ in report.asked}):
        counts = {v: n for (one, v), n in sorted(report.asked.items()) if one == api}
        print(f"  {api}: " + " ".join(f"v{v}:{n}" for v, n in counts.items()))
    for row, count in report.rows.most_common():
        print(f"  row {row}: {count}")
    for text in report.not_again:
        print(f"  seen once and not again: {text}")
    for text, count in report.skipped.most_common():
        print(f"  not looked at, {count} times: {text}")
    for row in gone:
        print(f"  STALE: row {row} is not met any more")
    for number, finding in enumerate(report.findings.values()):
        print(f"  UNEXPLAINED, {finding.times} times: {finding.found.difference}"[:300])
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number}.json").write_text(finding.sequence.to_json())
    print(f"{len(report.findings)} unexplained, {len(gone)} stale")


if __name__ == "__main__":
    sys.exit(main())
