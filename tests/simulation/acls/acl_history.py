"""Which ACLs each node had replayed, and when: a record of the simulation's own.

It is made of the changes that a node's metadata tells, never of what the node judges by, and says
by the reference (`tests.authorization.reference`) who might do what at each of those moments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage
from simulation.machines.sim_broker import SimBroker
from tests.authorization.reference import Entry, Reference
from tests.simulation.acls.claims import Need
from tests.simulation.acls.principals import HOST, SUPER_USERS


class Known:
    """The ACLs at one moment. Before they are loaded only super users pass."""

    def __init__(
        self, event: int, entries: tuple[Entry, ...], everyone: bool, loaded: bool
    ) -> None:
        self.event = event
        """Since when: the number of an event."""
        self.loaded = loaded
        self._reference = Reference(entries, SUPER_USERS, everyone and loaded)
        self._answers: dict[tuple[str, Need], bool] = {}

    def allows(self, who: str, need: Need) -> bool:
        """Whether `who` might do that."""
        asked = who, need
        if asked not in self._answers:
            operation, resource, name = need
            if name is None:
                answer = self._reference.allows_some(who, HOST, operation, resource)
            else:
                answer = self._reference.allows(who, HOST, operation, resource, name)
            self._answers[asked] = answer
        return self._answers[asked]


class AclHistory:
    """Of one node, through all its lives."""

    def __init__(self, event: Callable[[], int], everyone: bool) -> None:
        """`event` gives the number of the event that runs."""
        self._event = event
        self._everyone = everyone
        self._entries: dict[bytes, Entry] = {}
        self._is_loaded: Callable[[], bool] = lambda: False
        self._moments: list[Known] = []
        self._add(loaded=False)

    def follow(self, broker: SimBroker) -> None:
        """A life of the node begins."""
        assert broker.node is not None
        controller = broker.node.controller
        self._entries = {}
        self._is_loaded = lambda: controller.is_loaded
        self._add(loaded=False)
        controller.add_listener(self._changed)

    def look(self) -> None:
        """Note whether the node knows its ACLs now."""
        if not self._moments[-1].loaded and self._is_loaded():
            self._add(loaded=True)

    def _changed(self, delta: MetadataDelta, _image: MetadataImage) -> None:
        if not delta.changed_acls:
            self.look()
            return
        for acl_id, acl in delta.changed_acls.items():
            if acl is None:
                self._entries.pop(acl_id, None)
            else:
                self._entries[acl_id] = tuple(acl)  # type: ignore[assignment]
        self._add(loaded=self._is_loaded())

    def _add(self, *, loaded: bool) -> None:
        # What is replayed before all is known is judged by nobody.
        entries = tuple(self._entries.values()) if loaded else ()
        self._moments.append(Known(self._event(), entries, self._everyone, loaded))

    @property
    def now(self) -> int:
        """The number of the moment that it is."""
        return len(self._moments) - 1

    def between(self, first: int, event: int) -> Iterator[Known]:
        """All moments from the one of that number to the end of that event."""
        for moment in self._moments[first:]:
            if moment.event > event:
                return
            yield moment

    def at(self, event: int, not_before: int) -> int:
        """The number of the moment that it was when that event began."""
        found = not_before
        for number in range(not_before, len(self._moments)):
            if self._moments[number].event >= event:
                break
            found = number
        return found
