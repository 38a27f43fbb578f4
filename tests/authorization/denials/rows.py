"""The form of a row of the table, and the cases that are made of it.

A row is one request with the rights that it needs. Its cases: by one without rights, with exactly
the needed ones, with each of them left out, with each of them denied beside the others, and by
nobody who has logged in, without rights and with them. Owns no request: `needs` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from protocol.api_keys import STABLE_VERSIONS, ApiKey
from tests.authorization.random_acls import ALLOW, LITERAL
from tests.authorization.reference import DENY, Entry
from tests.differential.sequence import Resolver, Step

Body = dict[str, Any]
Need = tuple[Operation, Resource, str]
"""`~` begins a name of the case's own."""

TOKEN = "the token"
"""Stands for the id of the delegation token that was made before."""
EVERYTHING = "all that is needed"
BROKER, CONTROLLER = "broker", "controller"
ALICE, NOBODY = "alice", None
NOT_SO_OLD = ("FIND_COORDINATOR", "OFFSET_FETCH")
"""Whose oldest version cannot ask what a newer one does."""


@dataclass(frozen=True, eq=False)
class Row:
    """`what` tells it from the other rows of its API. `before`: what an administrator does first,
    after the topic `~t` was made."""

    api: str
    version: int
    body: Body
    needs: tuple[Need, ...] = ()
    what: str = ""
    before: tuple[Step, ...] = ()
    listeners: tuple[str, ...] = (BROKER,)
    answered: bool = True
    brief: bool = False
    """Whether only one without rights and one with all of them ask."""

    @property
    def step(self) -> Step:
        return Step(self.api, self.version, self.body)


@dataclass(frozen=True, eq=False)
class Case:
    """A row, over one listener, by somebody with some rights."""

    row: Row
    listener: str
    user: str | None
    rights: str
    allowed: tuple[Need, ...] = ()
    denied: tuple[Need, ...] = ()

    @property
    def name(self) -> str:
        """Unique."""
        what = f" {self.row.what}" if self.row.what else ""
        who = "" if self.user else "nobody, "
        return f"{self.row.api} v{self.row.version}{what} ({self.listener}): {who}{self.rights}"

    def entries(self, resolver: Resolver) -> list[Entry]:
        """Its ACLs, as numbers."""
        principal = f"User:{self.user or 'ANONYMOUS'}"

        def entry(need: Need, permission: int) -> Entry:
            operation, resource, name = need
            name = resolver.value({"$": "token_id", "of": "last"} if name == TOKEN else name)
            return (int(resource), name, LITERAL, principal, "*", int(operation), permission)

        return [entry(need, ALLOW) for need in self.allowed] + [
            entry(need, DENY) for need in self.denied
        ]


def cases_of(row: Row, listener: str) -> list[Case]:
    """Those of one row over one listener."""
    needs = row.needs
    if row.brief:
        found = [Case(row, listener, ALICE, "no rights")]
        return [*found, Case(row, listener, ALICE, EVERYTHING, needs)] if needs else found
    found = [Case(row, listener, who, "no rights") for who in (ALICE, NOBODY)]
    if needs:
        found += [Case(row, listener, who, EVERYTHING, needs) for who in (ALICE, NOBODY)]
    for number, need in enumerate(needs):
        others = (*needs[:number], *needs[number + 1 :])
        if others:
            found.append(Case(row, listener, ALICE, f"without {text_of_need(need)}", others))
        found.append(Case(row, listener, ALICE, f"denied {text_of_need(need)}", needs, (need,)))
    return found


def cases(rows: tuple[Row, ...]) -> Iterator[Case]:
    """All of them, in the order of the rows."""
    for row in rows:
        for listener in row.listeners:
            yield from cases_of(row, listener)


def text_of_need(need: Need) -> str:
    """As people say it: `WRITE TOPIC ~t`."""
    operation, resource, name = need
    return f"{operation.name} {resource.name}" + ("" if name == CLUSTER_NAME else f" {name}")


def at_their_oldest(rows: tuple[Row, ...]) -> Iterator[Row]:
    """The first row of each API once more, in the oldest version that is served."""
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for row in rows:
        oldest, _ = STABLE_VERSIONS[ApiKey[row.api]]
        if (row.api, row.listeners) in seen or row.version == oldest or row.api in NOT_SO_OLD:
            continue
        seen.add((row.api, row.listeners))
        yield replace(row, version=oldest, what=f"{row.what} at its oldest".strip(), brief=True)
