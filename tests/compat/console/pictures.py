"""`python -m tests.compat.console.pictures`: the pictures of the docs, made anew.

Three nodes, the scene of `scene`, and each view in light and dark at a desk. A picture that did not
change is not written. Needs Chromium.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.compat.console.scene import LAGGING, ORDERS, make_scene, trickle
from tests.tools.cluster_processes import ClusterProcesses
from tests.tools.console import Tab, chromium, running_console

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "pictures"
SIZE = (1280, 800)
SHOWN = {
    "overview": ("/", "Healthy"),
    "messages": (f"/topics/{ORDERS}/messages", "The newest 50"),
    "group": (f"/groups/{LAGGING}", "Lag over the last hour"),
    "replicas": ("/replicas", f"{ORDERS}-0"),
    "segments": (f"/segments/{ORDERS}/0", "high watermark"),
    "flow": ("/flow", "How a record flows"),
    "quorum": ("/quorum", "Leader"),
}
SETTLES_S = 6.0
"""Charts have a few points then."""


def main() -> int:
    """0."""
    FOLDER.mkdir(exist_ok=True)
    properties = {"ottla.trace.requests": "true"}
    with ClusterProcesses(3, properties=properties) as cluster:
        make_scene(cluster.bootstrap, replicas=3, orders=20_000)
        # A path of this machine is nothing to look at.
        folder = cluster.brokers[0].folder.parent
        data = [node.data_dir.relative_to(folder) for node in cluster.brokers]
        with (
            running_console(cluster.bootstrap, ["--allow-writes"], data, folder) as link,
            trickle(cluster.bootstrap, 250),
            chromium() as browser,
        ):
            for scheme in ("light", "dark"):
                tab = Tab(browser, link, size=SIZE, scheme=scheme)
                for name, (address, text) in SHOWN.items():
                    tab.go(address)
                    tab.wait(text)
                    if name == "flow":
                        tab.page.get_by_role("button", name="Send a record").click()
                    time.sleep(SETTLES_S)
                    tab.page.screenshot(path=FOLDER / f"console-{name}-{scheme}.png")
                    print(f"console-{name}-{scheme}.png")
                tab.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
