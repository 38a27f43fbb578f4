"""Questions about ACLs, and what answers mean."""

from __future__ import annotations

import pytest

from client.access.acl_words import MATCH, Pattern
from client.access.acls import Filter, add, filters_of, find, remove, row
from client.refusals import Refused
from controller.metadata.acl import Acl
from protocol.errors import ErrorCode
from protocol.messages.create_acls import AclCreationResult, CreateAclsResponse
from protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsResponse,
)
from protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from tests.unit.command.admin.one_answer import DENIED, Cluster

READ = Acl(2, "orders", 3, "User:alice", "*", 3, 3)
WRITE = READ._replace(operation=4)


def test_a_row_has_the_words_of_kafka() -> None:
    assert row(READ) == ("User:alice", "ALLOW", "READ", "*", "TOPIC", "LITERAL", "orders")
    odd = READ._replace(resource=99, pattern=98, operation=97, permission=96)
    assert row(odd) == ("User:alice", "96", "97", "*", "99", "98", "orders")


def test_what_was_not_added_is_told_once() -> None:
    refusal = AclCreationResult(DENIED, "no")
    with pytest.raises(Refused, match=r"^this takes Alter on the cluster"):
        add(Cluster(CreateAclsResponse(0, [refusal, refusal])), [READ, WRITE])
    wrong = AclCreationResult(ErrorCode.INVALID_REQUEST, "empty name")
    answer = CreateAclsResponse(0, [AclCreationResult(0, None), wrong])
    with pytest.raises(Refused, match=r"^ALLOW WRITE for User:alice .*: INVALID_REQUEST: empty"):
        add(Cluster(answer), [READ, WRITE])


def test_a_range_needs_a_level_of_the_cluster() -> None:
    """Apache Kafka 4.4 gives this error to a host with a slash, and to nothing else in an ACL."""
    old = AclCreationResult(ErrorCode.UNSUPPORTED_VERSION, "CIDR-based ACL host patterns require")
    ranged = READ._replace(host="10.0.0.0/8")
    with pytest.raises(Refused, match=r"^a host can be a range .* metadata\.version 4\.4-IV1"):
        add(Cluster(CreateAclsResponse(0, [old])), [ranged])
    answer = CreateAclsResponse(0, [old, AclCreationResult(0, None)])
    with pytest.raises(Refused, match=r"^ALLOW READ for User:alice from 10\.0\.0\.0/8 .*: a host"):
        add(Cluster(answer), [ranged, WRITE])


def test_a_filter_without_entries_is_all_of_a_resource() -> None:
    orders, pay = Pattern(2, "orders", 3), Pattern(2, "pay", MATCH)
    assert filters_of({orders: [READ], pay: []}) == [Filter(*READ), Filter(2, "pay", MATCH)]


def test_what_two_filters_find_is_there_once() -> None:
    entries = [AclDescription("User:alice", "*", one, 3) for one in (4, 3)]
    found = DescribeAclsResponse(0, 0, None, [DescribeAclsResource(2, "orders", 3, entries)])
    cluster = Cluster(found)
    assert find(cluster, [Filter(), Filter(2, "orders", MATCH)]) == [READ, WRITE]
    first, second = cluster.asked
    assert isinstance(first, DescribeAclsRequest)
    assert (first.resource_type_filter, first.resource_name_filter) == (1, None)
    assert (second.pattern_type_filter, second.principal_filter) == (MATCH, None)
    with pytest.raises(Refused, match="Describe on the cluster"):
        find(Cluster(DescribeAclsResponse(0, DENIED, "no", [])), [Filter()])


def test_what_was_removed_is_told() -> None:
    gone = DeleteAclsMatchingAcl(0, None, 2, "orders", 3, "User:alice", "*", 3, 3)
    answer = DeleteAclsResponse(0, [DeleteAclsFilterResult(0, None, [gone])] * 2)
    assert remove(Cluster(answer), [Filter(*READ)]) == [READ]
    failed = DeleteAclsResponse(0, [DeleteAclsFilterResult(DENIED, "no", [])])
    with pytest.raises(Refused, match="Alter on the cluster"):
        remove(Cluster(failed), [Filter(*READ)])
