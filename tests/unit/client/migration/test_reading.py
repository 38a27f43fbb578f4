"""What is asked of a cluster, and that what it denies or leaves out is named."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import pytest

from broker.config.start_error import StartError
from broker.network.outgoing.blocking_client import ApiNotServed
from client.cluster_status import StatusRefused
from client.migration import reading
from client.migration.contents import (
    BROKER,
    CONTROLLER,
    ClusterContents,
    GroupContents,
    ResourceName,
    SetConfig,
)
from client.migration.reading import read_cluster
from controller.metadata.acl import Acl
from protocol.errors import ErrorCode
from protocol.messages import api_versions as versions
from protocol.messages import consumer_group_describe as groups
from protocol.messages import describe_acls as acls
from protocol.messages import describe_client_quotas as quotas
from protocol.messages import describe_configs as configs
from protocol.messages import describe_quorum as quorum
from protocol.messages import describe_transactions as transactions
from protocol.messages.describe_cluster import DescribeClusterResponse
from protocol.messages.describe_delegation_token import DescribeDelegationTokenResponse
from protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from protocol.messages.list_config_resources import ConfigResource, ListConfigResourcesResponse
from protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from protocol.messages.list_transactions import ListTransactionsResponse, TransactionState
from tests.unit.client.scripted import Answer, ScriptedCluster, topic_of

NOW_MS = 1_000
DENIED = int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
ALL_RIGHTS = 0xFFF8


def described(request: Any) -> configs.DescribeConfigsResponse:
    """A key that two levels set, a hidden one, a default; topics have one of their own."""
    results = []
    for asked in request.resources:
        own = {2: 1, 4: 4 if asked.resource_name else 3, 16: 7, 32: 8}[asked.resource_type]
        synonyms = [
            configs.DescribeConfigsSynonym("a.key", "x", own),
            configs.DescribeConfigsSynonym("a.key", "y", 2 if own == 4 else 4),
            configs.DescribeConfigsSynonym("another.key", "z", own),
        ]
        rows = [
            configs.DescribeConfigsResourceResult("a.key", "x", False, own, False, synonyms),
            configs.DescribeConfigsResourceResult("secret", None, False, own, True),
            configs.DescribeConfigsResourceResult("empty", None, False, own, False),
            configs.DescribeConfigsResourceResult("plain", "1", False, 5, False),
        ]
        results.append(
            configs.DescribeConfigsResult(0, "", asked.resource_type, asked.resource_name, rows)
        )
    return configs.DescribeConfigsResponse(results=results)


ANSWERS: dict[str, Answer] = {
    "DescribeClusterRequest": DescribeClusterResponse(cluster_authorized_operations=ALL_RIGHTS),
    "ApiVersionsRequest": versions.ApiVersionsResponse(
        api_keys=[versions.ApiVersion(35, 1, 5)],
        finalized_features_epoch=3,
        finalized_features=[versions.FinalizedFeatureKey("warp.version", 2, 2)],
    ),
    "DescribeConfigsRequest": described,
    "ListConfigResourcesRequest": ListConfigResourcesResponse(
        config_resources=[
            ConfigResource("orders", 2),
            ConfigResource("1", 4),
            ConfigResource("1", 8),
            ConfigResource("m", 16),
            ConfigResource("g", 32),
            ConfigResource("r", 99),
        ]
    ),
    "DescribeAclsRequest": acls.DescribeAclsResponse(
        resources=[
            acls.DescribeAclsResource(99, "r", 3, [acls.AclDescription("User:a", "*", 98, 3)])
        ]
    ),
    "DescribeClientQuotasRequest": quotas.DescribeClientQuotasResponse(
        entries=[
            quotas.EntryData(
                [quotas.EntityData("planet", None)], [quotas.ValueData("warp_rate", 2.0)]
            )
        ]
    ),
    "DescribeUserScramCredentialsRequest": DescribeUserScramCredentialsResponse(
        results=[
            DescribeUserScramCredentialsResult(
                "alice", credential_infos=[CredentialInfo(1, 4096), CredentialInfo(9, 4096)]
            )
        ]
    ),
    "DescribeDelegationTokenRequest": DescribeDelegationTokenResponse(
        int(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    ),
    "ListGroupsRequest": ListGroupsResponse(
        groups=[
            ListedGroup("c", "consumer", "Stable", "Consumer"),
            ListedGroup("s", "", "Empty", "Swarm"),
        ]
    ),
    "ConsumerGroupDescribeRequest": groups.ConsumerGroupDescribeResponse(
        groups=[groups.DescribedGroup(group_id="c", assignor_name="acme")]
    ),
    "ListTransactionsRequest": ListTransactionsResponse(
        transaction_states=[TransactionState("tx", 7, "Ongoing")]
    ),
    "DescribeTransactionsRequest": lambda request: transactions.DescribeTransactionsResponse(
        transaction_states=[
            transactions.TransactionState(0, name, "Ongoing", 60_000, 500, 7, 1)
            for name in request.transactional_ids
        ]
    ),
    "DescribeQuorumRequest": quorum.DescribeQuorumResponse(nodes=[quorum.Node(1, [])]),
}


@pytest.fixture(autouse=True)
def status(monkeypatch: pytest.MonkeyPatch) -> None:
    """The requests of the status have tests of their own."""
    monkeypatch.setattr(reading, "fetch_status", lambda _call: None)


def read(
    answers: Mapping[str, Answer] | None = None, cluster: type[ScriptedCluster] = ScriptedCluster
) -> ClusterContents:
    scripted = cluster([topic_of("orders")], {**ANSWERS, **(answers or {})})
    scripted._addresses = {1: ("one", 9092)}
    return read_cluster(scripted, NOW_MS)


def unread(answers: Mapping[str, Answer]) -> list[str]:
    return [part.place for part in read(answers).unread]


def test_all_is_read_also_what_nobody_knows() -> None:
    contents = read()
    assert contents.unread == [] and contents.now_ms == NOW_MS
    assert contents.features == {"warp.version": 2}
    (node,) = contents.nodes
    assert (node.node_id, node.kind, node.apis) == (1, BROKER, {35: (1, 5)})
    hidden = SetConfig("secret", None, 4)
    assert node.configs == [SetConfig("a.key", "x", 4), SetConfig("a.key", "y", 2), hidden]
    assert contents.all_brokers[0] == SetConfig("a.key", "x", 3)
    assert contents.topics == {"orders": [SetConfig("a.key", "x", 1), SetConfig("secret", None, 1)]}
    assert list(contents.group_configs) == ["g"] and list(contents.client_metrics) == ["m"]
    assert contents.other_resources == [ResourceName(99, "r")]
    assert contents.acls == [Acl(99, "r", 3, "User:a", "*", 98, 3)]
    assert contents.quotas == {(("planet", None),): {"warp_rate": 2.0}}
    assert contents.scram_mechanisms == {"alice": ["SCRAM-SHA-256", "mechanism 9"]}
    assert contents.groups == [GroupContents("c", "Consumer", "acme"), GroupContents("s", "Swarm")]
    (transaction,) = contents.transactions
    assert (transaction.transactional_id, transaction.started_ms) == ("tx", 500)


def test_a_cluster_without_an_authorizer_has_no_acls() -> None:
    disabled = acls.DescribeAclsResponse(error_code=int(ErrorCode.SECURITY_DISABLED))
    assert unread({"DescribeAclsRequest": disabled}) == []


def test_without_rights_each_part_is_named() -> None:
    """Kafka does not answer a login without Describe that asks for all SCRAM users."""
    denied = {
        "DescribeClusterRequest": DescribeClusterResponse(cluster_authorized_operations=0),
        "ListConfigResourcesRequest": ListConfigResourcesResponse(error_code=DENIED),
        "DescribeAclsRequest": acls.DescribeAclsResponse(error_code=DENIED),
        "DescribeClientQuotasRequest": quotas.DescribeClientQuotasResponse(error_code=DENIED),
        "DescribeUserScramCredentialsRequest": AssertionError("not to be asked"),
        "DescribeTransactionsRequest": transactions.DescribeTransactionsResponse(
            transaction_states=[
                transactions.TransactionState(int(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
            ]
        ),
    }
    assert unread(denied) == [
        "names of all topics, and of groups with configs",
        "ACLs",
        "quotas",
        "SCRAM users",
        "groups",
        "transactions",
        "controllers",
    ]


def test_topics_that_metadata_leaves_out_are_named() -> None:
    hidden = ListConfigResourcesResponse(
        config_resources=[ConfigResource("orders", 2), ConfigResource("hidden", 2)]
    )
    assert unread({"ListConfigResourcesRequest": hidden}) == ["topic hidden"]


def test_configs_and_groups_that_are_denied_are_named() -> None:
    def denied(request: Any) -> configs.DescribeConfigsResponse:
        answer = described(request)
        for result in answer.results:
            result.error_code = DENIED
        return answer

    group = groups.DescribedGroup(int(ErrorCode.GROUP_AUTHORIZATION_FAILED), group_id="c")
    ended = groups.DescribedGroup(int(ErrorCode.GROUP_ID_NOT_FOUND), group_id="d")
    answers: dict[str, Answer] = {
        "DescribeConfigsRequest": denied,
        "ConsumerGroupDescribeRequest": groups.ConsumerGroupDescribeResponse(groups=[group, ended]),
    }
    assert unread(answers) == [
        "configs of broker 1",
        "configs of all brokers",
        "configs of topic orders",
        "configs of group g",
        "configs of client metrics m",
        "group c",
    ]


def test_what_does_not_answer_is_named() -> None:
    answers: dict[str, Answer] = {
        "ApiVersionsRequest": StartError("broker 1: no answer"),
        "ListGroupsRequest": StartError("broker 1: no answer"),
        "DescribeQuorumRequest": quorum.DescribeQuorumResponse(int(ErrorCode.REQUEST_TIMED_OUT)),
    }
    assert unread(answers) == ["broker 1", "groups", "features", "controllers"]


def test_tokens_need_a_login_only_if_there_can_be_any() -> None:
    def with_tokens(request: Any) -> configs.DescribeConfigsResponse:
        answer = described(request)
        for result in answer.results:
            for config in result.configs:
                config.name = config.name.replace("secret", "delegation.token.secret.key")
        return answer

    assert unread({"DescribeConfigsRequest": with_tokens}) == ["delegation tokens"]
    allowed = DescribeDelegationTokenResponse()
    answers: dict[str, Answer] = {
        "DescribeConfigsRequest": with_tokens,
        "DescribeDelegationTokenRequest": allowed,
    }
    assert unread(answers) == []


@pytest.mark.parametrize("error", [StatusRefused("no"), TimeoutError(), StartError("no")])
def test_a_status_that_is_not_known(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_call: Any) -> None:
        raise error

    monkeypatch.setattr(reading, "fetch_status", fail)
    contents = read()
    assert contents.status is None
    assert [part.place for part in contents.unread] == ["brokers, quorum and partitions"]


class Controller:
    """A controller that is no broker, which answers or does not."""

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome

    def call(self, request: Any, _version_max: int | None = None) -> Any:
        if type(request).__name__ == "ApiVersionsRequest":
            return ANSWERS["ApiVersionsRequest"]
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome(request)


@pytest.mark.parametrize(
    ("outcome", "kinds", "places"),
    [
        (described, [BROKER, CONTROLLER], []),
        (ApiNotServed(), [BROKER], []),
        (ConnectionError("closed"), [BROKER], ["controller 5"]),
    ],
    ids=["kafka", "ottla", "gone"],
)
def test_controllers_that_are_no_brokers(outcome: Any, kinds: list[str], places: list[str]) -> None:
    class Cluster(ScriptedCluster):
        def connection_to(self, host: str, port: int) -> Any:
            assert (host, port) == ("five", 9093)
            return nullcontext(Controller(outcome))

    nodes = [quorum.Node(5, [quorum.Listener("CONTROLLER", "five", 9093)])]
    answers = {"DescribeQuorumRequest": quorum.DescribeQuorumResponse(nodes=nodes)}
    contents = read(answers, Cluster)
    assert [node.kind for node in contents.nodes] == kinds
    assert [part.place for part in contents.unread] == places
