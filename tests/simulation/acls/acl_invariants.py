"""I21: an answer agrees with the ACLs that whoever judged it had replayed at some moment between
the request's arrival and the answer. What a Fetch tells agrees with those of when it tells it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ottla.plugins.authorizer import Operation, Resource
from protocol.messages.fetch import FetchResponse
from simulation.invariants.invariant import Invariant
from simulation.machines.sim_broker import SimBroker
from simulation.network.sim_network import Exchange
from simulation.sim_trace import Judged
from tests.simulation.acls.acl_history import AclHistory, Known
from tests.simulation.acls.claims import FORWARDED, REFUSED, Claim, Need, claims_of
from tests.simulation.acls.principals import SUPER_USERS, principal_of


@dataclass(slots=True)
class _Judged:
    """Between which moments a request was judged: of its broker's history and of controllers'."""

    arrived: dict[str, int]
    """By a node's address."""
    answered: int = -1
    """The number of an event."""


class AnswersAgreeWithAcls(Invariant):
    """See the module."""

    name = "I21"
    stands_power_loss = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.everyone = False
        self.judged = Judged()
        self._histories: dict[str, AclHistory] = {}
        self._controllers: list[str] = []
        self._under_way: dict[Exchange, _Judged] = {}
        self._names: dict[bytes, str] = {}

    # --- what nodes know -------------------------------------------------------------------------

    def node_made(self, broker: SimBroker) -> None:
        """A node's process has begun; nothing runs in it yet."""
        history = self._histories.get(broker.address)
        if history is None:
            history = AclHistory(lambda: self.world.events_run, self.everyone)
            self._histories[broker.address] = history
            if broker.config.is_controller:
                self._controllers.append(broker.address)
        history.follow(broker)
        assert broker.node is not None
        broker.node.controller.add_listener(self._note_names)

    def _note_names(self, _delta: Any, image: Any) -> None:
        for topic in image.topics.by_name.values():
            self._names[topic.id] = topic.name

    def node_ran(self, broker: SimBroker) -> None:
        history = self._histories.get(broker.address)
        if history is not None:
            history.look()

    # --- requests --------------------------------------------------------------------------------

    def handled(self, exchange: Exchange) -> None:
        judges = self._judges_of(exchange)
        for address in judges:
            self._histories[address].look()
        arrived = {address: self._histories[address].now for address in judges}
        self._under_way[exchange] = _Judged(arrived)

    def answered(self, exchange: Exchange) -> None:
        known = self._under_way.get(exchange)
        if known is not None:
            known.answered = self.world.events_run
            self._histories[exchange.node].look()

    def unanswered(self, exchange: Exchange) -> None:
        self._under_way.pop(exchange, None)

    def received(self, exchange: Exchange) -> None:
        known = self._under_way.pop(exchange, None)
        if known is None or known.answered < 0:
            return
        who = principal_of(exchange.client)
        moments = [
            moment
            for address, first in known.arrived.items()
            for moment in self._histories[address].between(first, known.answered)
        ]
        last: list[Known] | None = None
        for claim in claims_of(exchange, self._names.get):
            considered = moments
            if claim.last and claim.allowed:
                last = last or self._last(known)
                considered = last
            if not any(_holds(claim, who, moment) for moment in considered):
                raise self._wrong(exchange, who, claim)
            self._count(who, claim)
        if len(moments) > len(known.arrived):
            self.judged = self.judged._replace(changing=self.judged.changing + 1)

    def may_read(self, fetch: Exchange, topic: str) -> bool:
        """See `Promises.may_read`."""
        known = self._under_way.get(fetch)
        if known is None:
            return True
        need = Need(Operation.READ, Resource.TOPIC, topic)
        who, history = principal_of(fetch.client), self._histories[fetch.node]
        moments = history.between(known.arrived[fetch.node], self.world.events_run)
        return all(moment.allows(who, need) for moment in moments)

    def _judges_of(self, exchange: Exchange) -> list[str]:
        if exchange.key in FORWARDED:
            return [one for one in self._controllers if one in self._histories]
        return [exchange.node]

    def _last(self, known: _Judged) -> list[Known]:
        """The moments of the event in which the answer was given, and the one before it."""
        found: list[Known] = []
        for address, first in known.arrived.items():
            history = self._histories[address]
            found += history.between(history.at(known.answered, first), known.answered)
        return found

    def _count(self, who: str, claim: Claim) -> None:
        if who in SUPER_USERS:
            return
        allowed, denied, changing = self.judged
        self.judged = Judged(allowed + claim.allowed, denied + (not claim.allowed), changing)

    def _wrong(self, exchange: Exchange, who: str, claim: Claim) -> Exception:
        said = "allowed" if claim.allowed else "refused"
        rights = " or ".join(
            f"{one.operation.name} on {one.resource.name} {one.name or '(some)'}"
            for one in claim.needs
        )
        return self.broken(
            f"{exchange.node} {said} {who} {rights} in its answer to #{exchange.number} "
            f"{exchange.key.name}, and that was so at no moment of it"
        )

    # --- what nodes tell each other --------------------------------------------------------------

    def node_told(self, response: Any) -> None:
        """A node was answered by another: nothing is refused it."""
        codes = [getattr(response, "error_code", 0)]
        if isinstance(response, FetchResponse):
            codes += [one.error_code for topic in response.responses for one in topic.partitions]
        if any(one in REFUSED for one in codes):
            raise self.broken(f"a node is refused by another: {response}")


def _holds(claim: Claim, who: str, moment: Known) -> bool:
    return any(moment.allows(who, need) for need in claim.needs) is claim.allowed
