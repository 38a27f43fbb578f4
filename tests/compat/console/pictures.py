"""`python -m tests.compat.console.pictures`: the command that takes the pictures of the docs.

Each view of a cluster at work, in light and dark: three nodes with the topics and groups of
`scene`, a producer, and a group that keeps up while another falls behind. Needs Chromium.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from urllib.parse import quote, urlencode

from tests.compat.console.scene import (
    LAGGING,
    ORDERS,
    PAYMENTS,
    STEADY,
    consume,
    make_scene,
    open_transaction,
    trickle,
)
from tests.tools.cluster_processes import ClusterProcesses
from tests.tools.console import Tab, chromium, running_console

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "pictures"
SIZE = (1280, 800)
TRANSACTIONAL_ID = "refunds-worker-1"
FOUND = urlencode(
    {"q": "Kyoto", "filter": "value.total > 300 && value.gift == true"}, quote_via=quote
)
SHOWN = {
    "overview": ("/", "Healthy"),
    "messages": (f"/topics/{ORDERS}/messages", "The newest 50"),
    "filter": (f"/topics/{ORDERS}/messages?{FOUND}", "matches for"),
    "transactions": ("/transactions", TRANSACTIONAL_ID),
    "group": (f"/groups/{LAGGING}", "Lag over the last hour"),
    "replicas": ("/replicas", f"{ORDERS}-0"),
    "segments": (f"/segments/{ORDERS}/0", "high watermark"),
    "flow": ("/flow", "How a record flows"),
    "quorum": ("/quorum", "Leader"),
}
SETTLES_S = {"overview": 75.0, "group": 20.0}
"""Seconds before a view's picture, so that its charts have a curve."""
SETTLES_OTHERS_S = 6.0


def main() -> int:
    """Write the pictures to docs/pictures, and return 0."""
    FOLDER.mkdir(exist_ok=True)
    properties = {"ottla.trace.requests": "true"}
    with ClusterProcesses(3, properties=properties) as cluster:
        make_scene(cluster.bootstrap, replicas=3, orders=20_000)
        # The pictures show no path of the machine that takes them.
        folder = cluster.brokers[0].folder.parent
        data = [node.data_dir.relative_to(folder) for node in cluster.brokers]
        with (
            running_console(cluster.bootstrap, ["--allow-writes"], data, folder) as link,
            trickle(cluster.bootstrap, 250),
            consume(cluster.bootstrap, STEADY, ORDERS),
            open_transaction(cluster.bootstrap, TRANSACTIONAL_ID, PAYMENTS),
            chromium() as browser,
        ):
            for scheme in ("light", "dark"):
                tab = Tab(browser, link, size=SIZE, scheme=scheme)
                for name, (address, text) in SHOWN.items():
                    tab.go(address)
                    tab.wait(text)
                    if name == "flow":
                        tab.page.get_by_role("button", name="Send a record").click()
                    time.sleep(SETTLES_S.get(name, SETTLES_OTHERS_S))
                    tab.page.screenshot(path=FOLDER / f"console-{name}-{scheme}.png")
                    print(f"console-{name}-{scheme}.png")
                tab.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
