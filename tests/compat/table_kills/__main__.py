"""`python -m tests.compat.table_kills --kills 50 --to delta`: each offset once, whatever is killed.

Transactions are written to a topic, a third of them aborted, some values no text. The job fills
tables from it in small commits and merges often; it is killed with kill -9 at random moments, most
of them after it began to read, and started again. In the end a run goes through, and what Spark and
what engines without Java read of the tables is compared with what a stock consumer reads of the
topic. The status is 1 where a record is missing, or there twice, or another.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.compat.table_kills.killing import Killing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=240, help="no more kills after these")
    parser.add_argument("--to", choices=("delta", "iceberg"), default="delta")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--folder", type=Path, help="a new one is kept; else one that goes away")
    options = parser.parse_args()
    # The broker and the job end with us, also where we are told to end.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="table-kills-") as scratch:
        folder = options.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        killing = Killing(folder, options.to, options.seed)
        found = killing.run(options.kills, options.minutes * 60)
    print(f"{found}; seed {options.seed}, {time.monotonic() - began:.0f} s", flush=True)
    return 0 if found.holds else 1


if __name__ == "__main__":
    sys.exit(main())
