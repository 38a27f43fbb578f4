"""The check of ACLs, quotas and SCRAM users: kinds and keys that Ottla does not know. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from client.access.acls import row
from client.migration.findings import Finding, ignored, refused, unknown
from controller.decisions.client_quota_control import QUOTA_KEYS, quota_fault
from controller.metadata.acl import ALL, Acl, PatternType, Permission
from controller.metadata.client_quotas import ENTITY_TYPES, ClientQuotas, QuotaEntity
from controller.metadata.scram_credential import SCRAM_MECHANISMS
from ottla.plugins.authorizer import Operation, Resource

_KNOWN: Mapping[str, Container[int]] = {
    "resource": frozenset(Resource),
    "pattern": frozenset(PatternType),
    "operation": frozenset((ALL, *Operation)),
    "permission": frozenset(Permission),
}
_ACL_ADVICE = "delete this ACL, or take a release of Ottla that knows it"
_QUOTA_ADVICE = "remove this quota: ottla quota remove, or kafka-configs"


def acl_findings(acls: Sequence[Acl]) -> Iterator[Finding]:
    """Yield the findings about ACLs that have a number Ottla does not know, or allow an operation
    that Ottla does not serve."""
    for acl in acls:
        place = _acl_place(acl)
        for field, numbers in _KNOWN.items():
            number = getattr(acl, field)
            if number not in numbers:
                what = f"the {field} with the number {number} is not known, so it matches nothing"
                yield unknown(place, what, _ACL_ADVICE)
        if acl.operation == Operation.TWO_PHASE_COMMIT:
            what = "Ottla does not serve two-phase commit"
            yield ignored(place, what, "nothing, if no application uses it")


def _acl_place(acl: Acl) -> str:
    """Return an ACL as findings name it; unknown kinds are numbers."""
    words = row(acl)
    return (
        f"ACL {words.permission} {words.operation} for {words.principal} from {words.host} "
        f"on {words.resource} {words.pattern} {words.name}"
    )


def quota_findings(quotas: ClientQuotas) -> Iterator[Finding]:
    """Yield the findings about quotas of unknown types of entities, or with unknown keys."""
    for entity, values in quotas.items():
        place = _quota_place(entity)
        types = [kind for kind, _ in entity if kind not in ENTITY_TYPES]
        keys = [key for key in values if key not in QUOTA_KEYS]
        yield from (
            unknown(place, f"unknown type of entity {kind}", _QUOTA_ADVICE) for kind in types
        )
        yield from (unknown(place, f"unknown quota {key}", _QUOTA_ADVICE) for key in keys)
        if not types:
            for key in values:
                fault = quota_fault(entity, {key: values[key]})
                if fault is not None and key not in keys:
                    yield refused(place, f"{key}: {fault.message}", _QUOTA_ADVICE)


def _quota_place(entity: QuotaEntity) -> str:
    """Return the entity of quotas as findings name it."""
    names = [f"{kind} {'by default' if name is None else name}" for kind, name in entity]
    return f"quota of {', '.join(names)}"


def scram_findings(mechanisms: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    """Yield the findings about users with SCRAM mechanisms that Ottla does not know."""
    for user, names in mechanisms.items():
        for name in names:
            if name not in SCRAM_MECHANISMS:
                served = ", ".join(SCRAM_MECHANISMS)
                yield unknown(f"user {user}", f"unknown {name}", f"give the user one of {served}")
