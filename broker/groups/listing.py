"""The groups of a ListGroups answer.

Owns only the filters. States and types are compared without regard to case; an unknown state or
type matches no group. Follows Kafka's `GroupMetadataManager.listGroups` (KIP-518, KIP-848).
"""

from __future__ import annotations

from collections.abc import Iterable

from broker.groups.group import Group
from ground.sliced_work import Pace, Steps
from protocol.messages.list_groups import ListedGroup, ListGroupsRequest


def listed(groups: Iterable[Group], request: ListGroupsRequest) -> Steps[list[ListedGroup]]:
    """Return the entries of those groups that have a requested state and type. An empty filter lets
    every group pass."""
    states = yield from _folded(request.states_filter)
    types = yield from _folded(request.types_filter)
    pace, entries = Pace(), []
    for group in groups:
        if pace.is_full():
            yield None
        entry = group.listed()
        right_state = not states or entry.group_state.lower() in states
        if right_state and (not types or entry.group_type in types):
            entries.append(entry)
    return entries


def _folded(words: Iterable[str]) -> Steps[set[str]]:
    """Return the words in lower case, without spaces around them."""
    pace, folded = Pace(), set[str]()
    for word in words:
        if pace.is_full():
            yield None
        folded.add(word.strip().lower())
    return folded
