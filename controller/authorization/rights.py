"""The rights of the client that sent a request.

A handler of the broker or of the controller gets a `Rights` with its request's context. It checks
each operation on each resource that the request names, before it reveals or changes anything. It
never looks at a principal itself. `UNLIMITED` are the rights of a node's own requests, and of all
clients if no authorizer is configured.

Owns: the call of the authorizer, and the report of each verdict to the audit log. Never: decides
whether an operation is allowed (`Judge`).

Follows Kafka's `AuthHelper`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from ottla.plugins.authorizer import CLUSTER_NAME, Action, Asker, Operation, Resource


class Verdict(NamedTuple):
    """The decision of an authorizer about an action."""

    allowed: bool
    rule: object
    """The ACL or the name of the rule that decided; its text goes to the audit log."""


class Judge(Protocol):
    """An authorizer, which decides whether a principal may do an operation."""

    def judge(self, asker: Asker, action: Action) -> Verdict:
        """Return whether `asker` may do `action`, and by which rule."""

    def judge_any(self, asker: Asker, operation: Operation, resource: Resource) -> Verdict:
        """Return whether `asker` may do `operation` on at least one resource of that type."""


class Epochs(Protocol):
    """The validity of verdicts that are kept for later requests."""

    epoch: int
    """A number that changes whenever earlier verdicts become invalid."""
    may_prepare: bool
    """Whether a verdict may be used for more than one request at all."""


class VerdictLog(Protocol):
    """A log that receives the verdicts."""

    def record_verdict(self, asker: Asker, action: Action, verdict: Verdict, count: int) -> None:
        """Pass a verdict to the audit log. `count` is how often the request names the resource."""


OPERATIONS_OF: dict[Resource, tuple[Operation, ...]] = {
    Resource.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    Resource.GROUP: (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    Resource.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
    Resource.TRANSACTIONAL_ID: (
        Operation.WRITE,
        Operation.DESCRIBE,
        Operation.TWO_PHASE_COMMIT,
    ),
    Resource.DELEGATION_TOKEN: (Operation.DESCRIBE,),
    Resource.USER: (Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS),
}
"""The operations of each resource type, as in Kafka's `AclEntry.supportedOperations`."""
_ALL_OPERATIONS = {
    resource: sum(1 << operation for operation in operations)
    for resource, operations in OPERATIONS_OF.items()
}


class Rights:
    """The rights of the client that sent a request."""

    __slots__ = ("_asker", "_audit", "_epochs", "_judge")

    def __init__(
        self,
        judge: Judge | None,
        asker: Asker,
        audit: VerdictLog | None = None,
        epochs: Epochs | None = None,
    ) -> None:
        """Use `judge` for all checks; None: all is allowed. `audit` receives the verdicts, None: no
        log. Without `epochs`, no verdict may be used again later."""
        self._judge = judge
        self._asker = asker
        self._audit = audit
        self._epochs = epochs

    @property
    def unlimited(self) -> bool:
        """Whether everything is allowed, so that no check is needed."""
        return self._judge is None

    @property
    def epoch(self) -> int:
        """The present epoch of verdicts, for `stand_since`; 0 without epochs."""
        return 0 if self._epochs is None else self._epochs.epoch

    def stand_since(self, epoch: int) -> bool:
        """Return whether all verdicts of `epoch` are still valid, so that a request that has waited
        need not be checked again. False if the authorizer does not let verdicts be kept, or without
        epochs."""
        epochs = self._epochs
        if epochs is None:
            return self._judge is None
        return epochs.may_prepare and epochs.epoch == epoch

    def unchanged_since(self, epoch: int) -> bool:
        """Return whether no ACL or other rule has changed since `epoch`, so that verdicts are valid
        for the rest of one request. A plug-in that changes its rules without notice is not asked
        again during a request either."""
        return self._judge is None or (self._epochs is not None and self._epochs.epoch == epoch)

    def allows(
        self,
        operation: Operation,
        resource: Resource,
        name: str,
        count: int = 1,
        *,
        audited: bool = True,
    ) -> bool:
        """Return whether `operation` is allowed on the resource, and pass the verdict to the audit
        log.

        `count` is how often the request names the resource. `audited` is False if a denial only
        leaves the resource out of a response, and the request does not name it; then the audit log
        gets nothing.
        """
        if self._judge is None:
            return True
        action = Action(operation, resource, name)
        verdict = self._judge.judge(self._asker, action)
        if audited and self._audit is not None:
            self._audit.record_verdict(self._asker, action, verdict, count)
        return verdict.allowed

    def allows_on_cluster(self, operation: Operation, *, audited: bool = True) -> bool:
        """Return whether `operation` is allowed on the cluster."""
        return self.allows(operation, Resource.CLUSTER, CLUSTER_NAME, audited=audited)

    def allowed(
        self,
        operation: Operation,
        resource: Resource,
        names: Iterable[str],
        *,
        audited: bool = True,
    ) -> set[str]:
        """Return those of `names` on which `operation` is allowed. A repeated name is checked once,
        and the audit log gets its count."""
        counts: dict[str, int] = {}
        for name in names:
            counts[name] = counts.get(name, 0) + 1
        return self.allowed_of(operation, resource, counts, audited=audited)

    def allowed_of(
        self,
        operation: Operation,
        resource: Resource,
        counts: Mapping[str, int],
        *,
        audited: bool = True,
    ) -> set[str]:
        """Return the names on which `operation` is allowed, like `allowed`. `counts` has how often
        the request has each name."""
        if self._judge is None:
            return set(counts)
        return {
            name
            for name, count in counts.items()
            if self.allows(operation, resource, name, count, audited=audited)
        }

    def allows_any(self, operation: Operation, resource: Resource) -> bool:
        """Return whether `operation` is allowed on at least one resource of that type. The audit
        log gets no verdict."""
        if self._judge is None:
            return True
        return self._judge.judge_any(self._asker, operation, resource).allowed

    def operations(self, resource: Resource, name: str) -> int:
        """Return the operations allowed on the resource: bit n for operation n (KIP-430). The audit
        log gets no verdicts."""
        if self._judge is None:
            return _ALL_OPERATIONS[resource]
        bits = 0
        for operation in OPERATIONS_OF[resource]:
            if self.allows(operation, resource, name, audited=False):
                bits |= 1 << operation
        return bits

    def operations_on_cluster(self) -> int:
        """Return the operations that are allowed on the cluster, like `operations`; 0 if Describe
        is not allowed."""
        if not self.allows_on_cluster(Operation.DESCRIBE):
            return 0
        return self.operations(Resource.CLUSTER, CLUSTER_NAME)


UNLIMITED = Rights(None, Asker("", "", "", "", None, -1, -1))
"""The rights of a node's own requests, and of all clients if no authorizer is configured."""
