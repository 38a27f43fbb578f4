"""A start as an operation."""

from __future__ import annotations

from typing import cast

import pytest

from broker.config.values import BrokerConfig
from controller.metadata.image import MetadataImage
from testbed.broker_under_test import BrokerUnderTest
from testbed.initial_state import InitialState
from testbed.operations import lifecycle


class Broker:
    """Keeps what it is to be started with."""

    initial_state = InitialState.of(MetadataImage())

    async def start(self, config: BrokerConfig, **_: object) -> int:
        self.config = config
        return 9092


@pytest.mark.parametrize(
    ("args", "partitions"),
    [
        ({}, (1, 1, 1)),
        ({"cluster_id": "the cluster"}, (3, 3, 3)),
        ({"durable": True}, (50, 50, 50)),
        ({"properties": {"offsets.topic.num.partitions": "7"}}, (7, 1, 1)),
    ],
)
async def test_internal_topics_are_small_where_the_data_go_with_the_test(
    monkeypatch: pytest.MonkeyPatch, args: dict[str, object], partitions: tuple[int, ...]
) -> None:
    monkeypatch.setattr(lifecycle, "configure_logging", lambda level, style: None)
    monkeypatch.setattr(lifecycle, "format_folders", lambda config, name: None)
    broker = Broker()
    await lifecycle.start(cast(BrokerUnderTest, broker), {"properties": {}, **args})
    config = broker.config
    assert partitions == (
        config.offsets_topic_num_partitions,
        config.transaction_state_log_num_partitions,
        config.share_coordinator_state_topic_num_partitions,
    )
