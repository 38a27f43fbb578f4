"""Changes ACLs through any broker while everybody works: takes rights away, and gives them back.

Each principal has the rights that its clients need. Now and then one of them goes, or something is
denied: for one principal or for all, by name, by prefix or for any name, for one operation or for
all, from any host or from one that nobody comes from. A few changes are out at a time. Once the
faults are over, all rights are given back, and nothing is denied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from protocol.errors import ErrorCode
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from simulation.sim_client import Waits
from simulation.sim_trace import Violation
from tests.simulation.acls.principals import (
    BANKER,
    HOST,
    KEEPER,
    ORDINARY,
    READER,
    ROOT,
    STRANGER,
    WRITER,
)
from tests.simulation.sim_actor import SimActor

ALL, ANY, MATCH = 2, 1, 2
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3
TOPIC, GROUP, CLUSTER, TRANSACTION = (
    Resource.TOPIC,
    Resource.GROUP,
    Resource.CLUSTER,
    Resource.TRANSACTIONAL_ID,
)
Entry = tuple[int, str, int, str, str, int, int]
"""Resource, name, pattern, principal, host, operation, permission."""


def _allow(
    principal: str, operation: int, resource: Resource, name: str, pattern: int = LITERAL
) -> Entry:
    return (resource, name, pattern, principal, "*", operation, ALLOW)


RIGHTS: tuple[Entry, ...] = (
    _allow(WRITER, Operation.WRITE, TOPIC, "*"),
    _allow(WRITER, Operation.IDEMPOTENT_WRITE, CLUSTER, CLUSTER_NAME),
    _allow(READER, Operation.READ, TOPIC, "*"),
    _allow(READER, Operation.READ, GROUP, "read", PREFIXED),
    _allow(BANKER, ALL, TOPIC, "orders"),
    _allow(BANKER, Operation.WRITE, TOPIC, "acc", PREFIXED),
    _allow(BANKER, Operation.WRITE, TOPIC, "copies"),
    _allow(BANKER, Operation.WRITE, TRANSACTION, "bank", PREFIXED),
    _allow(BANKER, ALL, TRANSACTION, "copier-1"),
    _allow(BANKER, ALL, TRANSACTION, "copier-2"),
    _allow(BANKER, Operation.READ, GROUP, "copiers"),
    _allow(KEEPER, ALL, CLUSTER, CLUSTER_NAME),
    _allow(KEEPER, ALL, TOPIC, "*"),
)
"""What the clients of each principal need."""
FENCE = _allow(ROOT, ALL, CLUSTER, CLUSTER_NAME)
"""Never goes: so nobody becomes a broker by being allowed what no ACL speaks about."""
NAMES: dict[Resource, tuple[str, ...]] = {
    TOPIC: ("orders", "clicks", "accounts", "copies", "gusts", "showers"),
    GROUP: ("readers", "copiers", "strangers"),
    TRANSACTION: ("bank", "bank-1", "bank-2", "copier-1", "copier-2"),
    CLUSTER: (CLUSTER_NAME,),
}
OPERATIONS: dict[Resource, tuple[int, ...]] = {
    TOPIC: (
        ALL,
        Operation.READ,
        Operation.WRITE,
        Operation.DESCRIBE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.ALTER_CONFIGS,
        Operation.DESCRIBE_CONFIGS,
    ),
    GROUP: (ALL, Operation.READ, Operation.DESCRIBE),
    TRANSACTION: (ALL, Operation.WRITE, Operation.DESCRIBE),
    CLUSTER: (ALL, Operation.IDEMPOTENT_WRITE, Operation.ALTER, Operation.CREATE,
              Operation.DELETE, Operation.DESCRIBE),
}  # fmt: skip
"""None of them makes a client a broker: one that could fetch in a replica's name would lie."""
HOSTS = ("*", "*", "*", HOST, "10.0.0.9")
OUT_MAX = 3
LATE_MS = 8_000.0
"""How long a request that was given up may be on its way yet."""


