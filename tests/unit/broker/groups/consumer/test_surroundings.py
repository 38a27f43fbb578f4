"""What consumer groups look at besides themselves."""

from __future__ import annotations

from broker.config.parse import single_node_config
from controller.metadata.image import MetadataImage, ResourceType
from tests.unit.broker.groups.consumer.surroundings import surroundings


def test_settings_are_those_of_the_newest_metadata() -> None:
    images = [MetadataImage()]
    parts = surroundings(image=lambda: images[-1])
    assert parts.settings("g").heartbeat_interval_ms == 5_000
    own = {(ResourceType.GROUP, "g"): {"consumer.heartbeat.interval.ms": "6000"}}
    images.append(MetadataImage(configs=own))
    assert parts.settings("g").heartbeat_interval_ms == 6_000
    assert parts.settings("h").heartbeat_interval_ms == 5_000
    assert parts.topics() is images[-1].topics
    now = parts.config._replace(group_consumer_assignment_interval_ms=7)
    parts = parts._replace(config_in_force=lambda: now)
    assert parts.settings("g").assignment_interval_ms == 7


def test_consumer_groups_are_served_by_feature_and_configuration() -> None:
    served = MetadataImage(features={"group.version": 1})
    assert surroundings(image=lambda: served).serves_consumer_groups()
    for off in (MetadataImage(), MetadataImage(features={"group.version": 0})):
        assert not surroundings(image=lambda off=off: off).serves_consumer_groups()
    config = single_node_config()._replace(group_coordinator_rebalance_protocols=("classic",))
    assert not surroundings(config, lambda: served).serves_consumer_groups()
