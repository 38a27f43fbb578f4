"""Configs of groups, as a real Kafka answered: what is refused, and what is told."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from broker.apis.broker_loggers import BrokerLoggers
from broker.apis.describe_configs import DescribeConfigsApi
from broker.apis.list_config_resources import ListConfigResourcesApi
from broker.config.group_configs import group_config_fault
from broker.config.parse import single_node_config
from protocol.messages.list_config_resources import ListConfigResourcesRequest
from tests.golden import group_config_cases as golden
from tests.unit.broker.apis.api_fixture import Cluster, ask
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.controller_fixture import OneNode

RECORDED: dict[str, Any] = json.loads(golden.RECORDED.read_text())
CONFIG = single_node_config(golden.SERVER)


@pytest.fixture(scope="module")
def node() -> OneNode:
    """A controller whose group `kept` has configs."""
    made = OneNode(check_group_config=partial(group_config_fault, CONFIG)).start()
    made.register()
    request = golden.alteration("kept", golden.KEPT, only=False)
    assert golden.code_and_text(made.call(request, 1))[0] == 0
    return made


def test_every_case_is_recorded() -> None:
    assert sorted(golden.cases()) == sorted(RECORDED["answers"])


@pytest.mark.parametrize("case", golden.cases())
def test_an_alteration_is_answered_as_by_kafka(case: str, node: OneNode) -> None:
    request = golden.cases()[case]
    answer = golden.code_and_text(node.call(request, 1 if request.API_KEY == 44 else 2))
    assert answer == RECORDED["answers"][case]


def _cluster() -> Cluster:
    cluster = Cluster()
    for name, text in golden.KEPT.items():
        cluster.set_config(golden.GROUP, "kept", name, text)
    return cluster


@pytest.mark.parametrize("group", golden.DESCRIBED)
def test_a_group_is_described_as_by_kafka(group: str) -> None:
    api = DescribeConfigsApi(_cluster(), CONFIG, BrokerLoggers(), Turns().answers)
    described = golden.described(ask(api.handle, golden.describe(group), 4))
    assert described == RECORDED["described"][group]


def test_groups_with_configs_are_listed() -> None:
    api = ListConfigResourcesApi(_cluster(), Turns().answers)
    answer = ask(api.handle, ListConfigResourcesRequest([golden.GROUP]), 1)
    listed = [[one.resource_name, one.resource_type] for one in answer.config_resources]
    assert listed == RECORDED["listed"]
