"""The subjects of a request: its topics, groups and transactional ids, and whether a node sent it.

Follows the field names of Kafka's messages; a test checks that no topic, group or transactional id
of a served request is missed. Names of topic ids are looked up by the caller's function. Never
changes a message: `split` returns copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from protocol.api_keys import ApiKey
from protocol.message import Message, replace
from protocol.primitives import ZERO_UUID
from testbed.sent_requests import NO_CLIENT

NameOf = Callable[[bytes], str | None]
"""A function that returns the name of a topic id; None if there is no such topic."""

TOPIC_LISTS = (
    "topics",
    "topic_data",
    "topic_partitions",
    "v3_and_below_topics",
    "forgotten_topics_data",
    "responses",
    "topic_results",
)
"""Fields that list topic names, or items with a topic's name or id."""
_TOPIC_NAMES = ("topic", "topic_name", "name")
_NESTED = ("groups", "transactions", "markers", "dirs", "cursor")
_TOPIC_RESOURCE = 2
_GROUP_RESOURCE = 32
_GROUP_KEY = 0
_TRANSACTION_KEY = 1
_GROUP_LISTS = ("groups", "groups_names", "group_ids")
_TRANSACTIONAL_IDS = ("transactional_id", "v3_and_below_transactional_id")

ONLY_NODES = frozenset(
    {
        ApiKey.WRITE_TXN_MARKERS,
        ApiKey.VOTE,
        ApiKey.BEGIN_QUORUM_EPOCH,
        ApiKey.END_QUORUM_EPOCH,
        ApiKey.ALTER_PARTITION,
        ApiKey.ENVELOPE,
        ApiKey.FETCH_SNAPSHOT,
        ApiKey.BROKER_REGISTRATION,
        ApiKey.BROKER_HEARTBEAT,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.CONTROLLER_REGISTRATION,
        ApiKey.ASSIGN_REPLICAS_TO_DIRS,
        ApiKey.UPDATE_RAFT_VOTER,
    }
)
"""The APIs that only nodes call, never clients."""


def topic_of(item: object, name_of: NameOf) -> str | None:
    """Return the topic of an item in a list of topics, None if it has none or its id is unknown."""
    if isinstance(item, str):
        return item
    for field in _TOPIC_NAMES:
        name = getattr(item, field, None)
        if name:
            return str(name)
    topic_id = getattr(item, "topic_id", ZERO_UUID)
    return None if topic_id == ZERO_UUID else name_of(topic_id)


def topics_of(request: Message, name_of: NameOf) -> Iterator[str]:
    """Yield the names of the topics that a request names, by name or id; a topic may come twice.
    Unknown ids are left out."""
    for field in request.__slots__:
        value = getattr(request, field)
        if field == "topic_names":
            yield from value
        elif field in TOPIC_LISTS:
            names = (topic_of(item, name_of) for item in value or ())
            yield from (name for name in names if name is not None)
        elif field == "resources":
            yield from _resource_names(value, _TOPIC_RESOURCE)
        elif field in _NESTED:
            for part in value if isinstance(value, list) else (value,):
                if isinstance(part, Message):
                    yield from topics_of(part, name_of)
    name = getattr(request, "topic_name", "")
    if name:
        yield name


def asks_for_all_topics(api: ApiKey, version: int, request: Message) -> bool:
    """Return whether a request is about every topic that exists, and so names none."""
    if any(hasattr(request, field) and getattr(request, field) is None for field in TOPIC_LISTS):
        return True
    if api is ApiKey.OFFSET_FETCH:
        return any(group.topics is None for group in getattr(request, "groups", ()))
    all_if_none = api is ApiKey.DESCRIBE_TOPIC_PARTITIONS or (
        api is ApiKey.METADATA and version == 0
    )
    return all_if_none and getattr(request, "topics", None) in (None, [])


def groups_of(api: ApiKey, request: Message) -> Iterator[str]:
    """Yield the groups that a request is about."""
    name = getattr(request, "group_id", "")
    if name:
        yield name
    for field in _GROUP_LISTS:
        for group in getattr(request, field, ()):
            yield group if isinstance(group, str) else group.group_id
    if api is ApiKey.FIND_COORDINATOR:
        yield from _coordinator_keys(request, _GROUP_KEY)
    yield from _resource_names(getattr(request, "resources", ()), _GROUP_RESOURCE)


def transactional_ids_of(api: ApiKey, request: Message) -> Iterator[str]:
    """Yield the transactional ids that a request is about."""
    for field in _TRANSACTIONAL_IDS:
        name = getattr(request, field, None)
        if name:
            yield name
    yield from getattr(request, "transactional_ids", ())
    for transaction in getattr(request, "transactions", ()):
        yield transaction.transactional_id
    if api is ApiKey.FIND_COORDINATOR:
        yield from _coordinator_keys(request, _TRANSACTION_KEY)


def is_of_a_node(api: ApiKey, request: Message, client_id: str) -> bool:
    """Return whether a broker or a controller sent this request, not a client."""
    if api in ONLY_NODES or NO_CLIENT(client_id.encode()):
        return True
    if api is ApiKey.ADD_PARTITIONS_TO_TXN and getattr(request, "transactions", None):
        return True  # a leader that verifies, for producers of several transactional ids
    state = getattr(request, "replica_state", None)
    if state is not None and state.replica_id >= 0:
        return True
    return bool(getattr(request, "replica_id", -1) >= 0)


def split(
    request: Message, concerns: Callable[[str | None], bool], name_of: NameOf
) -> tuple[Message, Message | None]:
    """Return two parts of a request: on the topics that `concerns` accepts, and on all others. If
    either would be empty, return the whole request and None."""
    concerned: dict[str, list[Any]] = {}
    others: dict[str, list[Any]] = {}
    for field in request.__slots__:
        value = getattr(request, field)
        if field == "topic_names" or (field in TOPIC_LISTS and value):
            is_concerned = [concerns(topic_of(item, name_of)) for item in value]
            concerned[field] = [
                item for item, is_match in zip(value, is_concerned, strict=True) if is_match
            ]
            others[field] = [
                item for item, is_match in zip(value, is_concerned, strict=True) if not is_match
            ]
    if not any(concerned.values()) or not any(others.values()):
        return request, None
    return replace(request, **concerned), replace(request, **others)


def _resource_names(resources: Iterable[Message] | None, kind: int) -> Iterator[str]:
    """Yield the names of the resources of this type."""
    for resource in resources or ():
        if getattr(resource, "resource_type", None) == kind:
            yield getattr(resource, "resource_name", "")


def _coordinator_keys(request: Message, kind: int) -> Iterator[str]:
    """Yield the keys of a FindCoordinator request if it asks for this type of coordinator,
    otherwise none."""
    if getattr(request, "key_type", None) == kind:
        key = getattr(request, "key", "")
        yield from [key] if key else getattr(request, "coordinator_keys", ())
