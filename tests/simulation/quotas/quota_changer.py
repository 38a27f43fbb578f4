"""Sets and removes quotas of clients through any broker while everybody works.

For a user, a client id, both, or their defaults; one of the four rates at a time, or several. A few
are set at once, so that one is found behind another. Some requests only ask whether it would be
possible. Once the faults are over, all are removed, and again after what was given up may have
arrived.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from broker.requests.context import ANONYMOUS
from controller.metadata.client_quotas import CLIENT_ID, USER, QuotaEntity
from protocol.errors import ErrorCode
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntityData,
    AlterClientQuotasRequestEntryData,
    OpData,
)
from simulation.sim_client import Waits
from simulation.sim_trace import Violation
from tests.simulation.sim_actor import SimActor

PRODUCE, FETCH, REQUEST, MUTATION = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
)
RATES = {
    PRODUCE: (300.0, 2_000.0, 20_000.0),
    FETCH: (500.0, 3_000.0, 20_000.0),
    REQUEST: (0.2, 1.0, 10.0),
    MUTATION: (0.1, 0.5, 10.0),
}
"""What a quota may be: most of them less than what the clients would take."""
WINDOW_NUM, WINDOW_S = 4, 1
SETTINGS = {
    "quota.window.num": str(WINDOW_NUM),
    "quota.window.size.seconds": str(WINDOW_S),
    "controller.quota.window.num": str(WINDOW_NUM),
    "controller.quota.window.size.seconds": str(WINDOW_S),
}
"""Of each node: what was taken some seconds ago counts no more."""
CLIENTS = ("idempotent-1", "idempotent-2", "plain-1", "plain--1", "plain-churn", "consumer-1",
           "consumer-3", "member-0", "member-1", "admin", "transfer-1", "copier-1")  # fmt: skip
SET_MAX = 4
LATE_MS = 8_000.0
"""How long a request that was given up may be on its way yet."""
IN_VAIN = (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER)
Ops = list[tuple[str, float | None]]


class QuotaChanger(SimActor):
    """See the module."""

    def __init__(self, name: str, *where: Any, think_ms: float) -> None:
        super().__init__(name, *where)
        self.think_ms = think_ms
        principals = dict.fromkeys((ANONYMOUS, *map(self.network.principal_of, CLIENTS)))
        self._users = [one.partition(":")[2] for one in principals]
        self._set: dict[QuotaEntity, None] = {}
        self._ever: dict[QuotaEntity, None] = {}

    def life(self) -> Waits:
        while not self.stopping:
            yield self.chance.expovariate(1 / self.think_ms)
            yield from self._change()
        yield from self._remove_all()
        yield LATE_MS
        yield from self._remove_all()

    def _change(self) -> Waits:
        if len(self._set) >= SET_MAX or (self._set and self.chance.random() < 0.4):
            entity = self.chance.choice(list(self._set))
            del self._set[entity]
            yield from self._alter([entity], [(key, None) for key in RATES])
            return
        entity = self._drawn()
        self._set[entity] = self._ever[entity] = None
        keys = self.chance.sample(list(RATES), self.chance.choice([1, 1, 2, 4]))
        ops: Ops = [(key, self.chance.choice(RATES[key])) for key in keys]
        if self.chance.random() < 0.1:
            yield from self._alter([entity], ops, validate_only=True)
        yield from self._alter([entity], ops)

    def _drawn(self) -> QuotaEntity:
        user = (USER, self.chance.choice([*self._users, None]))
        client = (CLIENT_ID, self.chance.choice([*CLIENTS, None, None, None]))
        return self.chance.choice([(user,), (client,), (client, user)])

    def _remove_all(self) -> Waits:
        """Of whatever was ever set: what this client believes may be wrong."""
        while self._ever and not (
            yield from self._alter(self._ever, [(key, None) for key in RATES])
        ):
            yield self.pause_ms()

    def _alter(
        self, entities: Iterable[QuotaEntity], ops: Ops, *, validate_only: bool = False
    ) -> Waits:
        """Whether it is done."""
        entries = [
            AlterClientQuotasRequestEntryData(
                [AlterClientQuotasRequestEntityData(kind, name) for kind, name in entity],
                [OpData(key, value or 0.0, value is None) for key, value in ops],
            )
            for entity in entities
        ]
        request = AlterClientQuotasRequest(entries, validate_only)
        response = yield from self.call(request, self.chance.randint(0, 1))
        errors = [ErrorCode(one.error_code) for one in response.entries] if response else []
        for error in errors:
            if error not in IN_VAIN:
                raise Violation("I22", f"{self.name} changes quotas and is told {error!r}")
        return bool(errors) and not any(errors)
