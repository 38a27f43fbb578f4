"""Follow the README and pages of docs/ as a newcomer does, in an account and clones of their own.

    python -m tests.newcomer                      # all pages, ten minutes
    python -m tests.newcomer README.md            # this page

Pastes each block into a real shell, and compares what is printed with what the page shows. Exit 1
where a command differs and `pages.toml` does not say why. Needs root, makes the user
`ottla-newcomer`, and uses the ports of the pages (9092 and others), /etc/ottla and the package
index. The account's Python is the system's, not that of the tests.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.newcomer.account import ROOT, USER, Account
from tests.newcomer.plan import Page, pages
from tests.newcomer.reader import Outcome, Reader

CAPTURED: dict[str, Any] = {"capture_output": True, "text": True, "check": True}


def main() -> int:
    """Follow the pages that the arguments name, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.newcomer")
    parser.add_argument("pages", nargs="*", help="these only, for example README.md")
    parser.add_argument("--list", type=Path, help="write a line for each command to this file")
    options = parser.parse_args()
    planned = {page.name: page for page in pages()}
    if unknown := [name for name in options.pages if name not in planned]:
        parser.error(f"no plan for {', '.join(unknown)}; there are: {', '.join(planned)}")
    if os.geteuid() != 0:
        parser.error("it makes a user account, so run it as root")
    if Account.exists():
        parser.error(f"there is a user {USER}; remove it with: userdel --remove {USER}")
    account = Account()
    lines = []
    verdicts: Counter[str] = Counter()
    try:
        account.prepare()
        for name in options.pages or planned:
            for outcome in follow(account, planned[name]):
                verdicts[outcome.verdict] += 1
                lines.append(row(name, outcome))
                print(lines[-1], flush=True)
                if outcome.verdict == "DIFFERS":
                    print(outcome.detail, flush=True)
    finally:
        account.remove()
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    print(counts)
    if options.list:
        commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, **CAPTURED)
        head = f"Written by python -m tests.newcomer at {commit.stdout.strip()}: {counts}"
        options.list.write_text("\n".join([head, "", *lines]) + "\n")
    return 1 if verdicts["DIFFERS"] else 0


def follow(account: Account, page: Page) -> Iterator[Outcome]:
    """Yield the outcomes of a page, followed from a fresh clone on."""
    reader = Reader(account, page)
    try:
        yield from reader.follow()
    finally:
        reader.close()


def row(page: str, outcome: Outcome) -> str:
    """Return the outcome as a line: place, verdict, the command's first line, the explanation."""
    first = outcome.command.splitlines()[0]
    why = f" ({outcome.detail})" if outcome.detail and outcome.verdict != "DIFFERS" else ""
    return f"{page}:{outcome.line}: {outcome.verdict}: {first}{why}"


if __name__ == "__main__":
    sys.exit(main())
