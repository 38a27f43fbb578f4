"""`acl_requests`: rights, versions, a restart, a snapshot. Words: `test_acl_requests_kafka`."""

from __future__ import annotations

from typing import Any

import pytest

from controller.authorization.rights import UNLIMITED, Rights
from controller.metadata.acl import Acl, PatternType
from controller.metadata.acl_filter import ANY
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.describe_acls import DescribeAclsRequest
from tests.unit.controller.controller_fixture import OneNode
from tests.unit.controller.rights_fixture import on_cluster, rights_of

NOBODY = rights_of(())
ADMIN = rights_of(on_cluster(Operation.ALTER) | on_cluster(Operation.DESCRIBE))
ALL_OF = (ANY, None, ANY, None, None, ANY, ANY)
READ_T = Acl(2, "t", PatternType.LITERAL, "User:a", "*", 3, 3)
DENIED = (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
DISABLED = (ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")


def create(node: OneNode, *acls: Acl, rights: Rights = ADMIN, version: int = 3) -> list[Any]:
    request = CreateAclsRequest([AclCreation(*one) for one in acls])
    results = node.call(request, version, rights).results
    return [(one.error_code, one.error_message) for one in results]


def delete(node: OneNode, *filters: tuple[Any, ...], rights: Rights = ADMIN) -> list[Any]:
    request = DeleteAclsRequest([DeleteAclsFilter(*one) for one in filters])
    results = node.call(request, 3, rights).filter_results
    return [(one.error_code, one.error_message) for one in results]


def describe(node: OneNode, rights: Rights = ADMIN, version: int = 3) -> Any:
    return node.call(DescribeAclsRequest(*ALL_OF), version, rights)


def kept(node: OneNode) -> list[Acl]:
    return list(node.node.image.acls.by_id.values())


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_acl_comes_and_goes(version: int) -> None:
    node = OneNode().start()
    other = READ_T._replace(principal="User:b", permission=2)
    assert create(node, READ_T, other, version=version) == [(0, ""), (0, "")]
    answer = describe(node, version=version)
    assert (answer.error_code, answer.error_message) == (0, "")
    (about,) = answer.resources
    assert (about.resource_type, about.resource_name, about.pattern_type) == (2, "t", 3)
    told = [(one.principal, one.host, one.operation, one.permission_type) for one in about.acls]
    assert told == [("User:a", "*", 3, 3), ("User:b", "*", 3, 2)]
    assert delete(node, ALL_OF) == [(0, None)]
    assert describe(node, version=version).resources == []


@pytest.mark.parametrize(("rights", "expected"), [(NOBODY, DENIED), (UNLIMITED, DISABLED)])
def test_without_the_right_or_an_authorizer(rights: Rights, expected: Any) -> None:
    node = OneNode().start()
    create(node, READ_T)
    assert create(node, READ_T._replace(name="u"), READ_T, rights=rights) == [expected] * 2
    assert delete(node, ALL_OF, ALL_OF, rights=rights) == [expected] * 2
    assert create(node, rights=rights) == delete(node, rights=rights) == []
    answer = describe(node, rights)
    assert answer.error_code == expected[0]
    assert answer.error_message.startswith(expected[1].rstrip("."))
    assert answer.resources == []
    assert kept(node) == [READ_T]


def test_seeing_needs_another_right_than_changing() -> None:
    node = OneNode().start()
    alter, see = rights_of(on_cluster(Operation.ALTER)), rights_of(on_cluster(Operation.DESCRIBE))
    assert create(node, READ_T, rights=alter) == [(0, "")]
    assert describe(node, alter).error_code == DENIED[0]
    assert describe(node, see).error_code == 0
    assert create(node, READ_T, rights=see) == delete(node, ALL_OF, rights=see) == [DENIED]


def test_a_host_is_told_as_it_was_written_and_found_in_each_spelling() -> None:
    node = OneNode().start()
    short, full = READ_T._replace(host="::1"), READ_T._replace(host="0:0:0:0:0:0:0:1", permission=2)
    assert create(node, short, full, short, READ_T) == [(0, "")] * 4
    assert kept(node) == [short, full, READ_T]
    for host in (short.host, full.host):
        by_host = (ANY, None, ANY, None, host, ANY, ANY)
        (about,) = node.call(DescribeAclsRequest(*by_host), 3, ADMIN).resources
        assert [one.host for one in about.acls] == [short.host, full.host]
    request = DeleteAclsRequest([DeleteAclsFilter(ANY, None, ANY, None, "0::1", ANY, ANY)])
    (result,) = node.call(request, 3, ADMIN).filter_results
    assert [one.host for one in result.matching_acls] == [short.host, full.host]
    assert kept(node) == [READ_T]


def test_acls_are_there_after_a_restart() -> None:
    first = OneNode().start()
    create(first, READ_T)
    first.stop()
    second = OneNode(first.filesystem).start()
    assert kept(second) == [READ_T]
    assert second.node.image.acls.by_id == first.node.image.acls.by_id


def test_acls_come_out_of_a_snapshot() -> None:
    """The log before it is gone, so that there is no other place for them."""
    first = OneNode(metadata_log_max_record_bytes_between_snapshots=1).start()
    gone = READ_T._replace(name="gone")
    create(first, READ_T, gone)
    delete(first, (ANY, "gone", ANY, None, None, ANY, ANY))
    first.settle()
    first.stop()
    folder = "/data/__cluster_metadata-0"
    names = first.filesystem.list_dir(folder)
    assert any(name.endswith(".checkpoint") and not name.startswith("0" * 20) for name in names)
    second = OneNode(first.filesystem).start()
    assert kept(second) == [READ_T]


def test_describe_tells_of_no_acl_that_is_not_committed() -> None:
    node = OneNode().start()
    answers: list[Any] = []
    request = CreateAclsRequest([AclCreation(*READ_T)])
    node.send(request, 3, answers.append, ADMIN)
    assert describe(node).resources == []
    node.scheduler.run_until(lambda: bool(answers))
    assert len(describe(node).resources) == 1
