"""What the sender of one request may do: what every handler asks before it tells or changes
anything.

A handler of the broker or of the controller gets a `Rights` with its request's context, and asks it
for each operation on each resource that the request names. It never looks at a principal itself.
`UNLIMITED` are the rights of a node's own requests, and of everybody where nothing is checked.

Owns: the question, and that each answer is told to the audit. Never: judges (`Judge`).

Follows Kafka's `AuthHelper`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from ottla.plugins.authorizer import CLUSTER_NAME, Action, Asker, Operation, Resource


class Verdict(NamedTuple):
    """What was judged."""

    allowed: bool
    rule: object
    """By what; its text is for people."""


class Judge(Protocol):
    """Knows who may do what: an authorizer."""

    def judge(self, asker: Asker, action: Action) -> Verdict:
        """Whether `asker` may do that."""

    def judge_any(self, asker: Asker, operation: Operation, resource: Resource) -> Verdict:
        """Whether `asker` may do `operation` to at least one resource of that type."""


class Epochs(Protocol):
    """For how long what was judged holds."""

    epoch: int
    """Another one, another judgement."""
    may_prepare: bool
    """Whether a judgement holds for more than one request at all."""


class Audit(Protocol):
    """Is told what was judged."""

    def told(self, asker: Asker, action: Action, verdict: Verdict, count: int) -> None:
        """`count`: how often the request names the resource."""


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
"""What can be done to a resource, as Kafka's `AclEntry.supportedOperations`."""
_ALL_OPERATIONS = {
    resource: sum(1 << operation for operation in operations)
    for resource, operations in OPERATIONS_OF.items()
}


class Rights:
    """Of whoever sent one request."""

    __slots__ = ("_asker", "_audit", "_epochs", "_judge")

    def __init__(
        self,
        judge: Judge | None,
        asker: Asker,
        audit: Audit | None = None,
        epochs: Epochs | None = None,
    ) -> None:
        """Without a judge, all is allowed. Without `epochs`, a verdict holds for one look."""
        self._judge = judge
        self._asker = asker
        self._audit = audit
        self._epochs = epochs

    @property
    def unlimited(self) -> bool:
        """Whether all is allowed, so that nothing has to be asked."""
        return self._judge is None

    @property
    def epoch(self) -> int:
        """Of the judgements as of now: see `stand_since`."""
        return 0 if self._epochs is None else self._epochs.epoch

    def stand_since(self, epoch: int) -> bool:
        """Whether what was allowed as of `epoch` still is, so that it need not be asked for again:
        for requests that have waited."""
        epochs = self._epochs
        if epochs is None:
            return self._judge is None
        return epochs.may_prepare and epochs.epoch == epoch

    def unchanged_since(self, epoch: int) -> bool:
        """Whether nothing by which requests are judged has changed since `epoch`. Of a plug-in that
        changes its mind without a word, what it has said holds for one request."""
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
        """Whether `operation` may be done. `count`: how often the request names the resource.
        `audited`: no, where what is denied is only left out of an answer that names nothing."""
        if self._judge is None:
            return True
        action = Action(operation, resource, name)
        verdict = self._judge.judge(self._asker, action)
        if audited and self._audit is not None:
            self._audit.told(self._asker, action, verdict, count)
        return verdict.allowed

    def allows_on_cluster(self, operation: Operation, *, audited: bool = True) -> bool:
        """Whether `operation` may be done to the cluster."""
        return self.allows(operation, Resource.CLUSTER, CLUSTER_NAME, audited=audited)

    def allowed(
        self,
        operation: Operation,
        resource: Resource,
        names: Iterable[str],
        *,
        audited: bool = True,
    ) -> set[str]:
        """Those of `names` to which `operation` may be done. Each is asked for once."""
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
        """As `allowed`, of names with how often each is named."""
        if self._judge is None:
            return set(counts)
        return {
            name
            for name, count in counts.items()
            if self.allows(operation, resource, name, count, audited=audited)
        }

    def allows_any(self, operation: Operation, resource: Resource) -> bool:
        """Whether `operation` may be done to at least one resource of that type."""
        if self._judge is None:
            return True
        return self._judge.judge_any(self._asker, operation, resource).allowed

    def operations(self, resource: Resource, name: str) -> int:
        """What may be done to the resource: bit n for operation n (KIP-430)."""
        if self._judge is None:
            return _ALL_OPERATIONS[resource]
        bits = 0
        for operation in OPERATIONS_OF[resource]:
            if self.allows(operation, resource, name, audited=False):
                bits |= 1 << operation
        return bits

    def operations_on_cluster(self) -> int:
        """As `operations`; 0 for one who may not describe the cluster."""
        if not self.allows_on_cluster(Operation.DESCRIBE):
            return 0
        return self.operations(Resource.CLUSTER, CLUSTER_NAME)


UNLIMITED = Rights(None, Asker("", "", "", "", None, -1, -1))
"""Of a node's own requests, and of everybody where nothing is checked."""
