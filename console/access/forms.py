"""The fields of the forms for ACLs, users and quotas as values, or their error in one line.

Pure. Follows KIP-140 and KIP-290 for the operations of a resource.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from broker.config.start_error import StartError
from client.access.acl_words import operation_of
from client.configs.quotas import CLIENT_ID, IP, USER, Entity, entity_of, parse_rates
from console.endpoints import BadAsk
from controller.authorization.rights import OPERATIONS_OF
from controller.metadata.acl import ALL, ANY_HOST, Acl, PatternType, Permission
from controller.metadata.scram_credential import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    SCRAM_MECHANISMS,
    ScramMechanism,
)
from ottla.plugins.authorizer import CLUSTER_NAME, Resource

RESOURCES = {one.name: one for one in Resource if one in OPERATIONS_OF}
PATTERNS = {"LITERAL": PatternType.LITERAL, "PREFIXED": PatternType.PREFIXED}
PERMISSIONS = {"ALLOW": Permission.ALLOW, "DENY": Permission.DENY}
PASSWORD_CHARACTERS_MIN = 1

T = TypeVar("T")


class NewPassword(NamedTuple):
    """A user's new password, with the mechanism and the iterations of its hash."""

    user: str
    mechanism: ScramMechanism
    iterations: int
    password: str


@dataclass(frozen=True, slots=True)
class AccessChoices:
    """The choices of the forms: operations by resource, and the bounds of iterations."""

    operations: dict[str, list[str]]
    patterns: list[str]
    permissions: list[str]
    mechanisms: list[str]
    iterations: tuple[int, int]


def choices() -> AccessChoices:
    """Return the choices of the forms."""
    operations = {
        name: ["ALL", *(operation.name for operation in OPERATIONS_OF[resource])]
        for name, resource in RESOURCES.items()
    }
    return AccessChoices(
        operations=operations,
        patterns=list(PATTERNS),
        permissions=list(PERMISSIONS),
        mechanisms=list(SCRAM_MECHANISMS),
        iterations=(ITERATIONS_MIN, ITERATIONS_MAX),
    )


def acl_of(body: object) -> Acl:
    """Return the ACL in a request's body. Raises BadAsk."""
    fields = _texts(body)
    resource = _chosen(fields, "resource", RESOURCES)
    name = CLUSTER_NAME if resource == Resource.CLUSTER else fields.get("name", "")
    if not name:
        raise BadAsk(
            f"enter the name of the {resource.name.lower().replace('_', ' ')}, or * for all"
        )
    principal = fields.get("principal", "").strip()
    kind, colon, who = principal.partition(":")
    if not (kind and colon and who):
        raise BadAsk("write the principal as User:NAME, or User:* for all users")
    try:
        operation = operation_of(fields.get("operation", ""))
    except StartError:
        raise BadAsk("choose an operation") from None
    if operation != ALL and operation not in OPERATIONS_OF[resource]:
        raise BadAsk(
            f"{fields['operation']} does not apply to {resource.name}: choose another operation"
        )
    return Acl(
        resource,
        name,
        _chosen(fields, "pattern", PATTERNS),
        principal,
        fields.get("host", "").strip() or ANY_HOST,
        operation,
        _chosen(fields, "permission", PERMISSIONS),
    )


def password_of(body: object) -> NewPassword:
    """Return the new password in a request's body. Raises BadAsk."""
    fields = _texts(body)
    user, mechanism = user_of(body)
    password = fields.get("password", "")
    if len(password) < PASSWORD_CHARACTERS_MIN:
        raise BadAsk("the password must not be empty")
    try:
        iterations = int(fields.get("iterations") or ITERATIONS_MIN)
    except ValueError:
        iterations = 0
    if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
        raise BadAsk(f"iterations must be {ITERATIONS_MIN} to {ITERATIONS_MAX}")
    return NewPassword(user, mechanism, iterations, password)


def user_of(body: object) -> tuple[str, ScramMechanism]:
    """Return the user and the mechanism in a request's body. Raises BadAsk."""
    fields = _texts(body)
    user = fields.get("user", "")
    if not user:
        raise BadAsk("enter the name of the user")
    return user, _chosen(fields, "mechanism", SCRAM_MECHANISMS)


def quota_of(body: object) -> tuple[Entity, dict[str, float], list[str]]:
    """Return the entity of quotas, the new quotas and the removed ones. Raises BadAsk."""
    fields = body if isinstance(body, dict) else {}
    names = {kind: fields.get(kind) or None for kind in (USER, CLIENT_ID, IP)}
    values, removed = fields.get("set") or {}, fields.get("unset") or []
    if not isinstance(values, dict) or not isinstance(removed, list) or not (values or removed):
        raise BadAsk("enter a quota and its value")
    try:
        entity = entity_of(
            {kind: None if name is None else str(name) for kind, name in names.items()}
        )
        rates = parse_rates({str(key): str(value) for key, value in values.items()}, entity)
    except StartError as error:
        raise BadAsk(str(error).replace("--", "")) from None
    return entity, rates, [str(key) for key in removed]


def _texts(body: object) -> dict[str, str]:
    fields = body if isinstance(body, dict) else {}
    return {str(name): str(value) for name, value in fields.items() if value is not None}


def _chosen(fields: Mapping[str, str], name: str, known: Mapping[str, T]) -> T:
    found = known.get(fields.get(name, ""))
    if found is None:
        raise BadAsk(f"{name} must be one of {', '.join(known)}")
    return found
