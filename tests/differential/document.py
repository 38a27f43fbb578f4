"""`docs/differences.md`, generated from the rows of `differences.toml`.

    python -m tests.differential.document            # writes the page
    python -m tests.differential.document --check    # fails if the page is stale

Owns the page's form and the texts between the tables.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from controller.metadata.version import LATEST_LEVEL, level_name
from tests.differential.differences import Row, rows
from tests.tools.kafka_release import RELEASE

PAGE = Path(__file__).resolve().parents[2] / "docs" / "differences.md"
_NUMBER = RELEASE.rpartition(".")[0]
_LEVEL = f"{LATEST_LEVEL}, which is {level_name(LATEST_LEVEL)}"
INTRODUCTION = f"""\
# What differs from Kafka

These tables list every deliberate difference from Apache Kafka {_NUMBER}. Any other difference is
a bug. A text without a subject in the columns *Kafka* and *Ottla* is about that broker, or about
the thing in the column *case*.

`make differential` sends the same requests to both brokers and compares their answers. A row with a
✓ explains a difference that this comparison finds. `make differential` fails if such a row explains
no difference any more. The page is generated from `tests/differential/differences.toml`: change
that file, then run `python -m tests.differential.document`.
"""
PROCESS = """
The *single-node profile* is the configuration of `ottla serve` without a configuration file. Rows
about this profile compare it with Kafka's defaults.
"""
NOT_SERVED = f"""
ApiVersions names only APIs that Ottla supports. A new cluster of Ottla finalizes
`metadata.version` ({_LEVEL}), `eligible.leader.replicas.version` (1),
`group.version` (1), `share.version` (2) and `transaction.version` (2). It does not finalize
`streams.version`, because clients would then use streams groups.

Ottla also opens a data folder in which Apache Kafka has finalized `streams.version`, and
`ottla format --feature` can finalize it. Its level stays in the metadata log and its snapshots. One
log line at the start names this feature, but ApiVersions does not. The records of streams groups
stay unchanged in `__consumer_offsets`.
"""
ODD = """
No client sends these requests. Ottla does not follow Kafka's answer to them.
"""
TITLES = {
    "process": ("Defaults and the process", PROCESS),
    "behaviour": ("Behaviour", ""),
    "requests": ("Odd requests", ODD),
    "not served": ("Not supported yet", NOT_SERVED),
}


def page() -> str:
    """Return the page's whole text."""
    parts = [INTRODUCTION]
    for section, (title, text) in TITLES.items():
        listed = [row for row in rows() if row.section == section]
        if listed:
            parts += [f"\n## {title}\n", text, "\n", _table(listed)]
    return "".join(parts)


def _table(listed: list[Row]) -> str:
    if listed[0].section == "not served":
        head = ("identifier", "feature", "Ottla")
        lines = [(_identifier(row), row.what, row.ottla) for row in listed]
    else:
        head = ("identifier", "case", "Kafka", "Ottla", "why")
        lines = [(_identifier(row), row.what, row.kafka, row.ottla, row.why) for row in listed]
    table = [head, ("---",) * len(head), *lines]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in table)


def _identifier(row: Row) -> str:
    return f"{row.id} ✓" if row.can_be_met else row.id


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential.document")
    parser.add_argument("--check", action="store_true")
    text = page()
    if parser.parse_args().check:
        if not PAGE.exists() or PAGE.read_text() != text:
            print("docs/differences.md is stale: python -m tests.differential.document")
            return 1
        return 0
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
