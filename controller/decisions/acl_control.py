"""CreateAcls and DeleteAcls as decisions: which ACLs are written, which removed.

Owns: the checks on each ACL and each filter; one that is wrong stops no other. An ACL that is there
already is written no second time. Whether it means anything is not asked: any operation may stand
beside any resource, and names may be such as no topic has.

Every level of `metadata.version` that Kafka 4 knows has the records.

Never: judges by ACLs (`controller.authorization.standard_authorizer`).

Follows Kafka's `AclControlManager` and `AclApis`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controller.decisions.decision import (
    MAX_CONFIG_BYTES_PER_OPERATION,
    MAX_RECORDS_PER_OPERATION,
    TOO_MANY_RECORDS,
    Decision,
    View,
)
from controller.metadata.acl import ALL, Acl, AclsImage, PatternType, Permission
from controller.metadata.acl_filter import ANY, MATCH, AclFilter
from controller.metadata.records import MetadataRecord
from controller.metadata.snapshot import acl_record
from controller.random_ids import RandomBytes, random_uuid
from ground.sliced_work import PIECES_AT_ONCE, Pace, Steps, each, in_bulk
from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from protocol.errors import ApiError, ErrorCode
from protocol.messages.metadata_records import RemoveAccessControlEntryRecord

_RESOURCES = frozenset(Resource)
_PATTERNS = frozenset(PatternType)
_OPERATIONS = frozenset({ALL, *Operation})
_PERMISSIONS = frozenset(Permission)
UNKNOWN = 0

_RESOURCES_MEANT = _RESOURCES | {ANY}
_PATTERNS_MEANT = _PATTERNS | {ANY, MATCH}
_OPERATIONS_MEANT = _OPERATIONS | {ANY}
_PERMISSIONS_MEANT = _PERMISSIONS | {ANY}

MAX_ACLS_LOOKED_AT = 2_000_000
"""By the filters of one DeleteAcls: a second or two, in which nothing else is decided."""


def _invalid(text: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, text)


_UNKNOWN_PATTERN = _invalid("Unknown patternFilter.")
_UNKNOWN_ENTRY = _invalid("Unknown entryFilter.")
_TOO_MANY_ACLS = _invalid(
    f"Cannot remove more than {MAX_RECORDS_PER_OPERATION} acls in a single delete operation."
)

Created = Sequence[ApiError | None]
"""For each ACL, in order; None: it is there now."""
Deleted = Sequence[Sequence[Acl] | ApiError]
"""For each filter, in order: the ACLs that were removed."""


class AclControl:
    """Decides on ACLs. Its only state is the source of randomness it was given."""

    def __init__(self, random_bytes: RandomBytes) -> None:
        self._random_bytes = random_bytes

    def create(self, view: View, acls: Sequence[Acl]) -> Steps[Decision[Created]]:
        """Write those that are right and not there yet."""
        image = view.image.acls
        faults: list[ApiError | None] = []
        new: dict[Acl, None] = {}
        pace = Pace()
        for acl in acls:
            if pace.is_full():
                yield None
            fault = _fault_of_acl(acl)
            faults.append(fault)
            if fault is None and not _is_there(image, acl):
                new[acl] = None
        if len(new) > MAX_RECORDS_PER_OPERATION or _size(new) > MAX_CONFIG_BYTES_PER_OPERATION:
            return Decision(TOO_MANY_RECORDS)
        records: list[MetadataRecord] = []
        yield from each(
            lambda acl: records.append(acl_record(self._new_id(image), acl)), new, PIECES_AT_ONCE
        )
        return Decision(faults, records)

    def _new_id(self, image: AclsImage) -> bytes:
        while (drawn := random_uuid(self._random_bytes)) in image.by_id:
            pass
        return drawn

    def delete(self, view: View, filters: Sequence[AclFilter]) -> Steps[Decision[Deleted]]:
        """Remove all that a filter means, once, however many mean it."""
        image = view.image.acls
        if (yield from _looks_at(filters, image)) > MAX_ACLS_LOOKED_AT:
            return Decision(TOO_MANY_RECORDS)
        outcome: list[Sequence[Acl] | ApiError] = []
        gone: dict[Acl, None] = {}
        told = 0
        pace = Pace()
        for one in filters:
            if pace.is_full():
                yield None
            meant: Sequence[Acl] | ApiError
            meant = _fault_of_filter(one) or (yield from one.found_in(image, pace))
            if not isinstance(meant, ApiError) and told + len(meant) > MAX_RECORDS_PER_OPERATION:
                meant = _TOO_MANY_ACLS
            outcome.append(meant)
            if not isinstance(meant, ApiError):
                gone |= dict.fromkeys(meant)
                told += len(meant)
        records: list[MetadataRecord] = []
        yield from in_bulk(
            lambda some: records.extend(
                RemoveAccessControlEntryRecord(acl_id) for acl_id, acl in some if acl in gone
            ),
            image.by_id.items() if gone else (),
        )
        return Decision(outcome, records)


def fault_of_description(one: AclFilter) -> ApiError | None:
    """What is wrong with a filter of DescribeAcls: values that Kafka 4.3 has no name for."""
    if UNKNOWN in (one.resource, one.pattern):
        return _UNKNOWN_PATTERN
    if UNKNOWN in (one.operation, one.permission):
        return _UNKNOWN_ENTRY
    return None


def _is_there(image: AclsImage, acl: Acl) -> bool:
    return acl in image.by_pattern.get((acl.resource, acl.pattern, acl.name), ())


def _size(acls: Iterable[Acl]) -> int:
    """Of what the client may choose as long as it likes."""
    return sum(len(acl.name) + len(acl.principal) + len(acl.host) for acl in acls)


def _fault_of_acl(acl: Acl) -> ApiError | None:
    if acl.resource == Resource.CLUSTER and acl.name != CLUSTER_NAME:
        return _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not acl.name:
        return _invalid("Invalid empty resource name")
    for what, number, known in (
        ("resourceType", acl.resource, _RESOURCES),
        ("patternType", acl.pattern, _PATTERNS),
        ("operation", acl.operation, _OPERATIONS),
        ("permissionType", acl.permission, _PERMISSIONS),
    ):
        if number not in known:
            return _invalid(f"Invalid {what} {_name(what, number)}")
    if ":" not in acl.principal:
        return _invalid(
            f"Could not parse principal from `{acl.principal}` (no colon is present separating "
            "the principal type from the principal name)"
        )
    return None


def _name(what: str, number: int) -> str:
    if number == ANY:
        return "ANY"
    return "MATCH" if what == "patternType" and number == MATCH else "UNKNOWN"


def _fault_of_filter(one: AclFilter) -> ApiError | None:
    if one.resource not in _RESOURCES_MEANT or one.pattern not in _PATTERNS_MEANT:
        return _UNKNOWN_PATTERN
    if one.operation not in _OPERATIONS_MEANT or one.permission not in _PERMISSIONS_MEANT:
        return _UNKNOWN_ENTRY
    return None


def _looks_at(filters: Sequence[AclFilter], image: AclsImage) -> Steps[int]:
    """How many ACLs are compared with filters that do not say where to look."""
    vague: list[AclFilter] = []
    yield from in_bulk(lambda some: vague.extend(one for one in some if one.looks_at_all), filters)
    return len(image.by_id) * len(vague)
