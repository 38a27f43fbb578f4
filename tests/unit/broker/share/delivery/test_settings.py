from __future__ import annotations

from typing import Any

import pytest

from broker.config.parse import single_node_config
from broker.share.delivery.settings import (
    GROUPS_KEPT,
    DeliverySettings,
    GroupDeliverySettings,
    OffsetReset,
    settings_of,
)
from controller.metadata.image import MetadataImage, ResourceType

BROKER = DeliverySettings(lock_duration_ms=20_000, delivery_limit=7, max_locks=300)


def image_of(share_version: int, **groups: dict[str, str]) -> MetadataImage:
    configs: Any = {(ResourceType.GROUP, name): configs for name, configs in groups.items()}
    return MetadataImage(configs=configs, features={"share.version": share_version})


@pytest.mark.parametrize(
    ("configs", "changed"),
    [
        ({"share.record.lock.duration.ms": "15000"}, {"lock_duration_ms": 15_000}),
        ({"share.delivery.count.limit": "2"}, {"delivery_limit": 2}),
        ({"share.partition.max.record.locks": "100"}, {"max_locks": 100}),
        ({"share.renew.acknowledge.enable": "False"}, {"may_renew": False}),
        ({"share.isolation.level": "READ_COMMITTED"}, {"reads_committed": True}),
        ({"share.isolation.level": "read_uncommitted"}, {}),
        ({"share.auto.offset.reset": "earliest"}, {"offset_reset": OffsetReset("earliest")}),
        ({"share.auto.offset.reset": "latest"}, {}),
        (
            {"share.auto.offset.reset": "by_duration:P1DT0.5S"},
            {"offset_reset": OffsetReset("by_duration", 86_400_500)},
        ),
        ({"errors.deadletterqueue.topic.name": ""}, {}),
        ({"errors.deadletterqueue.topic.name": "dlq.t"}, {"has_dead_letters": True}),
        ({"share.session.timeout.ms": "50000"}, {}),
    ],
)
def test_a_groups_own_configs(configs: dict[str, str], changed: dict[str, Any]) -> None:
    assert settings_of(BROKER, configs, share_version=2) == BROKER._replace(**changed)


def test_dead_letters_need_their_level_of_share_version() -> None:
    configs = {"errors.deadletterqueue.topic.name": "dlq.t"}
    assert not settings_of(BROKER, configs, share_version=1).has_dead_letters


def test_the_newest_metadata_counts() -> None:
    config = single_node_config(
        {
            "group.share.record.lock.duration.ms": "20000",
            "group.share.delivery.count.limit": "7",
            "group.share.partition.max.record.locks": "300",
        }
    )
    image = image_of(1)
    settings = GroupDeliverySettings(config, lambda: image)
    assert settings.of("g") == BROKER
    image = image_of(1, g={"share.delivery.count.limit": "3"})
    first = settings.of("g")
    assert first == BROKER._replace(delivery_limit=3)
    assert settings.of("g") is first
    assert settings.of("other") == BROKER
    dead_letters = {"errors.deadletterqueue.topic.name": "dlq.t"}
    image = image_of(1, g=dead_letters)
    assert settings.of("g") == BROKER
    image = MetadataImage(configs=image.configs, features={"share.version": 2})
    assert settings.of("g").has_dead_letters


def test_few_settings_are_kept() -> None:
    groups = {
        f"g{number}": {"share.delivery.count.limit": "3"} for number in range(GROUPS_KEPT + 2)
    }
    image = image_of(1, **groups)
    settings = GroupDeliverySettings(single_node_config(), lambda: image)
    for name in groups:
        assert settings.of(name).delivery_limit == 3
    assert len(settings._kept) <= GROUPS_KEPT
