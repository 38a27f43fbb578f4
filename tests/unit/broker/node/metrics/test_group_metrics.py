"""Metrics of share groups, as Kafka names them."""

from __future__ import annotations

from broker.groups.share.share_group import ShareGroupState
from broker.metrics import Metrics
from broker.node.metrics.group_metrics import register_group_metrics
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.unit.broker.groups.playbook import GroupNode

GROUPS = "kafka_server_group_coordinator_metrics"


def shown(metrics: Metrics, name: str) -> dict[tuple[str, ...], float]:
    """Return the values of a metric by its labels' values."""
    (family,) = [family for family in metrics.families() if family.name == f"{GROUPS}_{name}"]
    return {tuple(labels.values()): value for labels, value in family.samples}


def test_share_groups_are_counted_by_state() -> None:
    node = GroupNode()
    metrics = Metrics()
    register_group_metrics(metrics, node.coordinator)
    states = {(state.value,) for state in ShareGroupState}
    assert shown(metrics, "share_group_count") == dict.fromkeys(states, 0.0)
    for group in ("g", "h"):
        request = ShareGroupHeartbeatRequest(group, "m", 0, None, ["conversation"])
        node.connect().call(request, 1)
    node.connect().call(ShareGroupHeartbeatRequest("h", "m", -1), 1)
    node.scheduler.run_for(1_000)
    counts = shown(metrics, "share_group_count")
    assert (counts["Empty",], counts["Stable",], counts["Dead",]) == (1, 1, 0)
    assert shown(metrics, "group_count")["share",] == 2
    assert shown(metrics, "share_group_rebalance") == {(): 2}
