"""Clusters whose rights are wrong on purpose: each mutant is one way to give what is not given, or
to keep what is gone. All are caught by chance.

As in `tests.simulation.mutants`, a mutant is a context in which real classes have methods replaced.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count, islice
from typing import Any
from unittest.mock import patch

from broker.apis import named_partitions, transactions
from broker.apis.fetch.reading import ConsumerFetch
from broker.apis.fetch.rights import ConsumerRights
from broker.apis.produce import rights as produce_rights
from broker.node import node as node_module
from broker.node.security.authorization import authorize
from broker.requests.admission import Admission
from broker.requests.context import RequestContext
from broker.requests.prepared import PreparedRequests
from broker.requests.request_handler import RequestHandler
from controller.metadata.acl import Acl, AclsImage, Permission
from controller.metadata.image import MetadataImage
from controller.requests.rights import EVERYTHING
from ground.sliced_work import Steps
from protocol.api_keys import ApiKey
from tests.simulation.mutants import Mutant, table_of
from tests.simulation.plans import brokers_of, is_secured
from tests.simulation.simulation import Failure, Simulation


@contextmanager
def what_was_prepared_stays() -> Iterator[None]:
    """Requests that are like one before them are judged as that one was."""
    real = Admission.changed

    def changed(self: Admission) -> None:
        if not self.epoch:
            real(self)  # there is a judge now

    with patch.object(Admission, "changed", changed):
        yield


@contextmanager
def _prepared_stays(key: ApiKey) -> Iterator[None]:
    """What was prepared for one API goes on, whatever the epoch."""
    real = PreparedRequests._find_of

    def find_of(
        self: PreparedRequests, last: Any, identity: Any, api: int, frame: memoryview
    ) -> Any:
        if api >> 16 == key:
            for _, _, _, _, entry in identity.entries():
                entry.epoch = self._admission.epoch
        return real(self, last, identity, api, frame)

    with patch.object(PreparedRequests, "_find_of", find_of):
        yield


@contextmanager
def produce_unchecked() -> Iterator[None]:
    """Everybody may write."""
    with patch.object(
        produce_rights, "split_by_rights", lambda _rights, topics, _name_of: (topics, [])
    ):
        yield


@contextmanager
def fetch_unchecked() -> Iterator[None]:
    """Everybody may read."""
    with patch.object(ConsumerFetch, "_rights", lambda self: None):
        yield


@contextmanager
def commits_unchecked() -> Iterator[None]:
    """A group's offsets are moved for topics that its member may not read."""

    def allowed(*_: object) -> Steps[Container[str]]:
        yield from ()
        return EVERYTHING

    with patch.object(named_partitions, "allowed_in_slices", allowed):
        yield


@contextmanager
def ends_unchecked() -> Iterator[None]:
    """Whoever knows a transactional id may end its transactions."""
    real = transactions._may_write

    def may_write(context: RequestContext, name: str) -> bool:
        return context.api_key == ApiKey.END_TXN or real(context, name)

    with patch.object(transactions, "_may_write", may_write):
        yield


@contextmanager
def deny_ignored() -> Iterator[None]:
    """One right is enough, whatever is denied."""
    real = AclsImage.for_principal

    def for_principal(self: AclsImage, resource: int, name: str, principal: str) -> Iterator[Acl]:
        for acl in real(self, resource, name, principal):
            if acl.permission != Permission.DENY:
                yield acl

    with patch.object(AclsImage, "for_principal", for_principal):
        yield


@contextmanager
def removed_acls_stay() -> Iterator[None]:
    """An ACL that was removed counts on."""
    real = AclsImage.changed

    def changed(self: AclsImage, changes: Any) -> AclsImage:
        return real(self, {key: acl for key, acl in changes.items() if acl is not None})

    with patch.object(AclsImage, "changed", changed):
        yield


@contextmanager
def parked_fetches_keep_their_rights() -> Iterator[None]:
    """A fetch that waits is judged once, when it comes."""
    with patch.object(ConsumerRights, "renew", lambda self: None):
        yield


class _OldAcls:
    """A node that does not take ACLs in while it is a standby of the quorum, nor after."""

    def __init__(self, shared: Any) -> None:
        self._shared = shared
        self._old: AclsImage | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shared, name)

    def look(self, _delta: Any, _image: Any) -> None:
        """The metadata has changed."""
        assert self.image is not None

    @property
    def image(self) -> MetadataImage:
        image: MetadataImage = self._shared.image
        if not self._shared.controller.is_loaded:
            return image
        if self._old is None and not self._shared.controller.raft.is_leader:
            self._old = image.acls
        return image if self._old is None else image._replace(acls=self._old)


@contextmanager
def standbys_keep_old_acls() -> Iterator[None]:
    """Once it leads, a controller judges by the ACLs that there were when it was a standby."""

    def also(shared: Any, handlers: Sequence[RequestHandler]) -> None:
        brokers = int(shared.config.is_broker)
        authorize(shared, handlers[:brokers])
        if handlers[brokers:]:
            old = _OldAcls(shared)
            shared.controller.add_listener(old.look)
            authorize(old, handlers[brokers:])  # type: ignore[arg-type]

    with patch.object(node_module, "authorize", also):
        yield


SEEDS_MAX = 40
"""How many secured seeds a mutant is looked for in."""
ACL_MUTANTS: dict[str, Mutant] = {
    "what was prepared stays": what_was_prepared_stays,
    "a prepared Produce goes on": partial(_prepared_stays, ApiKey.PRODUCE),
    "a prepared Fetch goes on": partial(_prepared_stays, ApiKey.FETCH),
    "Produce unchecked": produce_unchecked,
    "Fetch unchecked": fetch_unchecked,
    "OffsetCommit unchecked": commits_unchecked,
    "EndTxn unchecked": ends_unchecked,
    "DENY ignored": deny_ignored,
    "removed ACLs stay": removed_acls_stay,
    "parked fetches keep their rights": parked_fetches_keep_their_rights,
    "standbys keep old ACLs": standbys_keep_old_acls,
}
"""Mutant → how to make it. I21 has to catch each."""


FIRST_SEED = {"parked fetches keep their rights": 35, "a prepared Fetch goes on": 118}
"""Where the first that is caught comes late."""


def acl_failure(name: str) -> Failure | None:
    """The first seed in which a mutant is caught; None where nobody notices."""
    secured = filter(is_secured, count(FIRST_SEED.get(name, 0)))
    for seed in islice(secured, SEEDS_MAX):
        try:
            with ACL_MUTANTS[name]():
                Simulation(seed, brokers=brokers_of(seed)).run()
        except Failure as failure:
            return failure
    return None


def acl_table() -> list[str]:
    """As `mutants.table`."""
    return table_of(ACL_MUTANTS, acl_failure)
