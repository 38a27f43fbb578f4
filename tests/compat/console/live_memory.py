"""`python -m tests.compat.console.live_memory`: the memory that a long live view takes.

A tab in Chromium watches a topic live, to which a producer writes 200 records a second, for ten
minutes. Each half minute the command prints the heap of the page after a garbage collection, and
the resident memory of the console's process. `--minutes N`, `--rate N`: for a shorter run, or
another rate. Linux only.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.compat.console.scene import ORDERS, make_scene, trickle
from tests.tools.cluster_processes import ClusterProcesses
from tests.tools.console import Tab, chromium, console_process

EACH_S = 30.0
MIB = 1024 * 1024


def main() -> int:
    """Print the figures, and return 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rate", type=int, default=200, help="records a second")
    options = parser.parse_args()
    properties = {"offsets.topic.replication.factor": "1"}
    with ClusterProcesses(1, properties=properties) as cluster:
        make_scene(cluster.bootstrap)
        with (
            console_process(cluster.bootstrap) as (link, process_id),
            trickle(cluster.bootstrap, options.rate),
            chromium() as browser,
        ):
            tab = Tab(browser, link)
            page = tab.go(f"/topics/{ORDERS}/messages?live=1")
            page.locator("tr.line").nth(199).wait_for()
            began_s = time.monotonic()
            while (elapsed_s := time.monotonic() - began_s) < options.minutes * 60 + 1:
                print(
                    f"{elapsed_s:4.0f} s: heap {tab.heap_bytes() / MIB:.1f} MiB, "
                    f"console {resident_bytes(process_id) / MIB:.0f} MiB",
                    flush=True,
                )
                page.wait_for_timeout(EACH_S * 1000)  # the page goes on meanwhile
            print(page.locator(".panel header").last.inner_text().replace("\n", " "))
            tab.close()
    return 0


def resident_bytes(process_id: int) -> int:
    """Return the resident memory of a process."""
    for line in Path(f"/proc/{process_id}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"process {process_id} has no VmRSS")


if __name__ == "__main__":
    sys.exit(main())
