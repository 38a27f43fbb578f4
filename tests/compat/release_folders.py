"""Data folders between Ottla, Apache Kafka and the release of Kafka before, at each level.

    python -m tests.compat.release_folders

Each program formats a folder at each `metadata.version` of the two releases that it supports, and
fills it. Each other program opens it, reads what is there, writes more and goes; then the first
program opens the folder again. Prints a table; exit 1 where a folder is refused though the program
supports its level, or where something was not there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from controller.metadata.version import release_level
from tests.chaos.rolling_release import Roll
from tests.compat.folder_contents import assert_same, commit, contents, create_topic, produce
from tests.tools.apache_kafka import SINGLE_NODE
from tests.tools.cluster_processes import KAFKA, OTTLA, ClusterProcesses, Program
from tests.tools.kafka_release import PREVIOUS, RELEASE

PROGRAMS = {
    f"Kafka {PREVIOUS}": Program(KAFKA, release=PREVIOUS),
    f"Kafka {RELEASE}": Program(KAFKA, release=RELEASE),
    "Ottla": Program(OTTLA),
}
LEVELS = {release: release_level(release) for release in (PREVIOUS, RELEASE)}
"""The level of `metadata.version` of each release."""
METADATA_VERSION = "metadata.version"
NODE = 1
RECORDS = 30
"""So many in each codec: `commit` reads 100 of them."""
OPENS = "opens, and back"


def supports(name: str, level: int) -> bool:
    """Return whether the program knows the level."""
    return level <= (LEVELS[PREVIOUS] if PREVIOUS in name else LEVELS[RELEASE])


def outcomes(first: str, level: int) -> Iterator[tuple[str, str]]:
    """Format and fill a folder by the program `first`; yield each other program and the outcome."""
    program = PROGRAMS[first]
    features = {METADATA_VERSION: level, "share.version": 0, "streams.version": 0}
    with ClusterProcesses(1, program=program, features=features, properties=SINGLE_NODE) as cluster:
        create_topic(cluster.bootstrap)
        written = 0
        for second in PROGRAMS:
            produce(cluster.bootstrap, written, RECORDS)
            commit(cluster.bootstrap)
            before = contents(cluster.bootstrap)
            roll = Roll(cluster)
            words = roll.refusal(NODE, PROGRAMS[second])
            if words is None:
                assert_same(contents(cluster.bootstrap), before)
                produce(cluster.bootstrap, written + RECORDS, RECORDS)
                before = contents(cluster.bootstrap)
            written += 2 * RECORDS
            roll.one_to(NODE, program)
            assert_same(contents(cluster.bootstrap), before)
            yield second, OPENS if words is None else _reason(words)


def _reason(words: str) -> str:
    """Return the line of a log that says why the program ended: of a stack trace its last cause."""
    lines = words.splitlines()
    causes = [line for line in lines if line.startswith("Caused by:")]
    return (causes or lines)[-1]


def main() -> int:
    """Print the table, and return the exit code."""
    wrong = 0
    print("| formatted by | level | " + " | ".join(PROGRAMS) + " |")
    print("| --- " * (2 + len(PROGRAMS)) + "|", flush=True)
    for first in PROGRAMS:
        for level in LEVELS.values():
            if not supports(first, level):
                continue
            row = dict(outcomes(first, level))
            wrong += sum((row[second] == OPENS) != supports(second, level) for second in PROGRAMS)
            print(f"| {first} | {level} | " + " | ".join(row.values()) + " |", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
