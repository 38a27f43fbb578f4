from __future__ import annotations

import pytest

from controller.node_refusals import LOG_INTERVAL_MS, NodeRefusals


def test_each_node_that_refuses_is_named_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    refusals = NodeRefusals("User:node", lambda: now[0])
    for _ in range(3):
        refusals.refused(2, "BROKER_REGISTRATION")
        refusals.refused(3, "Fetch")
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [
        "node 2 refuses BROKER_REGISTRATION of this node, which is User:node there and may not do "
        "CLUSTER_ACTION on the cluster: put that principal into super.users of every node",
        "node 3 refuses Fetch of this node, which is User:node there and may not do "
        "CLUSTER_ACTION on the cluster: put that principal into super.users of every node",
    ]
    now[0] = LOG_INTERVAL_MS - 1
    refusals.refused(2, "Vote")
    assert len(caplog.records) == 2
    now[0] = LOG_INTERVAL_MS
    refusals.refused(2, "Vote")
    assert "node 2 refuses Vote" in caplog.records[-1].getMessage()
