"""What somebody may do, as a test lists it: no principals, no ACLs, nothing implied.

`rights_of({(Operation.READ, Resource.TOPIC, "t")})` may read topic `t`, and nothing else;
`rights_of(())` may do nothing. A `ListJudge` remembers what it was asked, and its list can change
under rights that somebody holds. `acls_of` makes an image of entries for the real authorizer.
"""

from __future__ import annotations

from collections.abc import Iterable

from controller.authorization.rights import Rights, Verdict, VerdictLog
from controller.metadata.acl import Acl, AclsImage
from ottla.plugins.authorizer import CLUSTER_NAME, Action, Asker, Operation, Resource
from protocol.messages.create_acls import AclCreation

Allowed = tuple[Operation, Resource, str]

ALICE = Asker("User:alice", "127.0.0.1", "PLAINTEXT", "PLAINTEXT", "test", 0, 0)


class ListJudge:
    """Allows what is on its list (`controller.authorization.rights.Judge`)."""

    def __init__(self, allowed: Iterable[Allowed] = ()) -> None:
        self.allowed = set(allowed)
        self.asked: list[Action] = []

    def judge(self, asker: Asker, action: Action) -> Verdict:
        self.asked.append(action)
        return Verdict(tuple(action) in self.allowed, "the test's list")

    def judge_any(self, asker: Asker, operation: Operation, resource: Resource) -> Verdict:
        is_listed = any(one[:2] == (operation, resource) for one in self.allowed)
        return Verdict(is_listed, "the test's list")

    def rights(self, audit: VerdictLog | None = None) -> Rights:
        """Of one who asks; good for as long as the list says so."""
        return Rights(self, ALICE, audit)


class Heard:
    """An audit that remembers each judgement (`controller.authorization.rights.VerdictLog`)."""

    def __init__(self) -> None:
        self.told_of: list[tuple[Action, bool, int]] = []
        """What was asked, whether it is allowed, and how often the request names it."""

    @property
    def names(self) -> list[str]:
        """Of what it was asked for."""
        return [action.name for action, _, _ in self.told_of]

    def record_verdict(self, asker: Asker, action: Action, verdict: Verdict, count: int) -> None:
        self.told_of.append((action, verdict.allowed, count))


def rights_of(allowed: Iterable[Allowed]) -> Rights:
    """Of one who may do just that."""
    return ListJudge(allowed).rights()


def on_topic(operation: Operation, *names: str) -> set[Allowed]:
    """`operation` on these topics."""
    return {(operation, Resource.TOPIC, name) for name in names}


def on_cluster(operation: Operation) -> set[Allowed]:
    """`operation` on the cluster."""
    return {(operation, Resource.CLUSTER, CLUSTER_NAME)}


def acls_of(made: Iterable[AclCreation]) -> AclsImage:
    """What there is after these."""
    return AclsImage().changed(
        {
            number.to_bytes(16, "big"): Acl(
                one.resource_type,
                one.resource_name,
                one.resource_pattern_type,
                one.principal,
                one.host,
                one.operation,
                one.permission_type,
            )
            for number, one in enumerate(made, 1)
        }
    )
