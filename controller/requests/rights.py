"""Whether the sender of a request may do what it asks for, judged when that is decided.

Only the active controller decides, and that has replayed all that was committed before: it judges
by every ACL there was. A node that is not, or not yet, says NOT_CONTROLLER or lets the request
wait, instead of judging by what it knows so far.

Owns: how a whole request is refused, and what each kind of config needs. Never judges.

Follows Kafka's `ControllerApis` and `ConfigAdminManager`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable
from itertools import islice
from typing import Protocol, TypeVar

from controller.authorization.rights import Rights
from controller.decisions.decision import Decided, Decision, View
from controller.decisions.mutation_quota import MutationQuota
from controller.metadata.image import ResourceType
from ground.sliced_work import BULK_AT_ONCE, PIECES_AT_ONCE, Pace, Steps, in_bulk
from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from protocol.errors import ApiError, ErrorCode

T = TypeVar("T")

CLUSTER_DENIED = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
TOPIC_DENIED = ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
GROUP_DENIED = ApiError(ErrorCode.GROUP_AUTHORIZATION_FAILED, "Group authorization failed.")

_OF_CLUSTER = (ResourceType.BROKER, ResourceType.BROKER_LOGGER, ResourceType.CLIENT_METRICS)


class Sender(Protocol):
    """Whoever sent a request."""

    @property
    def rights(self) -> Rights:
        """What it may do."""


class Limited(Sender, Protocol):
    """One that may have a quota."""

    @property
    def quota(self) -> MutationQuota | None:
        """Of changes to partitions; None: none."""

    @property
    def api_version(self) -> int:
        """Version of its request."""


def if_allowed(
    sender: Sender, operation: Operation, decide: Callable[[View], Decided[T]]
) -> Callable[[View], Decided[T]]:
    """`decide`, for one who may do `operation` to the cluster; others are refused whole."""
    rights = sender.rights

    def decide_if_allowed(view: View) -> Decided[T]:
        if not rights.allows_on_cluster(operation):
            return Decision(CLUSTER_DENIED)
        return decide(view)

    return decide_if_allowed


class _Everything:
    """Holds whatever it is asked for."""

    def __contains__(self, _one: object) -> bool:
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
    """`Rights.allowed` of many names: those of them to which `operation` may be done."""
    if rights.unlimited:
        return EVERYTHING
    counts = Counter[str]()
    yield from in_bulk(counts.update, names)
    allowed: set[str] = set()
    asked = iter(counts.items())
    while some := dict(islice(asked, PIECES_AT_ONCE)):
        if len(counts) > PIECES_AT_ONCE:
            yield None
        allowed |= rights.allowed_of(operation, resource, some, audited=audited)
    return allowed


def split_in_slices(
    rights: Rights, operation: Operation, resource: Resource, names: Collection[str]
) -> Steps[tuple[list[str], list[str]]]:
    """Return those of `names` to which `operation` may be done, and the others."""
    allowed = yield from allowed_in_slices(rights, operation, resource, names)
    pace, split = Pace(BULK_AT_ONCE), (list[str](), list[str]())
    for name in names:
        if pace.is_full():
            yield None
        split[name not in allowed].append(name)
    return split


def creatable_in_slices(rights: Rights, names: Iterable[str]) -> Steps[Container[str]]:
    """Return the topics of `names` that may be created: Create on the cluster allows all."""
    if rights.allows_on_cluster(Operation.CREATE, audited=False):
        return EVERYTHING
    return (yield from allowed_in_slices(rights, Operation.CREATE, Resource.TOPIC, names))


def config_denial(rights: Rights, operation: Operation, kind: int, name: str) -> ApiError | None:
    """Why `operation` may not be done to configs of a resource; None where it may. A kind of
    resource that has no configs is nobody's to allow."""
    if kind == ResourceType.TOPIC:
        return None if rights.allows(operation, Resource.TOPIC, name) else TOPIC_DENIED
    if kind == ResourceType.GROUP:
        return None if rights.allows(operation, Resource.GROUP, name) else GROUP_DENIED
    if kind in _OF_CLUSTER:
        return None if rights.allows(operation, Resource.CLUSTER, CLUSTER_NAME) else CLUSTER_DENIED
    return None
