"""ACLs of a running broker, Ottla's or Kafka's, by raw requests.

    with WireClient(port) as admin:
        add(admin, allow("User:alice", Operation.READ, Resource.TOPIC, "t"))

`add` and `remove` return when that broker describes the change, and so applies it.
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
    """Return an ACL that allows the operation, or all operations if it is None."""
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
    """Return an ACL that denies the operation, or all operations if it is None."""
    allowed = allow(principal, operation, resource, name, host=host, pattern=pattern)
    return allowed._replace(permission=Permission.DENY)


def add(admin: WireClient, *acls: Acl) -> None:
    """Create the ACLs, and wait until this broker has them."""
    request = CreateAclsRequest([AclCreation(*entry) for entry in acls])
    results = admin.call(request, _VERSION).results
    assert [entry.error_code for entry in results] == [0] * len(acls), results
    waiting.wait_until(lambda: set(acls) <= described(admin), f"the ACLs {acls}", pause_s=0.005)


def remove(admin: WireClient, *filters: AclFilter) -> list[Acl]:
    """Delete the ACLs that the filters match, and wait until this broker has none of them.

    Without filters delete all. Return the deleted ACLs.
    """
    requested = [DeleteAclsFilter(*entry) for entry in filters or (EVERYTHING,)]
    results = admin.call(DeleteAclsRequest(requested), _VERSION).filter_results
    assert [entry.error_code for entry in results] == [0] * len(requested), results
    deleted = [
        Acl(
            entry.resource_type,
            entry.resource_name,
            entry.pattern_type,
            entry.principal,
            entry.host,
            entry.operation,
            entry.permission_type,
        )
        for result in results
        for entry in result.matching_acls
    ]
    waiting.wait_until(
        lambda: not set(deleted) & described(admin), f"ACLs without {deleted}", pause_s=0.005
    )
    return deleted


def described(admin: WireClient, acl_filter: AclFilter = EVERYTHING) -> set[Acl]:
    """Return this broker's ACLs that the filter matches."""
    answer = admin.call(DescribeAclsRequest(*acl_filter), _VERSION)
    assert answer.error_code == 0, answer
    return {
        Acl(
            resource.resource_type,
            resource.resource_name,
            resource.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
        for resource in answer.resources
        for acl in resource.acls
    }


def wait_until(admin: WireClient, acls: set[Acl]) -> None:
    """Wait until this broker has exactly these ACLs."""
    waiting.wait_until(lambda: described(admin) == acls, f"the ACLs {acls}", pause_s=0.005)
