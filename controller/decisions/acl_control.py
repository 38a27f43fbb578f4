"""CreateAcls and DeleteAcls as decisions: the ACLs to write or to remove.

Owns: the checks on each ACL and each filter; an invalid one does not stop the others. An ACL that
exists is not written again. As in Kafka, an ACL need not make sense: any operation may be combined
with any resource, and no topic needs to have the name.

Every level of `metadata.version` that Kafka 4 knows has these records. Before 4.4-IV1, no host may
be a range of addresses.

Never: evaluates ACLs (`controller.authorization.standard_authorizer`).

Follows Kafka's `AclControlManager` and `AclApis`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controller.decisions.decision import (
    MAX_CONFIG_BYTES_PER_OPERATION,
    MAX_RECORDS_PER_OPERATION,
    TOO_MANY_RECORDS,
    Decision,
    DecisionView,
)
from controller.metadata.acl import ALL, Acl, AclsImage, PatternType, Permission
from controller.metadata.acl_filter import ANY, MATCH, AclFilter
from controller.metadata.records import MetadataRecord
from controller.metadata.snapshot import acl_record
from controller.metadata.version import has_address_ranges
from controller.random_ids import RandomBytes, random_uuid
from ground.sliced_work import PIECES_AT_ONCE, Pace, Steps, each, in_bulk
from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from protocol.address_range import address_range
from protocol.errors import ApiError, ErrorCode
from protocol.messages.metadata_records import RemoveAccessControlEntryRecord

_RESOURCES = frozenset(Resource)
_PATTERNS = frozenset(PatternType)
_OPERATIONS = frozenset({ALL, *Operation})
_PERMISSIONS = frozenset(Permission)
UNKNOWN = 0

_FILTER_RESOURCES = _RESOURCES | {ANY}
_FILTER_PATTERNS = _PATTERNS | {ANY, MATCH}
_FILTER_OPERATIONS = _OPERATIONS | {ANY}
_FILTER_PERMISSIONS = _PERMISSIONS | {ANY}

MAX_ACLS_LOOKED_AT = 2_000_000
"""The limit on comparisons with the filters of one DeleteAcls; so many take a second or two, in
which nothing else is decided."""


def _invalid(text: str) -> ApiError:
    """Return an INVALID_REQUEST error with this message."""
    return ApiError(ErrorCode.INVALID_REQUEST, text)


_UNKNOWN_PATTERN = _invalid("Unknown patternFilter.")
_UNKNOWN_ENTRY = _invalid("Unknown entryFilter.")
_NO_HOST = _invalid("Host pattern cannot be null or empty")
_NO_RANGES = ApiError(
    ErrorCode.UNSUPPORTED_VERSION,
    "CIDR-based ACL host patterns require metadata version 4.4-IV1 or higher.",
)
_TOO_MANY_ACLS = _invalid(
    f"Cannot remove more than {MAX_RECORDS_PER_OPERATION} acls in a single delete operation."
)

Created = Sequence[ApiError | None]
"""The error of each ACL, in order; None: the ACL exists now."""
Deleted = Sequence[Sequence[Acl] | ApiError]
"""The removed ACLs or the error of each filter, in order."""


class AclControl:
    """The decisions on ACLs. Their only state is the source of randomness."""

    def __init__(self, random_bytes: RandomBytes) -> None:
        self._random_bytes = random_bytes

    def create(self, view: DecisionView, acls: Sequence[Acl]) -> Steps[Decision[Created]]:
        """Return the decision that writes each valid ACL that does not exist yet, once.

        The reply has each ACL's error, or None. Above the limits on records and bytes, the reply is
        TOO_MANY_RECORDS and nothing is written.
        """
        image = view.image.acls
        may_have_ranges = has_address_ranges(view.image.metadata_level)
        faults: list[ApiError | None] = []
        new: dict[Acl, None] = {}
        pace = Pace()
        for acl in acls:
            if pace.is_full():
                yield None
            fault = _fault_of_acl(acl) or _fault_of_host(acl.host, may_have_ranges)
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
        """Return a random id that no ACL has."""
        while (drawn := random_uuid(self._random_bytes)) in image.by_id:
            pass
        return drawn

    def delete(self, view: DecisionView, filters: Sequence[AclFilter]) -> Steps[Decision[Deleted]]:
        """Return the decision that removes each ACL that any filter matches.

        The reply has each filter's ACLs or error; a filter that exceeds the limit on removals gets
        an error. If the filters need more than MAX_ACLS_LOOKED_AT comparisons, the reply is
        TOO_MANY_RECORDS.
        """
        image = view.image.acls
        if (yield from _looks_at(filters, image)) > MAX_ACLS_LOOKED_AT:
            return Decision(TOO_MANY_RECORDS)
        outcome: list[Sequence[Acl] | ApiError] = []
        deleted: dict[Acl, None] = {}
        total = 0
        pace = Pace()
        for acl_filter in filters:
            if pace.is_full():
                yield None
            matches: Sequence[Acl] | ApiError
            matches = _fault_of_filter(acl_filter) or (yield from acl_filter.matching(image, pace))
            if (
                not isinstance(matches, ApiError)
                and total + len(matches) > MAX_RECORDS_PER_OPERATION
            ):
                matches = _TOO_MANY_ACLS
            outcome.append(matches)
            if not isinstance(matches, ApiError):
                deleted |= dict.fromkeys(matches)
                total += len(matches)
        records: list[MetadataRecord] = []
        yield from in_bulk(
            lambda items: records.extend(
                RemoveAccessControlEntryRecord(acl_id) for acl_id, acl in items if acl in deleted
            ),
            image.by_id.items() if deleted else (),
        )
        return Decision(outcome, records)


def fault_of_description(acl_filter: AclFilter) -> ApiError | None:
    """Return the INVALID_REQUEST error of a DescribeAcls filter in which a number is UNKNOWN (0);
    None for all other numbers."""
    if UNKNOWN in (acl_filter.resource, acl_filter.pattern):
        return _UNKNOWN_PATTERN
    if UNKNOWN in (acl_filter.operation, acl_filter.permission):
        return _UNKNOWN_ENTRY
    return None


def _is_there(image: AclsImage, acl: Acl) -> bool:
    """Return whether exactly this ACL is in the image."""
    return acl in image.by_pattern.get((acl.resource, acl.pattern, acl.name), ())


def _size(acls: Iterable[Acl]) -> int:
    """Return the number of characters in the texts that the client can choose freely."""
    return sum(len(acl.name) + len(acl.principal) + len(acl.host) for acl in acls)


def _fault_of_acl(acl: Acl) -> ApiError | None:
    """Return the INVALID_REQUEST error of an ACL to create, None if it is valid. The caller checks
    the host."""
    if acl.resource == Resource.CLUSTER and acl.name != CLUSTER_NAME:
        return _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not acl.name:
        return _invalid("Invalid empty resource name")
    for field, number, allowed in (
        ("resourceType", acl.resource, _RESOURCES),
        ("patternType", acl.pattern, _PATTERNS),
        ("operation", acl.operation, _OPERATIONS),
        ("permissionType", acl.permission, _PERMISSIONS),
    ):
        if number not in allowed:
            return _invalid(f"Invalid {field} {_field_value_name(field, number)}")
    if ":" not in acl.principal:
        return _invalid(
            f"Could not parse principal from `{acl.principal}` (no colon is present separating "
            "the principal type from the principal name)"
        )
    return None


def _fault_of_host(host: str, may_have_ranges: bool) -> ApiError | None:
    """Return the error of an ACL's host, None if it is valid. Kafka checks only a host that has a
    slash: any other text may be a host, also if no client can ever have it."""
    if not host:
        return _NO_HOST
    if "/" not in host:
        return None
    if not may_have_ranges:
        return _NO_RANGES
    try:
        address_range(host)
    except ValueError as error:
        return _invalid(f"Invalid CIDR notation '{host}': {error}")
    return None


def _field_value_name(field: str, number: int) -> str:
    """Return the name of an enum value that an ACL may not have: ANY, MATCH or UNKNOWN."""
    if number == ANY:
        return "ANY"
    return "MATCH" if field == "patternType" and number == MATCH else "UNKNOWN"


def _fault_of_filter(acl_filter: AclFilter) -> ApiError | None:
    """Return the error of a filter with a value that no ACL can have, None if it is valid."""
    if acl_filter.resource not in _FILTER_RESOURCES or acl_filter.pattern not in _FILTER_PATTERNS:
        return _UNKNOWN_PATTERN
    if (
        acl_filter.operation not in _FILTER_OPERATIONS
        or acl_filter.permission not in _FILTER_PERMISSIONS
    ):
        return _UNKNOWN_ENTRY
    return None


def _looks_at(filters: Sequence[AclFilter], image: AclsImage) -> Steps[int]:
    """Return the number of comparisons that the filters without an index need: each of them is
    compared with all ACLs."""
    vague: list[AclFilter] = []
    yield from in_bulk(
        lambda batch: vague.extend(acl_filter for acl_filter in batch if acl_filter.scans_all),
        filters,
    )
    return len(image.by_id) * len(vague)
