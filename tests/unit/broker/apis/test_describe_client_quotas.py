"""The answers that Apache Kafka gave to the same filters on the same quotas."""

from __future__ import annotations

import json

import pytest

from broker.apis.describe_client_quotas import DescribeClientQuotasApi
from ottla.plugins.authorizer import Operation
from protocol.api_keys import STABLE_VERSIONS, ApiKey
from protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from protocol.messages.metadata_records import ClientQuotaRecord, EntityData
from tests.golden.quota_cases import QUOTAS, RECORDED, cases, comparable
from tests.unit.broker.apis.api_fixture import Cluster, ask
from tests.unit.controller.rights_fixture import on_cluster, rights_of

EXPECTED = json.loads(RECORDED.read_text())
CASES = cases()


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    cluster = Cluster()
    for entity, values in QUOTAS:
        parts = [EntityData(kind, name) for kind, name in entity.items()]
        cluster.replay(*(ClientQuotaRecord(parts, key, value) for key, value in values.items()))
    return cluster


@pytest.mark.parametrize("name", CASES)
def test_answers_as_kafka_does(name: str, cluster: Cluster) -> None:
    answer = ask(DescribeClientQuotasApi(cluster).handle, CASES[name], 1)
    assert comparable(answer) == EXPECTED[name]


def test_a_quota_that_was_removed_is_told_no_more() -> None:
    cluster = Cluster()
    (api,) = DescribeClientQuotasApi(cluster).apis()
    assert (api.oldest, api.latest) == STABLE_VERSIONS[ApiKey.DESCRIBE_CLIENT_QUOTAS]
    user = [EntityData("user", "u")]
    cluster.replay(ClientQuotaRecord(user, "producer_byte_rate", 1.0))
    assert len(ask(api.handle, DescribeClientQuotasRequest(), 0).entries) == 1
    cluster.replay(ClientQuotaRecord(user, "producer_byte_rate", remove=True))
    assert ask(api.handle, DescribeClientQuotasRequest(), 0).entries == []


@pytest.mark.parametrize("version", [0, 1])
def test_who_may_not_describe_configs_is_told_so_before_anything_else(version: int) -> None:
    """As Apache Kafka, which tells no words either."""
    handle = DescribeClientQuotasApi(Cluster()).handle
    nonsense = DescribeClientQuotasRequest([ComponentData("", 0)])
    others = on_cluster(Operation.DESCRIBE) | on_cluster(Operation.ALTER)
    answer = ask(handle, nonsense, version, rights=rights_of(others))
    assert (answer.error_code, answer.error_message, answer.entries) == (31, None, None)
    allowed = rights_of(on_cluster(Operation.DESCRIBE_CONFIGS))
    assert ask(handle, DescribeClientQuotasRequest([]), version, rights=allowed).error_code == 0
