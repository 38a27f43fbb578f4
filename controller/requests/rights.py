"""Checks of the rights that a request needs, made when the controller decides on it.

Only the active controller decides, and it has replayed all records that were committed before: so
it judges by every ACL. Any other node replies NOT_CONTROLLER or holds the request, and does not
judge by the ACLs that it has replayed so far.

Owns: the rejection of a whole request, and the right that each kind of config needs. Never makes a
decision.

Follows Kafka's `ControllerApis` and `ConfigAdminManager`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable
from itertools import islice
from typing import Protocol, TypeVar

from controller.authorization.rights import Rights
from controller.decisions.decision import Decided, Decision, DecisionView
from controller.decisions.mutation_quota import MutationQuota
from controller.metadata.image import ResourceType
from ground.sliced_work import BULK_AT_ONCE, PIECES_AT_ONCE, Pace, Steps, in_bulk
from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from protocol.errors import ApiError, ErrorCode

T = TypeVar("T")

CLUSTER_DENIED = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
TOPIC_DENIED = ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
GROUP_DENIED = ApiError(ErrorCode.GROUP_AUTHORIZATION_FAILED, "Group authorization failed.")

_ON_CLUSTER = (ResourceType.BROKER, ResourceType.BROKER_LOGGER, ResourceType.CLIENT_METRICS)


class RequestSender(Protocol):
    """The client that sent a request."""

    @property
    def rights(self) -> Rights:
        """The rights of the client."""


class SenderWithQuota(RequestSender, Protocol):
    """The client that sent a request, and its quota."""

    @property
    def quota(self) -> MutationQuota | None:
        """The quota on changes of partitions; None: no quota."""

    @property
    def api_version(self) -> int:
        """The version of the request."""


def if_allowed(
    sender: RequestSender, operation: Operation, decide: Callable[[DecisionView], Decided[T]]
) -> Callable[[DecisionView], Decided[T]]:
    """Return a decider that calls `decide` if `operation` is allowed on the cluster. Otherwise its
    decision has the reply CLUSTER_AUTHORIZATION_FAILED and no records."""
    rights = sender.rights

    def decide_if_allowed(view: DecisionView) -> Decided[T]:
        """Check the right at the time of the decision, and return the decision of `decide` or the
        rejection."""
        if not rights.allows_on_cluster(operation):
            return Decision(CLUSTER_DENIED)
        return decide(view)

    return decide_if_allowed


class _Everything:
    """A container of every name."""

    def __contains__(self, _name: object) -> bool:
        """Return True for every name."""
        return True


EVERYTHING: Container[str] = _Everything()


def allowed_in_slices(
    rights: Rights,
    operation: Operation,
    resource: Resource,
    names: Iterable[str],
    *,
    audited: bool = True,
) -> Steps[Container[str]]:
    """Return those of many names on which `operation` is allowed, like `Rights.allowed`, in slices.
    If the sender has all rights, return EVERYTHING, which contains every name."""
    if rights.unlimited:
        return EVERYTHING
    counts = Counter[str]()
    yield from in_bulk(counts.update, names)
    allowed: set[str] = set()
    names_left = iter(counts.items())
    while batch := dict(islice(names_left, PIECES_AT_ONCE)):
        if len(counts) > PIECES_AT_ONCE:
            yield None
        allowed |= rights.allowed_of(operation, resource, batch, audited=audited)
    return allowed


def split_in_slices(
    rights: Rights, operation: Operation, resource: Resource, names: Collection[str]
) -> Steps[tuple[list[str], list[str]]]:
    """Return the list of `names` on which `operation` is allowed, and the list of the others, in
    slices."""
    allowed = yield from allowed_in_slices(rights, operation, resource, names)
    pace, split = Pace(BULK_AT_ONCE), (list[str](), list[str]())
    for name in names:
        if pace.is_full():
            yield None
        split[name not in allowed].append(name)
    return split


def creatable_in_slices(rights: Rights, names: Iterable[str]) -> Steps[Container[str]]:
    """Return those topics of `names` that may be created, in slices. Create on the cluster allows
    all: then return EVERYTHING."""
    if rights.allows_on_cluster(Operation.CREATE, audited=False):
        return EVERYTHING
    return (yield from allowed_in_slices(rights, Operation.CREATE, Resource.TOPIC, names))


def config_denial(rights: Rights, operation: Operation, kind: int, name: str) -> ApiError | None:
    """Return the error if `operation` is not allowed on the configs of a resource, else None. A
    resource type without configs needs no right."""
    if kind == ResourceType.TOPIC:
        return None if rights.allows(operation, Resource.TOPIC, name) else TOPIC_DENIED
    if kind == ResourceType.GROUP:
        return None if rights.allows(operation, Resource.GROUP, name) else GROUP_DENIED
    if kind in _ON_CLUSTER:
        return None if rights.allows(operation, Resource.CLUSTER, CLUSTER_NAME) else CLUSTER_DENIED
    return None