class AclChanger(SimActor):
    """See the module."""

    def __init__(self, name: str, *where: Any, think_ms: float) -> None:
        super().__init__(name, *where)
        self.think_ms = think_ms
        self.ready = False
        self._given: list[Entry] = []
        """Beside `RIGHTS`: what was denied, or allowed to a stranger."""
        self._taken: list[Entry] = []
        """Of `RIGHTS`: what is gone."""

    def life(self) -> Waits:
        while not (yield from self._create([FENCE, *RIGHTS])):
            yield self.pause_ms()
        self.ready = True
        while not self.stopping:
            yield self.chance.expovariate(1 / self.think_ms)
            yield from self._change()
        yield from self._restore()
        yield LATE_MS
        yield from self._restore()

    # --- one change ------------------------------------------------------------------------------

    def _change(self) -> Waits:
        out = len(self._given) + len(self._taken)
        if out >= OUT_MAX or (out and self.chance.random() < 0.4):
            yield from self._give_back()
        elif self.chance.random() < 0.3:
            right = self.chance.choice(RIGHTS)
            self._taken.append(right)
            yield from self._delete([_exactly(right)])
        else:
            entry = self._drawn()
            self._given.append(entry)
            yield from self._create([entry])

    def _give_back(self) -> Waits:
        if self._taken and self.chance.random() < 0.5:
            taken, self._taken = self._taken, []
            yield from self._create(taken)
        elif self._given and self.chance.random() < 0.8:
            yield from self._delete([_exactly(self._given.pop(0))])
        else:
            yield from self._restore(1)

    def _drawn(self) -> Entry:
        """Something is denied; or a stranger is allowed something."""
        resource = self.chance.choice([TOPIC, TOPIC, TOPIC, GROUP, TRANSACTION, CLUSTER])
        name, pattern = self.chance.choice(NAMES[resource]), LITERAL
        if resource is not CLUSTER:
            dice = self.chance.random()
            if dice < 0.25:
                name, pattern = name[: self.chance.randint(1, len(name))], PREFIXED
            elif dice < 0.4:
                name = "*"
        operation = self.chance.choice(OPERATIONS[resource])
        if self.chance.random() < 0.2 and not (resource is CLUSTER and operation == ALL):
            return (resource, name, pattern, STRANGER, "*", operation, ALLOW)
        whom = self.chance.choice([*ORDINARY, "User:*"])
        return (resource, name, pattern, whom, self.chance.choice(HOSTS), operation, DENY)

    # --- requests --------------------------------------------------------------------------------

    def _create(self, entries: Sequence[Entry]) -> Waits:
        request = CreateAclsRequest([AclCreation(*one) for one in entries])
        response = yield from self.call(request, self.chance.randint(1, 3))
        return self._all_done(response and response.results)

    def _delete(self, filters: list[DeleteAclsFilter]) -> Waits:
        response = yield from self.call(DeleteAclsRequest(filters), self.chance.randint(1, 3))
        return self._all_done(response and response.filter_results)

    def _all_done(self, results: list[Any] | None) -> bool:
        errors = [ErrorCode(one.error_code) for one in results or ()]
        for error in errors:
            if error not in (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER):
                raise Violation("I21", f"{self.name} changes ACLs and is told {error!r}")
        return bool(errors) and not any(errors)

    def _restore(self, tries: int = 1_000) -> Waits:
        """All rights, and nothing denied: by filters that mean many at once."""
        filters = [DeleteAclsFilter(ANY, None, ANY, None, None, ANY, DENY)]
        filters.append(DeleteAclsFilter(ANY, None, MATCH, STRANGER, None, ANY, ALLOW))
        for _ in range(tries):
            if (yield from self._delete(filters)) and (yield from self._create(RIGHTS)):
                self._given, self._taken = [], []
                return
            yield self.pause_ms()


def _exactly(entry: Entry) -> DeleteAclsFilter:
    return DeleteAclsFilter(*entry)
