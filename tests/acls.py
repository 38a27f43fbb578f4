"""ACLs of a running broker, Ottla's or Kafka's, by raw requests.

    with WireClient(port) as admin:
        add(admin, allow("User:alice", Operation.READ, Resource.TOPIC, "t"))

`add` and `remove` come back when that broker tells of the change: it then judges by it.
"""

from __future__ import annotations

from controller.metadata.acl import ALL, ANY_HOST, Acl, PatternType, Permission
from controller.metadata.acl_filter import ANY, AclFilter
from ottla.plugins.authorizer import Operation, Resource
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.describe_acls import DescribeAclsRequest
from tests.clients.wire_client import WireClient
from tests.tools import waiting

EVERYTHING = AclFilter(ANY, None, ANY, None, None, ANY, ANY)
_VERSION = 3


def allow(
    principal: str,
    operation: Operation | None,
    resource: Resource,
    name: str,
    *,
    host: str = ANY_HOST,
    pattern: PatternType = PatternType.LITERAL,
) -> Acl:
    """An ACL that allows. No operation: all of them."""
    kind = ALL if operation is None else operation
    return Acl(resource, name, pattern, principal, host, kind, Permission.ALLOW)


def deny(
    principal: str,
    operation: Operation | None,
    resource: Resource,
    name: str,
    *,
    host: str = ANY_HOST,
    pattern: PatternType = PatternType.LITERAL,
) -> Acl:
    """An ACL that denies. No operation: all of them."""
    one = allow(principal, operation, resource, name, host=host, pattern=pattern)
    return one._replace(permission=Permission.DENY)


def add(admin: WireClient, *acls: Acl) -> None:
    """Create them, and wait until this broker has them."""
    request = CreateAclsRequest([AclCreation(*one) for one in acls])
    results = admin.call(request, _VERSION).results
    assert [one.error_code for one in results] == [0] * len(acls), results
    waiting.wait_until(lambda: set(acls) <= described(admin), f"the ACLs {acls}", pause_s=0.005)


def remove(admin: WireClient, *filters: AclFilter) -> list[Acl]:
    """Delete what these mean, all without any, and wait until this broker has it no more."""
    asked = [DeleteAclsFilter(*one) for one in filters or (EVERYTHING,)]
    results = admin.call(DeleteAclsRequest(asked), _VERSION).filter_results
    assert [one.error_code for one in results] == [0] * len(asked), results
    gone = [
        Acl(
            one.resource_type,
            one.resource_name,
            one.pattern_type,
            one.principal,
            one.host,
            one.operation,
            one.permission_type,
        )
        for result in results
        for one in result.matching_acls
    ]
    waiting.wait_until(
        lambda: not set(gone) & described(admin), f"ACLs without {gone}", pause_s=0.005
    )
    return gone


def described(admin: WireClient, one: AclFilter = EVERYTHING) -> set[Acl]:
    """Those that this broker has, of those that the filter means."""
    answer = admin.call(DescribeAclsRequest(*one), _VERSION)
    assert answer.error_code == 0, answer
    return {
        Acl(
            about.resource_type,
            about.resource_name,
            about.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
        for about in answer.resources
        for acl in about.acls
    }


def wait_until(admin: WireClient, acls: set[Acl]) -> None:
    """Until this broker has just these."""
    waiting.wait_until(lambda: described(admin) == acls, f"the ACLs {acls}", pause_s=0.005)
