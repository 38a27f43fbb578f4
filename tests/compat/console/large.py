"""`python -m tests.compat.console.large`: the console in front of much, and of a broker that dies.

Ten thousand topics' names, a million records of about 200 bytes that are searched, three nodes of
which one is killed while the page of replicas is looked at: the one that the console was told of.
Tells how long each took in Chromium,
and how smoothly a table of ten thousand rows scrolls there.
`--peer kafka`: the same in front of Apache Kafka. The status is 1 where something went wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.compat.console.scene import ORDERS, make_scene
from tests.tools.cluster_processes import ClusterProcesses
from tests.tools.console import Tab, chromium, running_console
from tests.tools.waiting import wait_until

SEARCH_WITHIN_MS = 120_000
DIES = 2


def main() -> int:
    """0, or an assertion."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--peer", choices=("ottla", "kafka"), default="ottla")
    asked = parser.parse_args()
    with ClusterProcesses(3, peer=asked.peer, heap="768m") as cluster:
        with _timed("made the scene"):
            make_scene(cluster.bootstrap, replicas=3, orders=asked.records, topics=asked.topics)
        folder = cluster.brokers[0].data_dir
        named = cluster.nodes[DIES].address
        with running_console(named, data=[folder]) as link, chromium() as browser:
            tab = Tab(browser, link)
            _look(tab, asked.topics)
            _search(tab, asked.records)
            _watch_a_death(tab, cluster)
            tab.close()
    return 0


def _look(tab: Tab, topics: int) -> None:
    with _timed("overview"):
        tab.wait("Healthy")
    with _timed(f"{topics:,} topics, filtered to one"):
        tab.go("/topics")
        tab.wait(ORDERS)
        tab.page.keyboard.press("/")
        name = f"shop.events.{topics - 1:05}"
        tab.page.keyboard.type(name)
        tab.page.get_by_role("link", name=name).wait_for()
    with _timed("replicas of all of them"):
        tab.go("/replicas")
        tab.wait("on 3 brokers")
    median_ms, slow_ms = _frames_ms(tab)
    print(f"it scrolls: {median_ms:.0f} ms a frame, 1 of 20 takes {slow_ms:.0f} ms", flush=True)
    with _timed("the segments of as many folders"):
        tab.go("/segments")
        tab.wait(f"{ORDERS}-0")
    with _timed("the segments of one of them"):
        tab.go(f"/segments/{ORDERS}/0")
        tab.wait("high watermark")


def _frames_ms(tab: Tab) -> tuple[float, float]:
    """Of a hundred frames in which each table moves on: the median, and the 95th percentile."""
    times = tab.page.evaluate(
        """async () => {
            const times = [];
            let last = performance.now();
            for (let at = 0; at < 100; at++) {
                for (const box of document.querySelectorAll("main *")) {
                    if (box.scrollHeight > box.clientHeight) box.scrollBy(0, 200);
                }
                await new Promise(requestAnimationFrame);
                const now = performance.now();
                times.push(now - last);
                last = now;
            }
            return times.sort((one, other) => one - other);
        }"""
    )
    return times[50], times[95]


def _search(tab: Tab, records: int) -> None:
    page = tab.go(f"/topics/{ORDERS}/messages")
    tab.wait("The newest 50")
    page.get_by_role("searchbox").first.fill(f'"order": {records // 2},')
    with _timed(f"{records:,} records searched"):
        page.get_by_role("button", name="Search").click()
        page.get_by_text("1 match for").first.wait_for(timeout=SEARCH_WITHIN_MS)


def _watch_a_death(tab: Tab, cluster: ClusterProcesses) -> None:
    tab.go("/replicas")
    tab.wait("on 3 brokers")
    cluster.kill(DIES)
    with _timed("a death is seen"):
        _until_it_says(tab, f"broker {DIES} left")
    with _timed("the overview without it"):
        tab.go("/")
        tab.wait("Degraded")
    tab.go("/replicas")
    tab.wait("on 3 brokers")
    cluster.start_node(DIES)
    with _timed("its return is seen"):
        _until_it_says(tab, f"broker {DIES} joined the cluster")


def _until_it_says(tab: Tab, words: str) -> None:
    wait_until(lambda: tab.page.get_by_text(words).count() > 0, f"nobody says that {words}")


@contextmanager
def _timed(what: str) -> Iterator[None]:
    begun = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - begun:.2f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
