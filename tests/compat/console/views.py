"""The views of the console in front of the scene, for walks before Ottla and Apache Kafka."""

from __future__ import annotations

from tests.compat.console.scene import LAGGING, ORDERS

VIEWS = {
    "/": "Healthy",
    "/topics": ORDERS,
    f"/topics/{ORDERS}": "Partitions",
    f"/topics/{ORDERS}/messages": "The newest 50 of 401 offsets",
    f"/topics/{ORDERS}/messages/0/1": "Max timestamp",
    "/groups": LAGGING,
    f"/groups/{LAGGING}": "Lag over the last hour",
    "/transactions": "No records wait for a transaction",
    "/replicas": f"{ORDERS}-0",
    "/segments": f"{ORDERS}-0",
    f"/segments/{ORDERS}/0": "high watermark",
    "/flow": "How a record flows",
    "/quorum": "Leader",
    "/configs": "log.dirs",
    "/access": "User:alice",
}
"""The address of each view, and a text that it shows after its answer."""
