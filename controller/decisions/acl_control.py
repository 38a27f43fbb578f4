"""CreateAcls and DeleteAcls as decisions: which ACLs are written, which removed.

Owns: the checks on each ACL and each filter; one that is wrong stops no other. An ACL that is there
already is written no second time. Whether it means anything is not asked: any operation may stand
beside any resource, and names may be such as no topic has.

Every level of `metadata.version` that Kafka 4 knows has the records.

Never: judges by ACLs (`controller.authorization.standard_authorizer`).

Follows Kafka's `AclControlManager` and `AclApis`.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.decisions.decision import (
    MAX_CONFIG_BYTES_PER_OPERATION,
    MAX_RECORDS_PER_OPERATION,
    TOO_MANY_RECORDS,
    Decision,
    View,
)
from controller.metadata.acl import ALL, Acl, AclsImage, PatternType, Permission
from controller.metadata.acl_filter import ANY, MATCH, AclFilter
from controller.metadata.snapshot import acl_record
from controller.random_ids import RandomBytes, random_uuid
from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from protocol.errors import ApiError, ErrorCode
from protocol.messages.metadata_records import RemoveAccessControlEntryRecord

_RESOURCES = frozenset(Resource)
_PATTERNS = frozenset(PatternType)
_OPERATIONS = frozenset({ALL, *Operation})
_PERMISSIONS = frozenset(Permission)

Created = Sequence[ApiError | None]
"""For each ACL, in order; None: it is there now."""
Deleted = Sequence[Sequence[Acl] | ApiError]
"""For each filter, in order: the ACLs that were removed."""


class AclControl:
    """Decides on ACLs. Its only state is the source of randomness it was given."""

    def __init__(self, random_bytes: RandomBytes) -> None:
        self._random_bytes = random_bytes

    def create(self, view: View, acls: Sequence[Acl]) -> Decision[Created]:
        """Write those that are right and not there yet."""
        image = view.image.acls
        faults = [_fault_of_acl(acl) for acl in acls]
        right = [acl for acl, fault in zip(acls, faults, strict=True) if fault is None]
        new = [acl for acl in dict.fromkeys(right) if not _is_there(image, acl)]
        if len(new) > MAX_RECORDS_PER_OPERATION or _size(new) > MAX_CONFIG_BYTES_PER_OPERATION:
            return Decision(TOO_MANY_RECORDS)
        return Decision(faults, [acl_record(self._new_id(image), acl) for acl in new])

    def _new_id(self, image: AclsImage) -> bytes:
        while (drawn := random_uuid(self._random_bytes)) in image.by_id:
            pass
        return drawn

    def delete(self, view: View, filters: Sequence[AclFilter]) -> Decision[Deleted]:
        """Remove all that a filter means, once, however many mean it."""
        image = view.image.acls
        outcome: list[Sequence[Acl] | ApiError] = []
        gone: dict[Acl, None] = {}
        told = 0
        for one in filters:
            found: Sequence[Acl] | ApiError = _fault_of_filter(one) or one.found_in(image)
            outcome.append(found)
            if isinstance(found, ApiError):
                continue
            gone |= dict.fromkeys(found)
            told += len(found)
            if told > MAX_RECORDS_PER_OPERATION:
                return Decision(TOO_MANY_RECORDS)
        records = [
            RemoveAccessControlEntryRecord(acl_id)
            for acl_id, acl in image.by_id.items()
            if acl in gone
        ]
        return Decision(outcome, records)


def _is_there(image: AclsImage, acl: Acl) -> bool:
    return acl in image.by_pattern.get((acl.resource, acl.pattern, acl.name), ())


def _size(acls: Sequence[Acl]) -> int:
    """Of what the client may choose as long as it likes."""
    return sum(len(acl.name) + len(acl.principal) + len(acl.host) for acl in acls)


def _fault_of_acl(acl: Acl) -> ApiError | None:
    if acl.resource == Resource.CLUSTER and acl.name != CLUSTER_NAME:
        return _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not acl.name:
        return _invalid("Invalid empty resource name")
    # Kafka fails on these with UNKNOWN_SERVER_ERROR, or closes the connection.
    if acl.resource not in _RESOURCES:
        return _invalid(f"Invalid resource type {acl.resource}")
    if acl.pattern not in _PATTERNS:
        return _invalid(f"Invalid pattern type {acl.pattern}")
    if acl.operation not in _OPERATIONS:
        return _invalid(f"Invalid operation {acl.operation}")
    if acl.permission not in _PERMISSIONS:
        return _invalid(f"Invalid permission type {acl.permission}")
    if ":" not in acl.principal:
        return _invalid(
            f"Could not parse principal from `{acl.principal}` (no colon is present separating "
            "the principal type from the principal name)"
        )
    return None


def _fault_of_filter(one: AclFilter) -> ApiError | None:
    if one.resource != ANY and one.resource not in _RESOURCES:
        return _invalid(f"Invalid resource type {one.resource}")
    if one.pattern not in (ANY, MATCH) and one.pattern not in _PATTERNS:
        return _invalid(f"Invalid pattern type {one.pattern}")
    if one.operation != ANY and one.operation not in _OPERATIONS:
        return _invalid(f"Invalid operation {one.operation}")
    if one.permission != ANY and one.permission not in _PERMISSIONS:
        return _invalid(f"Invalid permission type {one.permission}")
    return None


def described(image: AclsImage, one: AclFilter) -> Sequence[Acl] | ApiError:
    """What DescribeAcls tells of."""
    return _fault_of_filter(one) or one.found_in(image)


def _invalid(text: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, text)
