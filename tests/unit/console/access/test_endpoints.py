"""Users, ACLs, quotas, tokens: each part stands for itself."""

from __future__ import annotations

from typing import Any

import pytest

from client.refusals import Refused
from console.access.endpoints import ENDPOINTS
from protocol.api_keys import ApiKey
from protocol.messages.alter_client_quotas import AlterClientQuotasResponse
from protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsResponse
from protocol.messages.create_acls import AclCreationResult, CreateAclsResponse
from protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsResponse,
)
from protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from protocol.messages.describe_client_quotas import DescribeClientQuotasResponse
from protocol.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribeDelegationTokenResponse,
)
from protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsResponse
from tests.unit.client.scripted import ScriptedCluster
from tests.unit.console.access.acl_sample import ACL
from tests.unit.console.one_console import OneCluster, answer_of, ask

SECURITY_DISABLED, TOKENS_DISABLED = 54, 61


class Serving(ScriptedCluster):
    """A cluster that serves all but these APIs."""

    lacks: tuple[int, ...] = ()

    def serves(self, api_key: int) -> bool:
        return api_key not in self.lacks


def cluster_of(**answers: Any) -> Serving:
    acls = [AclDescription(f"User:{name}", "*", 3, 3) for name in ("alice", "bob")]
    token = DescribedDelegationToken("User", "alice", token_id="T", hmac=b"topsecret")
    known = {
        "DescribeUserScramCredentialsRequest": DescribeUserScramCredentialsResponse(),
        "DescribeAclsRequest": DescribeAclsResponse(
            resources=[DescribeAclsResource(2, "orders", 3, acls)]
        ),
        "DescribeClientQuotasRequest": DescribeClientQuotasResponse(entries=[]),
        "DescribeDelegationTokenRequest": DescribeDelegationTokenResponse(tokens=[token]),
    }
    return Serving([], known | answers)


def shown(cluster: Serving, **values: str) -> Any:
    return answer_of(ENDPOINTS, "/api/access")(OneCluster(cluster), ask(**values))


def test_all_parts() -> None:
    found = shown(cluster_of())
    assert [row[0] for row in found["acls"]["rows"]] == ["User:alice", "User:bob"]
    assert found["tokens"]["rows"][0][:2] == ["T", "User:alice"]
    assert "topsecret" not in str(found)


def test_what_is_searched_for() -> None:
    found = shown(cluster_of(), q="BOB")["acls"]
    assert (found["count"], found["of"]) == (1, 2)
    assert shown(cluster_of(), q="orders")["acls"]["count"] == 2


def test_a_cluster_without_an_authorizer_says_so_and_the_rest_is_there() -> None:
    cluster = cluster_of(
        DescribeAclsRequest=DescribeAclsResponse(error_code=SECURITY_DISABLED),
        DescribeDelegationTokenRequest=DescribeDelegationTokenResponse(error_code=TOKENS_DISABLED),
    )
    cluster.lacks = (ApiKey.DESCRIBE_CLIENT_QUOTAS,)
    found = shown(cluster)
    assert "no authorizer" in found["acls"]["absent"]
    assert "no delegation tokens" in found["tokens"]["absent"]
    assert "does not support" in found["quotas"]["absent"]
    assert found["users"]["rows"] == []


def test_an_acl_that_another_user_has_removed_is_not_removed_again() -> None:
    deleted = DeleteAclsResponse(filter_results=[DeleteAclsFilterResult()])
    cluster = cluster_of(DeleteAclsRequest=deleted)
    remove = answer_of(ENDPOINTS, "/api/access/acls/remove", writes=True)
    with pytest.raises(Refused, match="removed already"):
        remove(OneCluster(cluster), ask(ACL))
    (asked,) = cluster.asked_for("DeleteAclsRequest")
    assert asked.filters[0].resource_name_filter == "orders"


def test_all_that_a_removal_has_removed_is_named() -> None:
    """A host in two spellings is two ACLs, which go together."""
    hosts = ("::1", "0:0:0:0:0:0:0:1")
    gone = [DeleteAclsMatchingAcl(0, None, 2, "t", 3, "User:a", host, 3, 3) for host in hosts]
    deleted = DeleteAclsResponse(filter_results=[DeleteAclsFilterResult(0, None, gone)])
    remove = answer_of(ENDPOINTS, "/api/access/acls/remove", writes=True)
    done = remove(OneCluster(cluster_of(DeleteAclsRequest=deleted)), ask(ACL))
    assert all(f"from {host} on" in done["done"] for host in hosts)


def test_a_password_leaves_as_its_hash() -> None:
    cluster = cluster_of(AlterUserScramCredentialsRequest=AlterUserScramCredentialsResponse())
    body = {"user": "alice", "mechanism": "SCRAM-SHA-256", "password": "hunter2"}
    done = answer_of(ENDPOINTS, "/api/access/users", writes=True)(OneCluster(cluster), ask(body))
    (asked,) = cluster.asked_for("AlterUserScramCredentialsRequest")
    assert b"hunter2" not in asked.upsertions[0].salted_password
    assert "hunter2" not in str(done)
    answer_of(ENDPOINTS, "/api/access/users/remove", writes=True)(OneCluster(cluster), ask(body))
    assert cluster.asked_for("AlterUserScramCredentialsRequest")[1].deletions[0].name == "alice"


def test_a_quota_is_set() -> None:
    cluster = cluster_of(AlterClientQuotasRequest=AlterClientQuotasResponse())
    body = {"user": "alice", "set": {"request_percentage": "50"}, "unset": ["producer_byte_rate"]}
    answer_of(ENDPOINTS, "/api/access/quotas", writes=True)(OneCluster(cluster), ask(body))
    (asked,) = cluster.asked_for("AlterClientQuotasRequest")
    assert [(one.key, one.remove) for one in asked.entries[0].ops] == [
        ("request_percentage", False),
        ("producer_byte_rate", True),
    ]


def test_an_acl_that_matches_nothing_is_added_with_a_warning() -> None:
    cluster = cluster_of()
    cluster.answers["CreateAclsRequest"] = CreateAclsResponse(results=[AclCreationResult()])
    add = answer_of(ENDPOINTS, "/api/access/acls", writes=True)
    done = add(OneCluster(cluster), ask(ACL | {"name": "*"}))["done"]
    assert done.startswith("added: ALLOW READ for User:alice")
    assert done.endswith(
        "; topic * as a prefix is no wildcard: every topic is * with the pattern literal"
    )
    assert ";" not in add(OneCluster(cluster), ask(ACL))["done"]
